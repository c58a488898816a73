//! `leadhost plugin dev`: a project is built after each change, and its calls go to the new version. The
//! build of these projects copies a component, so no toolchain is needed.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use hyper::Method;
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_golden::{append_section, load_dir, pack};
use leadhost_tests::guests::{self, AdapterVariant, Variant};
use leadhost_tests::service::command;
use leadhost_tests::{Answer, Ask, Json, eventually, has, lacks, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::local::CommandFolder;

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
    put(base, "leadhost.toml", toml::to_string(&lock).unwrap());
}

const COPY: [&str; 2] = ["mkdir -p build", "cp next.wasm build/plugin.wasm"];

fn put(base: &CommandFolder, name: &str, content: impl AsRef<[u8]>) {
    base.put(&format!("{PROJECT}/{name}"), content);
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

struct Dev {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Dev {
    fn start(base: &CommandFolder) -> Self {
        let mut child = command(Path::new("unused"), "plugin dev ana")
            .current_dir(base.path(""))
            // Its private data is removed with the folder, even if the test ends it by force.
            .env("TMPDIR", base.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        keep(child.stdout.take().unwrap(), &said);
        keep(child.stderr.take().unwrap(), &said);
        Self { child, said }
    }

    async fn serving(base: &CommandFolder) -> Self {
        let dev = Self::start(base);
        dev.says("--data-dir").await;
        dev
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

    fn types(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
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
    Variant::version(version).check("").component()
}

#[tokio::test]
async fn an_edit_is_answered_by_the_new_version_and_the_data_is_removed_at_the_end() {
    let base = project(&version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    let dev = Dev::serving(&base).await;
    let said = dev.said();
    has!(said, "misbehave 1.0.0 (", "serving after ");
    has!(said, "ana/golden/lead/body.json");
    has!(said, "Without an expectation, and not run: lead");
    has!(said, "# To publish it: leadhost plugin test ana --write; ");
    let folder = data_dir(&said);
    assert!(folder.is_dir());
    dev.post("{}").await.expect(200);
    let said = dev.says(" of memory at most").await;
    has!(said, "POST ingest-lead: 200 ", "  lead: ", "  convert: ");

    put(&base, "next.wasm", version("1.1.0"));
    dev.says("misbehave 1.1.0 (").await;
    dev.post("{\"again\": 1}").await.expect(200);
    let mut list = command(&folder, "delivery list --version 1.1.0 --json");
    let list = list.output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["deliveries"].list().len(), 1, "{list}");

    assert!(dev.stop().success());
    assert!(!folder.exists(), "{}", folder.display());
}

#[tokio::test]
async fn an_edit_of_a_component_with_a_library_is_answered_by_the_new_version() {
    let build = |version: &str| guests::with_library(&self::version(version), &[]);
    let base = project(&build("1.0.0"), &COPY);
    let dev = Dev::start(&base);
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
    let dev = Dev::start(&base);
    // Where no line shows the progress, the beginning of a build is shown.
    dev.says("cp next.wasm build/plugin.wasm").await;
    dev.says("--data-dir").await;
    put(&base, "broken", "src/x.rs:7: a word is missing\n");
    let said = dev.says("is still active").await;
    has!(said, "src/x.rs:7: a word is missing", "exit code 7");
    has!(said, "FAILED building");
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
async fn another_result_than_expected_is_served_with_the_difference_and_renewed_by_a_key() {
    let base = project(&version("1.0.0"), &COPY);
    let mut dev = Dev::serving(&base).await;
    // Golden cases alone need no other build.
    let builds = dev.said().matches("built in").count();
    let notes = json!({"ok": {"items": [], "notes": ["another line"], "reply": null}});
    put_case(&base, "noted", Some(notes));
    let said = dev.says("1 golden case has another result").await;
    has!(said, "FAILED noted", "expected", "--renew");
    assert_eq!(dev.said().matches("built in").count(), builds);
    put(&base, "next.wasm", version("1.1.0"));
    dev.says("misbehave 1.1.0 (").await;
    dev.post("{}").await.expect(200);

    dev.types("r");
    dev.says("Renewed: 1 golden case").await;
    dev.says("1 golden case passed").await;
}

#[tokio::test]
async fn a_result_that_lost_a_lead_is_served_and_not_renewed_by_a_key() {
    let base = project(&version("1.0.0"), &COPY);
    let mut dev = Dev::serving(&base).await;
    put_case(
        &base,
        "wrong",
        Some(json!({"err": {"message": "x", "path": ""}})),
    );
    has!(
        dev.says("1 golden case has lost").await,
        "--accept lost-fields"
    );
    dev.types("r");
    dev.says("Renewed: 0 golden cases").await;
    dev.post("{}").await.expect(200);
    let said = base.fail(1, "plugin test ana --renew");
    has!(
        said,
        "the body was refused, and is taken",
        "--accept lost-fields"
    );
    has!(
        base.run("plugin test ana --renew --accept lost-fields"),
        "renewed wrong"
    );
}

#[tokio::test]
async fn the_cases_that_a_build_packs_are_run_if_the_project_has_no_folder_of_cases() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::serving(&base).await;
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
}

#[tokio::test]
async fn what_a_check_finds_is_shown_and_keeps_nothing_from_being_served() {
    let base = project(&version("1.0.0"), &COPY);
    let lock = std::fs::read_to_string(base.path("ana/leadhost.toml")).unwrap();
    put(
        &base,
        "leadhost.toml",
        format!("{lock}check = [\"echo a type is wrong; exit 1\"]\n"),
    );
    let said = base.ends(0, "plugin dev ana --once");
    has!(said, "a type is wrong", "FAILED checking", "serving after ");
}

fn crashing_project() -> CommandFolder {
    let crashing = Variant::default().check("").always("trap");
    project(&crashing.component(), &COPY)
}

#[tokio::test]
async fn a_crash_is_shown_once_with_its_request() {
    let base = crashing_project();
    let dev = Dev::serving(&base).await;
    dev.post("{}").await.expect(200);
    let said = dev.says(" of memory at most").await;
    let shown = said.matches("FAILED: the plugin call failed").count();
    assert_eq!(shown, 1, "{said}");
    lacks!(said, "WARN");
}

#[tokio::test]
async fn each_crash_is_shown_however_many_came_before() {
    let base = crashing_project();
    let dev = Dev::serving(&base).await;
    for crash in 1..=limits::BREAKER_FAILURES as usize + 1 {
        dev.post("{}").await.expect(200);
        let count = || dev.said().matches("FAILED: the plugin call failed").count();
        eventually("the crash is shown", async || count() >= crash).await;
    }
    lacks!(dev.said(), "circuit", "WARN");
}

#[tokio::test]
async fn a_message_is_shown_with_its_request_and_its_outcome() {
    let adapter = AdapterVariant::default().check("").component();
    let kind = ("misbehave-adapter", "adapter");
    let base = project_of(kind, &adapter, &COPY);
    let dev = Dev::serving(&base).await;
    let said = dev.said();
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
    has!(said, "  request: POST https://api.example.com/v1/messages");
    has!(said, "  outcome: refused (connection, code not-allowed)");
}

#[tokio::test]
async fn a_project_whose_packages_are_gone_is_set_up_again() {
    let build = ["test -d node_modules", COPY[0], COPY[1]];
    let base = project(&version("1.0.0"), &build);
    let lock = std::fs::read_to_string(base.path("ana/leadhost.toml")).unwrap();
    let setup = "setup = [\"mkdir -p node_modules\"]\n";
    put(&base, "leadhost.toml", format!("{lock}{setup}"));
    base.run("plugin dev ana --once");
    std::fs::remove_dir(base.path("ana/node_modules")).unwrap();
    has!(base.run("plugin dev ana --once"), "serving after ");
}

#[tokio::test]
async fn a_sender_check_gets_a_secret_and_the_line_its_proof() {
    let base = project(&guests::misbehave(), &COPY);
    put_case(&base, "lead", None);
    let dev = Dev::serving(&base).await;
    let said = dev.said();
    has!(said, "x-signature: ", "openssl dgst -sha256 -hmac ");
    dev.post("{}").await.expect(401);
    dev.says("the proof of the sender is missing or wrong")
        .await;
}

#[test]
fn once_ends_after_the_first_version_and_fails_with_the_build() {
    let base = project(&version("1.0.0"), &COPY);
    let said = base.run("plugin dev ana --once");
    has!(said, "serving after ");
    // It ends, so no other command can reach it.
    lacks!(said, "--data-dir");

    let base = project(b"", &["echo a reason; exit 2"]);
    let said = base.fail(1, "plugin dev ana --once");
    has!(said, "a reason", "ana is not served");
    let base = project(b"", &["true"]);
    let said = base.fail(1, "plugin dev ana --once");
    has!(said, "build/plugin.wasm");
}

#[test]
fn a_file_of_another_project_is_refused_with_the_key_and_both_values() {
    let base = project_of(("ana", "converter"), &version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    let dev = "plugin dev ana --once";
    let said = base.fail(1, dev);
    let differs = "ana/leadhost.toml: `name` is \"ana\", but the plugin that the project builds has \"misbehave\"";
    has!(said, differs);
    has!(said, "write name = \"misbehave\"", "plugin new");
    lacks!(said, "serving after");
    // `check` first refuses a case without an expectation.
    put_lock(&base, ("misbehave", "converter"), &COPY);
    base.run("plugin test ana --write");
    put_lock(&base, ("ana", "converter"), &COPY);
    let key = PlainKey::generate(KeyKind::Admin);
    let key = key.reveal();
    for command in [
        "plugin test ana",
        "plugin run ana ana/next.wasm",
        &format!("plugin publish ana --to 127.0.0.1:1 --admin-key {key}"),
    ] {
        has!(base.fail(1, command), differs; "{command}");
    }
    put_lock(&base, ("misbehave", "adapter"), &COPY);
    has!(base.fail(1, dev), "`kind` is \"adapter\", but");
    put_lock(&base, ("misbehave", "converter"), &COPY);
    base.run(dev);
}

#[tokio::test]
async fn a_version_that_is_not_of_the_project_leaves_the_one_before_active() {
    let base = project(&version("1.0.0"), &COPY);
    let dev = Dev::serving(&base).await;
    put_lock(&base, ("ana", "converter"), &COPY);
    has!(dev.says("is still active").await, "`name` is \"ana\"");
    put(&base, "next.wasm", version("1.1.0"));
    eventually("the other build is refused", async || {
        let times = dev.said().matches("is still active").count();
        times == 2
    })
    .await;
    lacks!(dev.said(), "misbehave 1.1.0 (");
    put_lock(&base, ("misbehave", "converter"), &COPY);
    dev.says("misbehave 1.1.0 (").await;
}

#[tokio::test]
async fn a_folder_that_is_moved_away_ends_the_command_which_says_so() {
    let base = project(&version("1.0.0"), &COPY);
    let mut dev = Dev::serving(&base).await;
    std::fs::rename(base.path(PROJECT), base.path("elsewhere")).unwrap();
    dev.says("the folder ana was moved away or removed").await;
    assert_eq!(dev.child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_outdated_build_is_not_made_the_expectation() {
    let base = project(&version("1.0.0"), &COPY);
    put_case(&base, "lead", None);
    base.run("plugin dev ana --once");
    put(&base, "src/form.js", "");
    let mut options = std::fs::File::options();
    let source = options.append(true).open(base.path("ana/src/form.js"));
    let source = source.unwrap();
    let edited = source.metadata().and_then(|file| file.modified()).unwrap();
    let later = edited + std::time::Duration::from_secs(60);
    source.set_modified(later).unwrap();
    let said = base.fail(1, "plugin test ana --write");
    has!(said, "src/form.js", "cp next.wasm build/plugin.wasm");
    has!(said, "--stale");
    has!(base.run("plugin test ana --write --stale"), "wrote lead");
}
