//! The commands that connect a plugin on an integrator's machine with a running service: `delivery
//! export`, `plugin replay` and `plugin publish`, by the program itself.

use std::path::Path;

use leadhost_tests::components::{component, target};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::service::leadhost;
use leadhost_tests::{On, Service};
use serde_json::{Value, json};
use tempfile::TempDir;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_delivery_becomes_a_golden_case_without_its_person,
    a_component_is_replayed_on_the_deliveries_of_a_service,
    deliveries_that_cannot_be_replayed_or_exported_are_named,
    a_component_is_published_step_by_step_and_stops_at_the_first_that_fails,
}

const WORKSPACE: &str = r#"
[workspace]
slug = "acme"
name = "Acme"

[[partners]]
name = "crm"

[[instances]]
name = "bot"

[[connections]]
name = "form"
partner = "crm"
instance = "bot"
plugin = "example-form"

[[connections]]
name = "odd"
partner = "crm"
instance = "bot"
plugin = "misbehave"
config = { size = 1 }

[[connections]]
name = "trap"
partner = "crm"
instance = "bot"
plugin = "misbehave"
config = { do = "print-and-trap" }
"#;

/// A service with two plugins, and a folder for files.
struct Connected {
    service: Service,
    data: TempDir,
    files: TempDir,
    connections: Value,
}

