//! The commands that call a plugin on the integrator's machine, without a service: `check
//! --offline`, `test`, `run`, and `pack` of core modules.

use std::path::{Path, PathBuf};
use std::process::Output;

use leadhost_tests::components::{component, target};
use leadhost_tests::service::command;
use leadhost_tests::{Json, fields, guests, has, lacks};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct CommandFolder(TempDir);

impl CommandFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// With the example form and its golden cases in `form.wasm`.
    fn with_form() -> Self {
        let base = Self::new();
        base.put("form.wasm", component("plugins/example-form.wasm"));
        base
    }

    /// With a component in `plugin.wasm`, and the golden cases of the example form in `golden`.
    fn with_golden(wasm: Vec<u8>) -> Self {
        let base = Self::new();
        base.put("plugin.wasm", wasm);
        base.put_golden("golden");
        base
    }

    /// The folder of golden cases that all examples of forms share, as a copy.
    fn put_golden(&self, name: &str) {
        let from = repository("examples/golden-form");
        for case in std::fs::read_dir(from).unwrap() {
            let case = case.unwrap();
            if !case.path().is_dir() {
                continue;
            }
            let to = self.path(name).join(case.file_name());
            std::fs::create_dir_all(&to).unwrap();
            for file in std::fs::read_dir(case.path()).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
    }

    /// Runs a command in the folder. All tests share the compiled code.
    pub fn try_run(&self, arguments: &str) -> Output {
        self.prepared(arguments).output().unwrap()
    }

    fn prepared(&self, arguments: &str) -> std::process::Command {
        let mut command = command(self.0.path(), arguments);
        command
            .current_dir(self.0.path())
            .env("LEADHOST_CACHE_DIR", target().join("tmp/plugin-cache"));
        command
    }

    /// Runs a command that succeeds. Returns its standard output.
    #[track_caller]
    pub fn run(&self, arguments: &str) -> String {
        self.ended(0, arguments).0
    }

    /// The same for a command that prints JSON with `--json`.
    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{arguments} --json"))).unwrap()
    }

    /// Runs a command that ends with this code. Returns its standard error.
    #[track_caller]
    pub fn fail(&self, code: i32, arguments: &str) -> String {
        self.ended(code, arguments).1
    }

    /// The same. Returns both outputs.
    #[track_caller]
    pub fn ends(&self, code: i32, arguments: &str) -> String {
        let (out, err) = self.ended(code, arguments);
        out + &err
    }

    #[track_caller]
    fn ended(&self, code: i32, arguments: &str) -> (String, String) {
        let output = self.try_run(arguments);
        let (out, err) = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {out}{err}");
        (out, err)
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

const LEAD: &str = r#"{"id": "f-1", "nome": "Lia Campos", "email": "lia@example.com"}"#;

// ---- a component file

#[test]
fn a_plugin_is_tried_without_a_service() {
    let base = CommandFolder::with_form();
    let test = "plugin test form.wasm";
    has!(base.run(test), "26 golden cases of form.wasm passed");
    let report = base.json(test);
    fields!(report, {"name": "example-form", "contract": "leadhost:converter@1.0.0", "golden": 26});
    let engine = format!("engine {}", report["engine"].text());
    has!(base.ends(0, &format!("{test} --engine")), &engine);
    has!(base.fail(1, &format!("{test} --on")), "no service runs on");
    has!(base.fail(2, "plugin test form@9b0f7a3c"), "--on");
    has!(base.fail(2, &format!("{test} --last 5")), "--on");
}

#[test]
fn an_unsigned_component_is_refused_as_the_service_of_the_configuration_would_do_it() {
    let base = CommandFolder::with_form();
    let said = base.run("plugin keygen own.key");
    let key = said.trim().trim_end_matches('.').rsplit(' ').next();
    let key = key.unwrap();
    let given = format!("[plugins]\ntrusted_keys = \"{key}\"\n");
    base.put("leadhost.toml", given);
    let test = "plugin test --config leadhost.toml";
    let refused = base.fail(1, &format!("{test} form.wasm"));
    has!(refused, "form.wasm: ", "is not signed");
    has!(refused, "leadhost plugin publish FILE --key");
    base.run("plugin publish form.wasm --key own.key -o signed.wasm");
    has!(base.run(&format!("{test} signed.wasm")), "passed");
}

#[test]
fn a_signature_that_does_not_cover_new_golden_cases_is_removed() {
    let base = CommandFolder::with_form();
    base.run("plugin keygen own.key");
    base.run("plugin publish form.wasm --key own.key -o form.wasm");
    base.put_golden("golden");
    let pack = "plugin publish form.wasm --golden golden -o other.wasm";
    lacks!(base.run(pack), "sign it again");
    std::fs::remove_dir_all(base.path("golden/blanks")).unwrap();
    has!(base.run(pack), "sign it again");
    has!(base.run("plugin test other.wasm"), "passed");
}

// ---- test

#[test]
fn golden_cases_of_a_folder_run_on_a_component() {
    passes_its_golden_cases(guests::example_form());
}

#[test]
fn golden_cases_of_a_folder_run_on_a_component_in_javascript() {
    passes_its_golden_cases(component("guests/example-form-js.wasm"));
}

fn passes_its_golden_cases(wasm: Vec<u8>) {
    let base = CommandFolder::with_golden(wasm);
    let passed = "26 golden cases of golden passed";
    has!(base.run("plugin test plugin.wasm"), passed);
}

#[test]
fn without_a_folder_the_cases_in_the_component_run() {
    let base = CommandFolder::with_form();
    has!(base.run("plugin test form.wasm"), "form.wasm passed");
    let said = base.fail(2, "plugin test form.wasm --write");
    has!(said, "--golden DIR");
    base.put("bare.wasm", guests::example_form());
    let said = base.fail(1, "plugin test bare.wasm");
    has!(said, "carries no golden cases");
}

#[test]
fn golden_cases_that_loop_end_together() {
    let base = CommandFolder::with_golden(guests::looping());
    base.put("host.toml", b"[plugins]\ndeadline_ms = 200\n");
    let test = "plugin test plugin.wasm --golden golden --config host.toml";
    let three = "3 of 26 golden cases of golden fail; 23 after the slow ones were not run";
    has!(base.fail(1, test), three);
}

#[test]
fn expectations_are_written_and_renewed_and_the_difference_is_shown() {
    let base = CommandFolder::with_golden(guests::example_form());
    let case = |change: &dyn Fn(&mut Value)| {
        let path = base.path("golden/lead/case.json");
        let mut case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut case);
        std::fs::write(path, case.to_string()).unwrap();
    };
    let test = "plugin test plugin.wasm";
    let (write, renew) = (format!("{test} --write"), format!("{test} --renew"));

    case(&|case| case["expect"]["ok"]["items"][0]["outcome"]["lead"]["name"] = json!("Eva"));
    let said = base.fail(1, test);
    has!(said, "FAILED lead");
    has!(said, "lead.name: expected \"Eva\", got \"Marina Teixeira\"");
    has!(said, "1 of 26 golden cases of golden fail");
    has!(said, "`leadhost plugin test plugin.wasm --renew`");
    // An expectation that differs is a person's word: only --renew replaces it.
    base.fail(1, &write);
    has!(base.run(&renew), "renewed lead\n", "expected \"Eva\"");
    base.run(test);

    case(&|case| drop(case.as_object_mut().unwrap().remove("expect")));
    has!(base.fail(1, test), "--write");
    has!(base.run(&write), "wrote lead\n");
    base.run(test);
}

