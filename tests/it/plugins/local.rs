//! The commands that call a plugin on the integrator's machine, without a service: `check
//! --offline`, `test`, `run`, and `pack` of core modules.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use leadhost_tests::components::{component, target};
use leadhost_tests::service::command;
use leadhost_tests::{guests, has};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder in which commands run.
pub struct CommandFolder(TempDir);

impl CommandFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and returns its name.
    fn put<'a>(&self, name: &'a str, content: impl AsRef<[u8]>) -> &'a str {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        name
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
    pub fn try_run(&self, arguments: &[&str]) -> Output {
        self.prepared(arguments).output().unwrap()
    }

    fn prepared(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = command(self.0.path(), arguments);
        command
            .current_dir(self.0.path())
            .env("LEADHOST_CACHE_DIR", target().join("tmp/plugin-cache"));
        command
    }

    /// Runs a command that succeeds. Returns its standard output and error.
    pub fn run(&self, arguments: &[&str]) -> (String, String) {
        let output = self.try_run(arguments);
        let (out, err) = said(&output);
        assert!(output.status.success(), "{arguments:?}: {out}{err}");
        (out, err)
    }

    /// Runs a command that ends with this code. Returns its standard error.
    pub fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.try_run(arguments);
        let (out, err) = said(&output);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {out}{err}"
        );
        err
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

// ---- check