impl Connected {
    fn start(on: &On) -> Self {
        let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let service = Service::start_on(on, data.path(), &[]);
        let mut connected = Self {
            service,
            data,
            files,
            connections: Value::Null,
        };
        let form = connected.put("form.wasm", component("plugins/example-form.wasm"));
        let odd = connected.put("odd.wasm", phones("1.0.0").component());
        for file in [form, odd] {
            let run = ["plugin", "activate", &file, "--accept", "all"];
            connected.service.run(&run);
        }
        let file = connected.put("acme.toml", WORKSPACE);
        let report = connected.service.run(&["apply", &file, "--json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        connected.connections = report["connections"].clone();
        connected
    }

    /// Writes a file. Returns its path.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.files.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Sends a lead to a connection. Returns the delivery's id.
    async fn lead(&self, connection: &str, body: &Value) -> String {
        let id = self.connections[connection].as_str().unwrap();
        let ask = self
            .service
            .ask("gateway", "POST", &format!("/ingest-lead/{id}"));
        let answer = ask.json(body).send().await.expect(200).json();
        answer["deliveryId"].as_str().unwrap().to_owned()
    }

    /// Runs a command outside of the data folder, with the service's address and its key. Returns
    /// the exit code with both outputs.
    fn remote(&self, at: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let key = std::fs::read_to_string(self.data.path().join("admin.key")).unwrap();
        let address = format!("http://{}", self.service.address("admin"));
        let cache = target().join("tmp/plugin-cache").display().to_string();
        let more = [at, &address, "--key", key.trim(), "--cache-dir", &cache];
        said(self.files.path(), &[arguments, &more].concat())
    }

    /// A delivery that the component fails on is shown with what it wrote, once for each reason.
    async fn shows_failures(&self, failing: Vec<u8>) {
        let failing = self.put("failing.wasm", failing);
        for _ in 0..2 {
            self.lead("trap", &json!({})).await;
        }
        let replay = ["plugin", "replay", &failing, "--connection", "trap"];
        let (code, out) = self.remote("--from", &replay);
        assert_eq!(code, Some(0), "{out}");
        for part in ["The component fails on delivery ", "plugin: the last words"] {
            assert_eq!(out.matches(part).count(), 1, "{part}: {out}");
        }
    }

    fn count(&self, what: &str) -> usize {
        let list = self.service.run(&["plugin", "list", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let plugins = list["plugins"].as_array().unwrap();
        let found = plugins.iter().find(|one| one["name"] == what);
        found.unwrap()["versions"].as_array().unwrap().len()
    }
}

fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = leadhost(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let both = text(&output.stdout) + &text(&output.stderr);
    (output.status.code(), both)
}

/// The converter that reads a phone in every delivery.
fn phones(version: &str) -> Variant<'_> {
    Variant {
        version,
        check: "",
        always: "phones",
        ..Variant::default()
    }
}

fn person() -> Value {
    json!({
        "id": "f-1",
        "nome": "Lia Campos",
        "telefone": "(11) 90000-0001",
        "email": "lia.campos@mail.example",
        "mensagem": "Lia aqui, +55 11 90000-0001",
    })
}

async fn a_delivery_becomes_a_golden_case_without_its_person(on: On) {
    let connected = Connected::start(&on);
    let id = connected.lead("form", &person()).await;
    let golden = connected.files.path().join("golden");
    let case = golden.join("masked");
    let named = case.display().to_string();
    let export = ["delivery", "export", &id, "--golden", &named];
    let out = connected.service.run(&export);
    assert!(out.contains("Persons are masked"), "{out}");

    let body = std::fs::read_to_string(case.join("body.json")).unwrap();
    assert!(!body.contains("Lia"), "{body}");
    // The case runs, and its output becomes the expectation.
    let golden = golden.display().to_string();
    let wasm = connected.put("bare.wasm", guests::example_form());
    let cache = target().join("tmp/plugin-cache").display().to_string();
    let test = [
        "plugin",
        "test",
        &wasm,
        "--golden",
        &golden,
        "--cache-dir",
        &cache,
    ];
    let (code, out) = said(connected.files.path(), &[&test[..], &["--write"]].concat());
    assert_eq!(code, Some(0), "{out}");
    let (code, out) = said(connected.files.path(), &test);
    assert_eq!(code, Some(0), "{out}");

    // An existing case is not replaced, and another export has other persons.
    let again = connected.service.fail(&export);
    assert!(again.contains("masked"), "{again}");
    let other = connected
        .files
        .path()
        .join("golden/raw")
        .display()
        .to_string();
    let raw = ["delivery", "export", &id, "--golden", &other, "--raw"];
    connected.service.run(&raw);
    let body = std::fs::read_to_string(Path::new(&other).join("body.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), person());
}

async fn a_component_is_replayed_on_the_deliveries_of_a_service(on: On) {
    let connected = Connected::start(&on);
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(connected.lead("odd", &json!({ "n": number })).await);
    }
    connected.lead("form", &person()).await;
    let same = connected.put("same.wasm", phones("1.1.0").component());
    let replay = ["plugin", "replay", &same, "--connection", "odd"];
    let (code, out) = connected.remote("--from", &replay);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("on 3 deliveries: 3 the same"), "{out}");

    // The digest is that of the component with its golden cases, as `plugin check` shows it.
    let form = connected.put("form.wasm", component("plugins/example-form.wasm"));
    let replay = ["plugin", "replay", &form, "--connection", "form", "--json"];
    let (code, replayed) = connected.remote("--from", &replay);
    assert_eq!(code, Some(0), "{replayed}");
    let check = ["plugin", "check", &form, "--offline", "--json"];
    let cache = target().join("tmp/plugin-cache").display().to_string();
    let check = [&check[..], &["--cache-dir", &cache]].concat();
    let (_, checked) = said(connected.files.path(), &check);
    let digest = |out: &str| {
        let line = out.lines().find(|line| line.starts_with("  \"digest\": "));
        line.map(str::to_owned)
    };
    assert!(digest(&checked).is_some(), "{checked}");
    assert_eq!(digest(&replayed), digest(&checked), "{replayed}");

    // The active version has no other beside it: its results are shown.
    let (code, out) = connected.remote("--from", &replay[..replay.len() - 1]);
    assert_eq!(code, Some(0), "{out}");
    for part in [
        "is the active version, so there is no other to compare it with",
        "1 delivery with 1 lead; 1 the same as in the service",
        "1 lead\n",
        "delivery show ID",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }

    let without = Variant {
        always: "",
        ..phones("1.2.0")
    };
    let without = connected.put("without.wasm", without.component());
    let replay = [
        "plugin",
        "replay",
        &without,
        "--connection",
        "acme/odd",
        "--last",
        "2",
    ];
    let (code, out) = connected.remote("--from", &replay);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("phone: lost"), "{out}");
    assert!(out.contains("2 of 2 leads lose a phone"), "{out}");
    let (code, out) = connected.remote("--from", &[&replay[..], &["--json"]].concat());
    assert_eq!(code, Some(1));
    assert!(out.contains("\"compared\": 2"), "{out}");

    connected
        .shows_failures(guests::misbehave_with_wasi())
        .await;

    // The same in the service of the data folder, by the ids. Nothing was stored or activated.
    let cache = target().join("tmp/plugin-cache").display().to_string();
    let one = [
        "plugin",
        "replay",
        &same,
        "--delivery",
        &ids[0],
        "--cache-dir",
        &cache,
    ];
    let out = connected.service.run(&one);
    assert!(out.contains("on 1 delivery: 1 the same"), "{out}");
    assert_eq!(connected.count("misbehave"), 1);
}

async fn deliveries_that_cannot_be_replayed_or_exported_are_named(on: On) {
    let connected = Connected::start(&on);
    let id = connected.lead("form", &person()).await;
    let nowhere = "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2";
    let form = connected.put("same.wasm", component("plugins/example-form.wasm"));
    let odd = connected.put("phones.wasm", phones("1.1.0").component());
    let check = |arguments: &[&str], code: i32, part: &str| {
        let (found, out) = connected.remote("--from", arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {out}");
        assert!(out.contains(part), "{arguments:?}: {out}");
    };
    let unknown = ["plugin", "replay", &form, "--delivery", nowhere];
    check(&unknown, 1, "1 delivery: not in the service");
    let another = ["plugin", "replay", &odd, "--delivery", &id];
    check(&another, 1, "of another plugin than misbehave");
    check(
        &["plugin", "replay", &form, "--delivery", "17"],
        2,
        "`17` is not the id",
    );
    check(&["plugin", "replay", &form], 2, "--connection");
    let other = guests::exporting("leadhost:converter/converter@2.0.0");
    let other = connected.put("other.wasm", other);
    let of_other_contract = ["plugin", "replay", &other, "--delivery", &id];
    check(&of_other_contract, 1, "this host offers");
    check(
        &["plugin", "replay", &form, "--connection", "none"],
        1,
        "no connection `none`",
    );

    let erase = [
        "contact",
        "erase",
        "--workspace",
        "acme",
        "--email",
        "lia.campos@mail.example",
    ];
    connected.service.run(&[&erase[..], &["--yes"]].concat());
    let erased = ["plugin", "replay", &form, "--delivery", &id];
    check(&erased, 1, "not in the service, or erased");
    let export = |id: &str| {
        let case = connected
            .files
            .path()
            .join("golden/none")
            .display()
            .to_string();
        connected
            .service
            .fail(&["delivery", "export", id, "--golden", &case])
    };
    assert!(export(&id).contains("no delivery"));
    assert!(export(nowhere).contains("no delivery"));
    assert!(export("17").contains("no delivery `17`"));
}

async fn a_component_is_published_step_by_step_and_stops_at_the_first_that_fails(on: On) {
    let connected = Connected::start(&on);
    connected.lead("odd", &json!({})).await;
    let publish = |file: &str, more: &[&str]| {
        let arguments = [&["plugin", "publish", file][..], more].concat();
        connected.remote("--to", &arguments)
    };
    // It is no component: nothing is sent.
    let broken = connected.put("broken.wasm", "no component");
    let (code, out) = publish(&broken, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("1/4") && !out.contains("2/4"), "{out}");

    // What only the service knows: the number of the active version.
    let older = connected.put("older.wasm", phones("0.9.0").component());
    let (code, out) = publish(&older, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("2/4") && !out.contains("3/4"), "{out}");
    assert!(out.contains("--accept older"), "{out}");

    let without = Variant {
        always: "",
        ..phones("1.1.0")
    };
    let lossy = connected.put("lossy.wasm", without.component());
    let (code, out) = publish(&lossy, &["--last", "5"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("3/4") && !out.contains("4/4"), "{out}");
    assert!(out.contains("--accept drift"), "{out}");
    assert_eq!(connected.count("misbehave"), 1, "nothing was changed");

    let better = connected.put("better.wasm", phones("1.2.0").component());
    let (code, out) = publish(&better, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("4/4") && out.contains("misbehave 1.2.0 is active"),
        "{out}"
    );
    assert!(out.contains("plugin rollback misbehave"), "{out}");

    // A case without an expectation gets the output, and the file is named.
    let project = connected.files.path().join("project");
    let case = project.join("golden/lead");
    std::fs::create_dir_all(&case).unwrap();
    std::fs::create_dir_all(project.join("build")).unwrap();
    std::fs::write(project.join("build/plugin.wasm"), guests::example_form()).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/golden-form/lead");
    let text = std::fs::read_to_string(own.join("case.json")).unwrap();
    let mut unwritten: Value = serde_json::from_str(&text).unwrap();
    let expect = unwritten.as_object_mut().unwrap().remove("expect");
    std::fs::write(case.join("case.json"), unwritten.to_string()).unwrap();
    std::fs::copy(own.join("body.json"), case.join("body.json")).unwrap();
    let (code, out) = publish(project.to_str().unwrap(), &["--accept", "all"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("golden/lead/case.json"), "{out}");
    let written = std::fs::read_to_string(case.join("case.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written.get("expect"), expect.as_ref());

    // A key that may not activate: the last step says so.
    let viewer = [
        "key", "create", "--kind", "admin", "--role", "viewer", "--label", "v",
    ];
    let key = connected.service.run(&viewer);
    let key = key.lines().next().unwrap().trim();
    let next = connected.put("next.wasm", phones("1.3.0").component());
    let address = format!("http://{}", connected.service.address("admin"));
    let cache = target().join("tmp/plugin-cache").display().to_string();
    // It is another publisher too.
    let as_viewer = [
        "plugin",
        "publish",
        &next,
        "--to",
        &address,
        "--cache-dir",
        &cache,
        "--key",
        key,
        "--accept",
        "new-publisher",
    ];
    let (code, out) = said(connected.files.path(), &as_viewer);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("role viewer"), "{out}");
}

#[test]
fn a_key_goes_only_where_it_is_meant_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.wasm");
    std::fs::write(&file, guests::misbehave()).unwrap();
    let file = file.display().to_string();
    let key = {
        use leadhost_domain::key::{KeyKind, PlainKey};
        PlainKey::generate(KeyKind::Admin).reveal().to_owned()
    };
    // The key of this folder is for the service of this folder.
    std::fs::write(folder.path().join("admin.key"), &key).unwrap();
    let cache = target().join("tmp/plugin-cache").display().to_string();
    let check = |more: &[&str], code: i32, part: &str| {
        let publish = ["plugin", "publish", &file, "--cache-dir", &cache];
        let (found, out) = said(folder.path(), &[&publish[..], more].concat());
        assert_eq!(found, Some(code), "{more:?}: {out}");
        assert!(out.contains(part), "{more:?}: {out}");
    };
    check(&["--to", "127.0.0.1:1"], 2, "no admin key for 127.0.0.1:1");
    check(
        &["--to", "127.0.0.1:1", "--key", "pk_1"],
        2,
        "not an admin key",
    );
    check(
        &["--to", "http://10.0.0.7:8081", "--key", &key],
        2,
        "plain HTTP to another machine",
    );
    check(
        &["--to", "https://a/b", "--key", &key],
        2,
        "is not an address",
    );
    check(
        &["--to", "127.0.0.1:1", "--key", &key],
        1,
        "no service at 127.0.0.1:1",
    );
}