#[test]
fn a_case_that_traps_fails_and_the_others_run() {
    let base = CommandFolder::new();
    base.put("misbehave.wasm", guests::misbehave());
    for word in ["trap", "refuse"] {
        let case = json!({"about": word, "call": "convert", "delivery": {"config": {"do": word}}});
        base.put(&format!("golden/{word}/case.json"), case.to_string());
    }
    let said = base.fail(1, "plugin test misbehave.wasm --write");
    has!(said, "FAILED trap", "1 of 2 golden cases");
    lacks!(said, "--renew");
}

// ---- run

/// With a component in `plugin.wasm`, and a body for it in `lead.json`.
fn with_lead(wasm: Vec<u8>) -> CommandFolder {
    let base = CommandFolder::new();
    base.put("plugin.wasm", wasm);
    base.put("lead.json", LEAD);
    base
}

#[test]
fn one_body_is_converted_and_the_call_is_measured() {
    let base = with_lead(guests::example_form());
    let run = "plugin run plugin.wasm lead.json --count";
    let (out, err) = base.ended(0, run);
    let items: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(items[0]["outcome"]["lead"]["name"], "Lia Campos");
    has!(err, "processor time", "50 ms", "2000 ms");
    has!(err, "instructions by fuel", "memory", "128 MiB", "16 MiB");

    let first = base.json(run);
    assert_eq!(first["answer"]["ok"]["items"], items);
    for measure in [
        "microseconds",
        "processorMicroseconds",
        "instructions",
        "memoryBytes",
        "outputBytes",
    ] {
        let used = first["used"][measure].as_u64();
        assert!(used > Some(0), "{measure}: {first}");
    }
    fields!(base.json(run), {
        "used.instructions": first["used"]["instructions"], "engine": first["engine"],
    });
    let not_counted = base.json(&run.replace(" --count", ""));
    assert!(not_counted["used"]["instructions"].is_null());
}