#[test]
fn a_plugin_is_checked_without_a_service() {
    let base = CommandFolder::new();
    let file = base.put("example-form.wasm", component("plugins/example-form.wasm"));
    let check = ["plugin", "check", file];
    let without = base.fail(1, &check);
    assert!(without.contains("no service runs on"), "{without}");
    assert!(without.contains("--offline"), "{without}");

    let offline = [&check[..], &["--offline"]].concat();
    let (out, _) = base.run(&offline);
    assert!(out.contains("example-form 1.0.0 ("), "{out}");
    assert!(out.contains("converter: usable, 26 golden cases"), "{out}");
    let (out, _) = base.run(&[&offline[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["contract"], "leadhost:converter@1.0.0");
    let engine = report["engine"].as_str().unwrap();
    let (_, err) = base.run(&[&offline[..], &["--engine"]].concat());
    assert!(err.contains(&format!("engine {engine}")), "{err}");
}

#[test]
fn an_unsigned_component_is_refused_as_the_service_of_the_configuration_would_do_it() {
    let base = CommandFolder::new();
    let file = base.put("example-form.wasm", component("plugins/example-form.wasm"));
    let (said, _) = base.run(&["plugin", "keygen", "own.key"]);
    let key = said
        .rsplit(' ')
        .next()
        .unwrap()
        .trim()
        .trim_end_matches('.');
    let config = format!("[plugins]\ntrusted_keys = \"{key}\"\n");
    let config = base.put("leadhost.toml", config);
    let check = |file| ["plugin", "check", file, "--offline", "--config", config];
    let refused = base.fail(1, &check(file));
    for part in [
        "example-form.wasm: ",
        "is not signed",
        "leadhost plugin sign",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    base.run(&[
        "plugin",
        "sign",
        file,
        "--key",
        "own.key",
        "-o",
        "signed.wasm",
    ]);
    let (out, _) = base.run(&check("signed.wasm"));
    assert!(out.contains("usable"), "{out}");
}

#[test]
fn a_signature_that_does_not_cover_new_golden_cases_is_removed() {
    let base = CommandFolder::new();
    let file = base.put("example-form.wasm", component("plugins/example-form.wasm"));
    base.run(&["plugin", "keygen", "own.key"]);
    base.run(&["plugin", "sign", file, "--key", "own.key"]);
    base.put_golden("golden");
    let pack = [
        "plugin",
        "pack",
        file,
        "--golden",
        "golden",
        "-o",
        "other.wasm",
    ];
    let (out, _) = base.run(&pack);
    assert!(!out.contains("sign it again"), "{out}");
    std::fs::remove_dir_all(base.path("golden/blanks")).unwrap();
    let (out, _) = base.run(&pack);
    assert!(out.contains("sign it again"), "{out}");
    let (out, _) = base.run(&["plugin", "check", "other.wasm", "--offline"]);
    assert!(out.contains("usable"), "{out}");
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
    let base = CommandFolder::new();
    base.put_golden("golden");
    let file = base.put("form.wasm", wasm);
    let (out, _) = base.run(&["plugin", "test", file]);
    assert!(out.contains("26 golden cases of golden passed"), "{out}");
}

#[test]
fn without_a_folder_the_cases_in_the_component_run() {
    let base = CommandFolder::new();
    let file = base.put("example-form.wasm", component("plugins/example-form.wasm"));
    let (out, _) = base.run(&["plugin", "test", file]);
    assert!(out.contains("example-form.wasm passed"), "{out}");
    let said = base.fail(2, &["plugin", "test", file, "--write"]);
    assert!(said.contains("--golden DIR"), "{said}");
    let bare = base.put("bare.wasm", guests::example_form());
    let said = base.fail(1, &["plugin", "test", bare]);
    assert!(said.contains("carries no golden cases"), "{said}");
}

#[test]
fn golden_cases_that_loop_end_together() {
    let base = CommandFolder::new();
    base.put_golden("golden");
    let file = base.put("loop.wasm", guests::looping());
    base.put("host.toml", b"[plugins]\ndeadline_ms = 200\n");
    let limits = ["--service-config", "host.toml"];
    let test = ["plugin", "test", file, "--golden", "golden"];
    let said = base.fail(1, &[&test[..], &limits].concat());
    let three = "3 of 26 golden cases of golden fail; 23 after the slow ones were not run";
    assert!(said.contains(three), "{said}");
}

#[test]
fn expectations_are_written_and_renewed_and_the_difference_is_shown() {
    let base = CommandFolder::new();
    base.put_golden("golden");
    let file = base.put("form.wasm", guests::example_form());
    let case = |change: &dyn Fn(&mut Value)| {
        let path = base.path("golden/lead/case.json");
        let mut case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut case);
        std::fs::write(path, case.to_string()).unwrap();
    };
    let test = ["plugin", "test", file];

    case(&|case| case["expect"]["ok"]["items"][0]["outcome"]["lead"]["name"] = json!("Eva"));
    let said = base.fail(1, &test);
    for part in [
        "FAILED lead",
        "lead.name: expected \"Eva\", got \"Marina Teixeira\"",
        "1 of 26 golden cases of golden fail",
        "`leadhost plugin test form.wasm --renew`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // An expectation that differs is a person's word: only --renew replaces it.
    base.fail(1, &[&test[..], &["--write"]].concat());
    let (out, _) = base.run(&[&test[..], &["--renew"]].concat());
    assert!(out.contains("renewed lead\n"), "{out}");
    assert!(out.contains("expected \"Eva\""), "{out}");
    base.run(&test);

    case(&|case| drop(case.as_object_mut().unwrap().remove("expect")));
    let said = base.fail(1, &test);
    assert!(said.contains("--write"), "{said}");
    let (out, _) = base.run(&[&test[..], &["--write"]].concat());
    assert!(out.contains("wrote lead\n"), "{out}");
    base.run(&test);
}

#[test]
fn a_case_that_traps_fails_and_the_others_run() {
    let base = CommandFolder::new();
    let file = base.put("misbehave.wasm", guests::misbehave());
    let case = |word: &str| {
        let case = json!({"about": word, "call": "convert", "delivery": {"config": {"do": word}}});
        base.put(&format!("golden/{word}/case.json"), case.to_string());
    };
    case("trap");
    case("refuse");
    let test = ["plugin", "test", file, "--write"];
    let said = base.fail(1, &test);
    assert!(said.contains("FAILED trap"), "{said}");
    assert!(said.contains("1 of 2 golden cases"), "{said}");
    assert!(!said.contains("--renew"), "{said}");
}

// ---- run

#[test]
fn one_body_is_converted_and_the_call_is_measured() {
    let base = CommandFolder::new();
    let file = base.put("form.wasm", guests::example_form());
    let body = base.put("lead.json", LEAD);
    let (out, err) = base.run(&["plugin", "run", file, body]);
    let items: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(items[0]["outcome"]["lead"]["name"], "Lia Campos");
    for part in [
        "processor time",
        "instructions by fuel",
        "50 ms",
        "2000 ms",
        "memory",
        "128 MiB",
        "16 MiB",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }

    let (out, _) = base.run(&["plugin", "run", file, body, "--json"]);
    let run: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(run["answer"]["ok"]["items"], items);
    for measure in [
        "microseconds",
        "processorMicroseconds",
        "instructions",
        "memoryBytes",
        "outputBytes",
    ] {
        assert!(
            run["used"][measure].as_u64().unwrap() > 0,
            "{measure}: {run}"
        );
    }
    let (again, _) = base.run(&["plugin", "run", file, body, "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["used"]["instructions"], run["used"]["instructions"]);
    assert_eq!(again["engine"], run["engine"]);
    let (not_counted, _) = base.run(&["plugin", "run", file, body, "--json", "--no-count"]);
    let not_counted: Value = serde_json::from_str(&not_counted).unwrap();
    assert!(not_counted["used"]["instructions"].is_null());
}

#[test]
fn the_request_of_a_run_is_as_its_flags_say() {
    let base = CommandFolder::new();
    let file = base.put("misbehave.wasm", guests::misbehave());
    let config = base.put("config.json", "{}");
    let mut run = base
        .prepared(&[
            "plugin",
            "run",
            file,
            "-",
            "--config",
            config,
            "-H",
            "X-Form: 7",
            "--query",
            "a=b=c",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    run.stdin.take().unwrap().write_all(b"a=1&b=2").unwrap();
    let output = run.wait_with_output().unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    let items: Value = serde_json::from_str(&out).unwrap();
    let attributes = items[0]["outcome"]["lead"]["attributes"].to_string();
    assert!(
        attributes.contains(r#"["query",[["a","b=c"]]]"#),
        "{attributes}"
    );
}

#[test]
fn a_body_that_the_plugin_refuses_is_a_failure() {
    let base = CommandFolder::new();
    let file = base.put("form.wasm", guests::example_form());
    let body = base.put("body", "no JSON");
    let said = base.fail(1, &["plugin", "run", file, body]);
    assert!(
        said.contains("the plugin refuses the body, and the sender gets 400"),
        "{said}"
    );
    let said = base.fail(1, &["plugin", "run", file, body, "--json"]);
    assert!(said.contains("refuses the body"), "{said}");
}

#[test]
fn after_a_crash_the_words_of_the_plugin_come_first() {
    let wasm = guests::misbehave_with_wasi();
    let base = CommandFolder::new();
    let file = base.put("misbehave.wasm", wasm);
    let body = base.put("lead.json", LEAD);
    let config = base.put("config.json", r#"{"do": "print-and-trap"}"#);
    let said = base.fail(1, &["plugin", "run", file, body, "--config", config]);
    let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("{part}: {said}"));
    assert!(said.starts_with("plugin: the last words"), "{said}");
    assert!(at("as asked") < at("processor time"), "{said}");
    assert!(at("misbehave/src/lib.rs:") < at("processor time"), "{said}");
    assert!(at("processor time") < at("leadhost: the plugin call failed"));
}

#[test]
fn a_configuration_or_a_body_that_the_service_does_not_take_is_refused_before_the_call() {
    let base = CommandFolder::new();
    let file = base.put("mapping.wasm", component("plugins/converter-mapping.wasm"));
    let body = base.put("lead.json", LEAD);
    let config = base.put("config.json", r#"{"nosuch": 1}"#);
    let said = base.fail(1, &["plugin", "run", file, body, "--config", config]);
    assert!(said.contains("does not take this configuration"), "{said}");
    assert!(said.contains("nosuch"), "{said}");
    let deep = base.put("deep.json", [vec![b'['; 200], vec![b']'; 200]].concat());
    let said = base.fail(1, &["plugin", "run", file, deep]);
    assert!(said.contains("the service refuses it"), "{said}");
    let list = base.put("list.json", "[]");
    let said = base.fail(1, &["plugin", "run", file, body, "--config", list]);
    assert!(said.contains("list.json is not a configuration"), "{said}");
}

// ---- projects and core modules

#[test]
fn a_refusal_names_the_file_and_an_address_in_a_registry_what_takes_it() {
    let base = CommandFolder::new();
    base.put("odd.wasm", "no component");
    for command in ["check", "test"] {
        let mut words = vec!["plugin", command, "odd.wasm"];
        words.extend((command == "check").then_some("--offline"));
        let said = base.fail(1, &words);
        assert!(said.contains("odd.wasm"), "{said}");
    }
    let key = leadhost_domain::key::PlainKey::generate(leadhost_domain::key::KeyKind::Admin);
    let address = "oci://registry.example/ana:1";
    let to = ["--to", "http://127.0.0.1:9", "--key", key.reveal()];
    let publish = [&["plugin", "publish", address][..], &to].concat();
    for words in [&publish[..], &["plugin", "test", address]] {
        let said = base.fail(2, words);
        for what in ["plugin pull", "plugin activate"] {
            let command = format!("`leadhost {what} {address}`");
            assert!(said.contains(&command), "{said}");
        }
    }
}

#[test]
fn a_project_is_named_by_its_folder() {
    let base = CommandFolder::new();
    let said = base.fail(1, &["plugin", "test", "."]);
    assert!(said.contains("build/plugin.wasm"), "{said}");
    assert!(said.contains("build the project"), "{said}");
    base.put("build/plugin.wasm", guests::example_form());
    base.put_golden("golden");
    let (out, _) = base.run(&["plugin", "test", "."]);
    assert!(out.contains("26 golden cases"), "{out}");
    let (out, _) = base.run(&["plugin", "check", ".", "--offline"]);
    assert!(out.contains("26 golden cases passed"), "{out}");
    base.run(&["plugin", "pack", ".", "-o", "packed.wasm"]);
    let (out, _) = base.run(&["plugin", "check", "packed.wasm", "--offline"]);
    assert!(out.contains("26 golden cases passed"), "{out}");
}

#[test]
fn a_core_module_is_taken_in_place_of_a_component() {
    let base = CommandFolder::new();
    base.put_golden("golden");
    let file = base.put("core.wasm", guests::rust_module("example-form"));
    let (out, _) = base.run(&["plugin", "test", file]);
    has!(out, "26 golden cases of golden passed");
    let (out, _) = base.run(&["plugin", "check", file, "--offline"]);
    has!(out, "usable");
    let (out, _) = base.run(&["plugin", "pack", file, "-o", "whole.wasm"]);
    has!(out, "without golden cases");
    let again = base.fail(2, &["plugin", "pack", "whole.wasm", "-o", "again.wasm"]);
    has!(again, "--golden DIR");
    base.run(&["plugin", "check", "whole.wasm", "--offline"]);

    // Signed is the component that is made of it, which does not take the module's place.
    base.run(&["plugin", "keygen", "key.pem"]);
    let sign = ["plugin", "sign", file, "--key", "key.pem"];
    let said = base.fail(2, &sign);
    has!(said, "core module", "--output");
    base.run(&[&sign[..], &["-o", "signed.wasm"]].concat());
    let (out, _) = base.run(&["plugin", "check", "signed.wasm", "--offline"]);
    has!(out, "usable");

    // A refusal names the file, and nothing is written.
    let foreign = base.put(
        "foreign.wasm",
        guests::importing_module("env", "emscripten_now"),
    );
    let said = base.fail(1, &["plugin", "pack", foreign, "-o", "out.wasm"]);
    has!(said, "foreign.wasm: ", "env.emscripten_now");
    assert!(!base.path("out.wasm").exists());
}

// ---- mapping

#[test]
fn a_mapping_is_tried_on_a_body_and_says_what_it_read_from_where() {
    let base = CommandFolder::new();
    let wasm = component("plugins/converter-mapping.wasm");
    base.put("target/plugins/converter-mapping.wasm", wasm);
    let other = base.put("other.txt", "hello");
    let said = base.fail(1, &["mapping", "try", other]);
    assert!(said.contains("refuses the body"), "{said}");
    let missing = ["mapping", "try", other, "--component", "nosuch.wasm"];
    let said = base.fail(1, &missing);
    assert!(said.contains("nosuch.wasm"), "{said}");
    let body = base.put(
        "body.json",
        r#"{"nome": "Lia Campos", "ddd": "11", "telefone": "90000-0001", "ref": "AP-7", "andar": 3}"#,
    );
    let (out, _) = base.run(&["mapping", "try", body]);
    for part in ["Lia Campos", "(11) 90000-0001", "nome", "guessed", "andar"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let config = base.put("config.json", r#"{"fields": {"listings": "ref"}}"#);
    let arguments = ["mapping", "try", body, "--config", config, "--json"];
    let (out, _) = base.run(&arguments);
    let shown: Value = serde_json::from_str(&out).unwrap();
    let listings = shown["explanations"].as_array().unwrap().iter();
    let mut listings = listings.filter(|one| one["field"] == "listings");
    let listings = listings.next().unwrap();
    assert_eq!(listings["from"], json!(["ref"]));
    assert_eq!(listings["guessed"], false);

    let form = base.put("form.wasm", guests::example_form());
    let other = base.fail(1, &["mapping", "try", body, "--component", form]);
    assert!(other.contains("the plugin example-form"), "{other}");
}
