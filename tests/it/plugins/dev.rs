//! `leadhost plugin dev`: a project is built after each change, and its calls go to the new version. The
//! build of these projects copies a component, so no toolchain is needed.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use hyper::Method;
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_golden::{append_section, load_dir, pack};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::service::command;
use leadhost_tests::{Answer, Ask, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::local::CommandFolder;

/// The folder of the project.
const PROJECT: &str = "ana";

/// A project whose build copies `next.wasm`.
fn project(component: &[u8], build: &[&str]) -> CommandFolder {
    project_of(("misbehave", "converter"), component, build)
}

/// A project of a plugin with this name and of this kind.
fn project_of((name, kind): (&str, &str), component: &[u8], build: &[&str]) -> CommandFolder {
    let base = CommandFolder::new();
    put_lock(&base, (name, kind), build);
    put(&base, "next.wasm", component);
    base
}

fn put_lock(base: &CommandFolder, (name, kind): (&str, &str), build: &[&str]) {
    let lock = json!({"name": name, "kind": kind, "language": "", "build": build});
    put(base, "leadhost.lock", toml::to_string(&lock).unwrap());
}

const COPY: [&str; 2] = ["mkdir -p build", "cp next.wasm build/plugin.wasm"];

fn put(base: &CommandFolder, name: &str, content: impl AsRef<[u8]>) {
    let path = base.path(&format!("{PROJECT}/{name}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A golden case that the misbehaving converter passes, or does not.
fn put_case(base: &CommandFolder, name: &str, expect: Option<serde_json::Value>) {
    let mut case = json!({"about": "A word", "call": "convert", "body": "body.json"});
    if let Some(expect) = expect {
        case["expect"] = expect;
    }
    put(base, &format!("golden/{name}/case.json"), case.to_string());
    put(base, &format!("golden/{name}/body.json"), "{}");
}

/// The command while it runs.
struct Dev {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Dev {
    fn start(base: &CommandFolder, arguments: &[&str]) -> Self {
        let arguments = [&["plugin", "dev", PROJECT], arguments].concat();
        let mut child = command(Path::new("unused"), &arguments)
            .current_dir(base.path(""))
            // Its private data is removed with the folder, even if the test ends it by force.
            .env("TMPDIR", base.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        keep(child.stdout.take().unwrap(), &said);
        keep(child.stderr.take().unwrap(), &said);
        Self { child, said }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it says this, and returns all that it said.
    async fn says(&self, part: &str) -> String {
        let look = async || {
            let said = self.said();
            said.contains(part).then_some(said)
        };
        until(part, look).await
    }

    /// Posts a body to the address in the line for `curl`, with the headers there.
    async fn post(&self, body: &str) -> Answer {
        let said = self.said();
        let line = said.lines().rev().find(|line| line.starts_with("curl "));
        let line = line.expect("it prints a line");
        let url = line.split_whitespace().nth(2).unwrap();
        let url = url::Url::parse(url.trim_matches('\'')).unwrap();
        let to = format!("127.0.0.1:{}", url.port().unwrap());
        let mut ask = Ask::new(to.parse().unwrap(), Method::POST, url.path());
        for header in line.split(" -H '").skip(1) {
            let (header, _) = header.split_once('\'').unwrap();
            let (name, value) = header.split_once(": ").unwrap();
            ask = ask.header(name, value);
        }
        ask.body(body.to_owned()).send().await
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.unwrap(), signal).unwrap();
    }

    /// Stops it as Ctrl-C does.
    fn stop(mut self) -> ExitStatus {
        self.signal(Signal::INT);
        self.child.wait().unwrap()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "the command said:\n{}", self.said());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe that is not read would block the command.
fn keep(stream: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    });
}

/// The data folder that the command names.
fn data_dir(said: &str) -> std::path::PathBuf {
    let (_, after) = said.split_once("--data-dir ").unwrap();
    let (folder, _) = after.split_once(',').unwrap();
    folder.into()
}

fn version(version: &str) -> Vec<u8> {
    let variant = Variant {
        version,
        check: "",
        ..Variant::default()
    };
    variant.component()
}

#[tokio::test]
async fn an_edit_is_answered_by_the_new_version_and_the_data_is_removed_at_the_end() {
    let base = project(&version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    let dev = Dev::start(&base, &[]);
    let said = dev.says("--data-dir").await;
    for part in [
        "misbehave 1.0.0 (",
        "serving after ",
        "ana/golden/lead/body.json",
        "Without an expectation, and not run: lead",
        "# To publish it: leadhost plugin test ana --write; ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let folder = data_dir(&said);
    assert!(folder.is_dir());
    dev.post("{}").await.expect(200);
    let said = dev.says(" of memory at most").await;
    for part in ["POST ingest-lead: 200 ", "  lead: ", "  convert: "] {
        assert!(said.contains(part), "{part}: {said}");
    }

    put(&base, "next.wasm", version("1.1.0"));
    dev.says("misbehave 1.1.0 (").await;
    dev.post("{\"again\": 1}").await.expect(200);
    let mut list = command(
        &folder,
        &["delivery", "list", "--version", "1.1.0", "--json"],
    );
    let list = list.output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["deliveries"].as_array().unwrap().len(), 1, "{list}");

    assert!(dev.stop().success());
    assert!(!folder.exists(), "{}", folder.display());
}

#[tokio::test]
async fn an_edit_of_a_component_with_a_library_is_answered_by_the_new_version() {
    let build = |version: &str| guests::with_library(&self::version(version), &[]);
    let base = project(&build("1.0.0"), &COPY);
    let dev = Dev::start(&base, &[]);
    let folder = data_dir(&dev.says("--data-dir").await).join("compiled");
    let library = Digest::compute(&guests::library(&[]).finish());
    let compiled = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.find(|name| name.starts_with(&library.0));
        let name = name.expect("the library is compiled apart");
        std::fs::metadata(folder.join(name))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = compiled();
    put(&base, "next.wasm", build("1.1.0"));
    dev.says("misbehave 1.1.0 (").await;
    dev.post("{}").await.expect(200);
    assert_eq!(compiled(), before, "the library is not compiled again");
}

#[tokio::test]
async fn a_build_that_fails_is_shown_and_the_last_good_one_stays_active() {
    let check = "if test -e broken; then cat broken >&2; exit 7; fi";
    let base = project(&version("1.0.0"), &[check, COPY[0], COPY[1]]);
    let dev = Dev::start(&base, &[]);
    // Where no line shows the progress, the beginning of a build is shown.
    dev.says("cp next.wasm build/plugin.wasm").await;
    dev.says("--data-dir").await;
    put(&base, "broken", "src/x.rs:7: a word is missing\n");
    let said = dev.says("is still active").await;
    for part in [
        "src/x.rs:7: a word is missing",
        "exit code 7",
        "FAILED building",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    dev.post("{}").await.expect(200);

    // A file that is no component fails too, and names the file.
    std::fs::remove_file(base.path("ana/broken")).unwrap();
    put(&base, "next.wasm", "no component");
    dev.says("not a WebAssembly component").await;
    dev.post("{\"id\": 2}").await.expect(200);
    put(&base, "next.wasm", version("1.2.0"));
    dev.says("misbehave 1.2.0 (").await;
}

#[tokio::test]
async fn a_golden_case_that_fails_is_shown_with_its_difference_and_is_not_served() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    put_case(&base, "wrong", Some(json!({"ok": {"items": []}})));
    let said = dev.says("is still active").await;
    for part in ["FAILED wrong", "expected", "--renew", "misbehave 1.0.0 ("] {
        assert!(said.contains(part), "{part}: {said}");
    }
    dev.post("{}").await.expect(200);
}

#[tokio::test]
async fn the_cases_that_a_build_packs_are_run_if_the_project_has_no_folder_of_cases() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    put_case(&base, "wrong", Some(json!({"ok": {"items": []}})));
    dev.says("FAILED wrong").await;
    let folder = base.path("ana/golden");
    let mut cases = load_dir(&folder).unwrap();
    cases[0].name = "packed".to_owned();
    std::fs::remove_dir_all(folder).unwrap();
    put(&base, "next.wasm", version("1.1.0"));
    dev.says("misbehave 1.1.0 (").await;
    let failing = append_section(&version("1.2.0"), &pack(&cases).unwrap()).unwrap();
    put(&base, "next.wasm", failing);
    dev.says("FAILED packed").await;
    assert!(!dev.said().contains("misbehave 1.2.0 ("), "{}", dev.said());
}

#[tokio::test]
async fn a_build_whose_cases_differ_in_notes_alone_is_served() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    let printing = Variant {
        version: "1.1.0",
        check: "",
        always: "print",
        ..Variant::default()
    };
    put(&base, "next.wasm", printing.component());
    dev.says("misbehave 1.1.0 (").await;
    let expect = json!({"ok": {"items": [], "notes": ["another line"], "reply": null}});
    put_case(&base, "noted", Some(expect));
    let said = dev.says("1 golden case has other notes").await;
    assert!(said.contains("--renew"), "{said}");
    dev.post("{}").await.expect(200);
    dev.says("  note: printed").await;
}

/// A project whose plugin crashes at each call.
fn crashing_project() -> CommandFolder {
    let crashing = Variant {
        check: "",
        always: "trap",
        ..Variant::default()
    };
    project(&crashing.component(), &COPY)
}

#[tokio::test]
async fn a_crash_is_shown_once_with_its_request() {
    let base = crashing_project();
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    dev.post("{}").await.expect(200);
    let said = dev.says(" of memory at most").await;
    let shown = said.matches("FAILED: the plugin call failed").count();
    assert_eq!(shown, 1, "{said}");
    assert!(!said.contains("WARN"), "{said}");
}

#[tokio::test]
async fn each_crash_is_shown_however_many_came_before() {
    let base = crashing_project();
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    for crash in 1..=limits::BREAKER_FAILURES as usize + 1 {
        dev.post("{}").await.expect(200);
        let count = || dev.said().matches("FAILED: the plugin call failed").count();
        until("the crash is shown", async || {
            (count() >= crash).then_some(())
        })
        .await;
    }
    let said = dev.said();
    assert!(!said.contains("circuit"), "{said}");
    assert!(!said.contains("WARN"), "{said}");
}

#[tokio::test]
async fn a_message_is_shown_with_its_request_and_its_outcome() {
    let adapter = guests::AdapterVariant {
        check: "",
        ..guests::AdapterVariant::default()
    };
    let base = project_of(
        ("misbehave-adapter", "adapter"),
        &adapter.component(),
        &COPY,
    );
    let dev = Dev::start(&base, &[]);
    let said = dev.says("--data-dir").await;
    let (_, after) = said.split_once("\"instanceId\":").unwrap();
    let (instance, _) = after.split_once(',').unwrap();
    let instance: u64 = instance.parse().unwrap();
    let message = json!({
        "name": "Ana", "phoneNumber": "+5511900000002", "instanceId": instance, "source": "dev",
        "template": {"name": "welcome", "language": {"code": "pt_BR"}},
    });
    // The template is known when it is listed.
    dev.says("  list-templates: ").await;
    dev.post(&message.to_string()).await.expect(200);
    // No connection of `dev` may call this host, as the instance has no `allow`.
    let said = dev.says("  next: the instance is paused").await;
    for part in [
        "  request: POST https://api.example.com/v1/messages",
        "  outcome: refused (connection, code not-allowed)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[tokio::test]
async fn a_project_whose_packages_are_gone_is_set_up_again() {
    let base = project(
        &version("1.0.0"),
        &["test -d node_modules", COPY[0], COPY[1]],
    );
    let lock = std::fs::read_to_string(base.path("ana/leadhost.lock")).unwrap();
    let setup = "setup = [\"mkdir -p node_modules\"]\n";
    put(&base, "leadhost.lock", format!("{lock}{setup}"));
    base.run(&["plugin", "dev", PROJECT, "--once"]);
    std::fs::remove_dir(base.path("ana/node_modules")).unwrap();
    let (out, _) = base.run(&["plugin", "dev", PROJECT, "--once"]);
    assert!(out.contains("serving after "), "{out}");
}

#[tokio::test]
async fn a_sender_check_gets_a_secret_and_the_line_its_proof() {
    let base = project(&guests::misbehave(), &COPY);
    put_case(&base, "lead", None);
    let dev = Dev::start(&base, &[]);
    let said = dev.says("--data-dir").await;
    for part in ["x-signature: ", "openssl dgst -sha256 -hmac "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    dev.post("{}").await.expect(401);
    dev.says("the proof of the sender is missing or wrong")
        .await;
}

#[test]
fn once_ends_after_the_first_version_and_fails_with_the_build() {
    let base = project(&version("1.0.0"), &COPY);
    let (out, _) = base.run(&["plugin", "dev", PROJECT, "--once"]);
    assert!(out.contains("serving after "), "{out}");
    // It ends, so no other command can reach it.
    assert!(!out.contains("--data-dir"), "{out}");

    let base = project(b"", &["echo a reason; exit 2"]);
    let said = base.fail(1, &["plugin", "dev", PROJECT, "--once"]);
    assert!(said.contains("a reason"), "{said}");
    assert!(said.contains("ana is not served"), "{said}");
    let base = project(b"", &["true"]);
    let said = base.fail(1, &["plugin", "dev", PROJECT, "--once"]);
    assert!(said.contains("build/plugin.wasm"), "{said}");
}

#[test]
fn a_file_of_another_project_is_refused_with_the_key_and_both_values() {
    let base = project_of(("ana", "converter"), &version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    let dev = ["plugin", "dev", PROJECT, "--once"];
    let said = base.fail(1, &dev);
    let parts = [
        "ana/leadhost.lock: `name` is \"ana\", but the plugin that the project builds has \"misbehave\"",
        "write name = \"misbehave\"",
        "plugin new",
    ];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("serving after"), "{said}");
    // `check` first refuses a case without an expectation.
    put_lock(&base, ("misbehave", "converter"), &COPY);
    base.run(&["plugin", "test", PROJECT, "--write"]);
    put_lock(&base, ("ana", "converter"), &COPY);
    for command in [
        &["plugin", "test", PROJECT][..],
        &["plugin", "run", PROJECT, "ana/next.wasm"],
        &["plugin", "check", PROJECT, "--offline"],
    ] {
        let said = base.fail(1, command);
        assert!(said.contains(parts[0]), "{command:?}: {said}");
    }
    put_lock(&base, ("misbehave", "adapter"), &COPY);
    let said = base.fail(1, &dev);
    assert!(said.contains("`kind` is \"adapter\", but"), "{said}");
    put_lock(&base, ("misbehave", "converter"), &COPY);
    base.run(&dev);
}

#[tokio::test]
async fn a_version_that_is_not_of_the_project_leaves_the_one_before_active() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    put_lock(&base, ("ana", "converter"), &COPY);
    let said = dev.says("is still active").await;
    assert!(said.contains("`name` is \"ana\""), "{said}");
    put(&base, "next.wasm", version("1.1.0"));
    until("the other build is refused", async || {
        let times = dev.said().matches("is still active").count();
        (times == 2).then_some(())
    })
    .await;
    let said = dev.said();
    assert!(!said.contains("misbehave 1.1.0 ("), "{said}");
    put_lock(&base, ("misbehave", "converter"), &COPY);
    dev.says("misbehave 1.1.0 (").await;
}

#[tokio::test]
async fn a_folder_that_is_moved_away_ends_the_command_which_says_so() {
    let base = project(&version("1.0.0"), &COPY);
    let mut dev = Dev::start(&base, &[]);
    dev.says("--data-dir").await;
    std::fs::rename(base.path(PROJECT), base.path("elsewhere")).unwrap();
    dev.says("the folder ana was moved away or removed").await;
    assert_eq!(dev.child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_outdated_build_is_not_made_the_expectation() {
    let base = project(&version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    base.run(&["plugin", "dev", PROJECT, "--once"]);
    put(&base, "src/form.js", "");
    let source = std::fs::File::options()
        .append(true)
        .open(base.path("ana/src/form.js"))
        .unwrap();
    let edited = source.metadata().and_then(|file| file.modified()).unwrap();
    let later = edited + std::time::Duration::from_secs(60);
    source.set_modified(later).unwrap();
    let said = base.fail(1, &["plugin", "test", PROJECT, "--write"]);
    for part in ["src/form.js", "cp next.wasm build/plugin.wasm", "--stale"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (out, _) = base.run(&["plugin", "test", PROJECT, "--write", "--stale"]);
    assert!(out.contains("wrote lead"), "{out}");
}