#[test]
fn the_request_of_a_run_is_as_its_flags_say() {
    let base = with_lead(guests::misbehave());
    base.put("config.json", "{}");
    let run = "plugin run plugin.wasm - --config config.json -H 'X-Form: 7' --query a=b=c";
    let body = std::fs::File::open(base.path("lead.json")).unwrap();
    let output = base.prepared(run).stdin(body).output().unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    let items: Value = serde_json::from_str(&out).unwrap();
    let attributes = items[0]["outcome"]["lead"]["attributes"].to_string();
    has!(attributes, r#"["query",[["a","b=c"]]]"#);
}

#[test]
fn a_body_that_the_plugin_refuses_is_a_failure() {
    let base = with_lead(guests::example_form());
    base.put("body", "no JSON");
    let run = "plugin run plugin.wasm body";
    let refused = "the plugin refuses the body, and the sender gets 400";
    has!(base.fail(1, run), refused);
    has!(base.fail(1, &format!("{run} --json")), "refuses the body");
}

#[test]
fn after_a_crash_the_words_of_the_plugin_come_first() {
    let base = with_lead(guests::misbehave_with_wasi());
    base.put("config.json", r#"{"do": "print-and-trap"}"#);
    let said = base.fail(1, "plugin run plugin.wasm lead.json --config config.json");
    let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("{part}: {said}"));
    assert!(said.starts_with("plugin: the last words"), "{said}");
    assert!(at("as asked") < at("processor time"), "{said}");
    assert!(at("misbehave/src/lib.rs:") < at("processor time"), "{said}");
    assert!(at("processor time") < at("leadhost: the plugin call failed"));
}

#[test]
fn a_configuration_or_a_body_that_the_service_does_not_take_is_refused_before_the_call() {
    let base = with_lead(component("plugins/converter-mapping.wasm"));
    base.put("config.json", r#"{"nosuch": 1}"#);
    base.put("deep.json", "[".repeat(200) + &"]".repeat(200));
    base.put("list.json", "[]");
    let said = base.fail(1, "plugin run plugin.wasm lead.json --config config.json");
    has!(said, "does not take this configuration", "nosuch");
    let said = base.fail(1, "plugin run plugin.wasm deep.json");
    has!(said, "the service refuses it");
    let said = base.fail(1, "plugin run plugin.wasm lead.json --config list.json");
    has!(said, "list.json is not a configuration");
}

// ---- projects and core modules

#[test]
fn a_refusal_names_the_file_and_an_address_in_a_registry_what_takes_it() {
    let base = CommandFolder::new();
    base.put("odd.wasm", "no component");
    has!(base.fail(1, "plugin test odd.wasm"), "odd.wasm");
    let address = "oci://registry.example/ana:1";
    let said = base.fail(2, &format!("plugin test {address}"));
    for what in ["plugin pull", "plugin publish"] {
        has!(said, &format!("`leadhost {what} {address}`"));
    }
}

#[test]
fn a_project_is_named_by_its_folder() {
    let base = CommandFolder::new();
    let said = base.fail(1, "plugin test .");
    has!(said, "build/plugin.wasm", "build the project");
    base.put("build/plugin.wasm", guests::example_form());
    base.put_golden("golden");
    has!(base.run("plugin test ."), "26 golden cases");
    let written = base.run("plugin publish . -o packed.wasm");
    has!(written, "packed.wasm carries 26 golden cases");
    std::fs::remove_dir_all(base.path("golden")).unwrap();
    has!(base.run("plugin test packed.wasm"), "26 golden cases");
}

#[test]
fn a_core_module_is_taken_in_place_of_a_component() {
    let base = CommandFolder::with_golden(guests::rust_module("example-form"));
    let passed = "26 golden cases of golden passed";
    has!(base.run("plugin test plugin.wasm"), passed);
    let packed = base.run("plugin publish plugin.wasm -o whole.wasm");
    has!(packed, "no golden cases", "--golden DIR");
    has!(base.run("plugin test whole.wasm"), passed);

    // Signed is the component that is made of it.
    base.run("plugin keygen key.pem");
    base.run("plugin publish plugin.wasm --key key.pem -o signed.wasm");
    has!(base.run("plugin test signed.wasm"), passed);

    // A refusal names the file, and nothing is written.
    let foreign = guests::importing_module("env", "emscripten_now");
    base.put("foreign.wasm", foreign);
    let said = base.fail(1, "plugin publish foreign.wasm -o out.wasm");
    has!(said, "foreign.wasm: ", "env.emscripten_now");
    assert!(!base.path("out.wasm").exists());
}

// ---- mapping

#[test]
fn a_mapping_is_tried_on_a_body_and_says_what_it_read_from_where() {
    let base = CommandFolder::new();
    let wasm = component("plugins/converter-mapping.wasm");
    base.put("target/plugins/converter-mapping.wasm", wasm);
    base.put("other.txt", "hello");
    base.put("form.wasm", guests::example_form());
    let body = r#"{"nome": "Lia Campos", "ddd": "11", "telefone": "90000-0001", "ref": "AP-7", "andar": 3}"#;
    base.put("body.json", body);
    base.put("config.json", r#"{"fields": {"listings": "ref"}}"#);
    let said = base.fail(1, "mapping try other.txt");
    has!(said, "refuses the body");
    let missing = base.fail(1, "mapping try other.txt --component nosuch.wasm");
    has!(missing, "nosuch.wasm");
    let out = base.run("mapping try body.json");
    has!(out, "Lia Campos", "(11) 90000-0001", "nome");
    has!(out, "guessed", "andar");
    let shown = base.json("mapping try body.json --config config.json");
    base.put(
        "other.json",
        r#"{"fields": {"name": [], "message": "ref"}}"#,
    );
    let changed = base.run("mapping try body.json --config other.json");
    has!(
        changed,
        "WITHOUT",
        "0     name",
        "Lia Campos",
        "0     message"
    );
    let mut explanations = shown["explanations"].list().iter();
    let listings = explanations.find(|one| one["field"] == "listings");
    fields!(listings.unwrap(), {"from": ["ref"], "guessed": false});
    let other = base.fail(1, "mapping try body.json --component form.wasm");
    has!(other, "the plugin example-form");
}
