//! The commands that connect a plugin on an integrator's machine with a running service: `delivery
//! export`, `plugin test --on` and `plugin publish`, by the program itself.

use std::path::{Path, PathBuf};

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::components::{component, target};
use leadhost_tests::guests;
use leadhost_tests::{Json, On, Service, has, lacks};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::local::CommandFolder;
use super::rollout::phones;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_delivery_becomes_a_golden_case_without_its_person,
    a_component_is_replayed_on_the_deliveries_of_a_service,
    deliveries_that_cannot_be_replayed_or_exported_are_named,
    a_component_is_published_and_what_fails_changes_nothing,
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
    files: CommandFolder,
    connections: Value,
}

impl Connected {
    fn start(on: &On) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut connected = Self {
            service: Service::start_on(on, data.path(), &[]),
            data,
            files: CommandFolder::new(),
            connections: Value::Null,
        };
        let form = connected.put("form.wasm", component("plugins/example-form.wasm"));
        let odd = connected.put("odd.wasm", phones("1.0.0").component());
        let service = &connected.service;
        for file in [form, odd] {
            service.run(&format!("plugin publish {file} --accept all"));
        }
        let file = connected.put("acme.toml", WORKSPACE);
        let report = service.json(&format!("apply {file}"));
        connected.connections = report["connections"].clone();
        connected
    }

    /// Writes a file. Returns its path.
    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.files.put(name, content);
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.files.path(name).display().to_string()
    }

    /// Sends a lead to a connection. Returns the delivery's id.
    async fn lead(&self, connection: &str, body: &Value) -> String {
        let path = format!("/ingest-lead/{}", self.connections[connection].text());
        let ask = self.service.ask("gateway", "POST", &path).json(body);
        let answer = ask.send().await.expect(200).json();
        answer["deliveryId"].text().to_owned()
    }

    /// Runs a command outside of the data folder, with the service's address and its key. Returns
    /// both outputs.
    #[track_caller]
    fn remote(&self, code: i32, arguments: &str) -> String {
        let at = if arguments.starts_with("plugin publish") {
            "--to"
        } else {
            "--on"
        };
        let key = std::fs::read_to_string(self.data.path().join("admin.key")).unwrap();
        let address = self.service.address("admin");
        let line = format!("{arguments} {at} http://{address} --admin-key {key}");
        self.files.ends(code, &line)
    }

    /// A delivery that the component fails on is shown with what it wrote, once for each reason.
    async fn shows_failures(&self, failing: Vec<u8>) {
        let failing = self.put("failing.wasm", failing);
        for _ in 0..2 {
            self.lead("trap", &json!({})).await;
        }
        let replay = format!("plugin test {failing} --here --connection trap");
        let out = self.remote(0, &replay);
        for part in ["The component fails on delivery ", "plugin: the last words"] {
            assert_eq!(out.matches(part).count(), 1, "{part}: {out}");
        }
    }

    fn count(&self, what: &str) -> usize {
        let list = self.service.json("plugin list");
        let plugins = list["plugins"].list();
        let found = plugins.iter().find(|one| one["name"] == what);
        found.unwrap()["versions"].list().len()
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

fn read_json(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

async fn a_delivery_becomes_a_golden_case_without_its_person(on: On) {
    let connected = Connected::start(&on);
    let id = connected.lead("form", &person()).await;
    let golden = connected.path("golden");
    let export = format!("delivery export {id} --golden {golden}");
    let masked = format!("{export}/masked");
    has!(connected.service.run(&masked), "Persons are masked");

    let body = connected.files.path("golden/masked/body.json");
    lacks!(std::fs::read_to_string(body).unwrap(), "Lia");
    // The case runs, and its output becomes the expectation.
    let wasm = connected.put("bare.wasm", guests::example_form());
    let test = format!("plugin test {wasm} --golden {golden}");
    connected.files.run(&format!("{test} --write"));
    connected.files.run(&test);

    // An existing case is not replaced, and another export has other persons.
    has!(connected.service.fail(&masked), "masked");
    connected.service.run(&format!("{export}/raw --raw"));
    let raw = connected.files.path("golden/raw/body.json");
    assert_eq!(read_json(raw), person());
}

async fn a_component_is_replayed_on_the_deliveries_of_a_service(on: On) {
    let connected = Connected::start(&on);
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(connected.lead("odd", &json!({ "n": number })).await);
    }
    connected.lead("form", &person()).await;
    let same = connected.put("same.wasm", phones("1.1.0").component());
    let replay = format!("plugin test {same} --here --connection odd");
    let same_results = "on 3 deliveries: 3 the same";
    has!(connected.remote(0, &replay), same_results);

    // The digest is the component's with its golden cases, as `plugin test` shows it.
    let form = connected.put("form.wasm", component("plugins/example-form.wasm"));
    let replay = format!("plugin test {form} --here --connection form");
    let replayed = connected.remote(0, &format!("{replay} --json"));
    let check = format!("plugin test {form} --json");
    let checked = connected.files.run(&check);
    let digest = |out: &str| {
        let line = out.lines().find(|line| line.starts_with("  \"digest\": "));
        line.map(str::to_owned)
    };
    assert!(digest(&checked).is_some(), "{checked}");
    assert_eq!(digest(&replayed), digest(&checked), "{replayed}");

    // The active version has no other beside it: its results are shown.
    let out = connected.remote(0, &replay);
    has!(
        out,
        "is the active version, so there is no other to compare it with",
        "1 delivery with 1 lead; 1 the same as in the service",
        "1 lead\n",
        "delivery show ID"
    );

    let without = phones("1.2.0").always("").component();
    let without = connected.put("without.wasm", without);
    let replay = format!("plugin test {without} --here --connection acme/odd --last 2");
    let out = connected.remote(1, &replay);
    has!(out, "phone: lost", "2 of 2 leads lose a phone");
    let out = connected.remote(1, &format!("{replay} --json"));
    has!(out, "\"compared\": 2");

    let failing = guests::misbehave_with_wasi();
    connected.shows_failures(failing).await;

    // The same in the service of the data folder, by the ids. Nothing was stored or activated.
    let cache = target().join("tmp/plugin-cache");
    let (id, cache) = (&ids[0], cache.display());
    let one = format!("plugin test {same} --on --here --delivery {id} --cache-dir {cache}");
    has!(connected.service.run(&one), "on 1 delivery: 1 the same");
    assert_eq!(connected.count("misbehave"), 1);
}

async fn deliveries_that_cannot_be_replayed_or_exported_are_named(on: On) {
    let connected = Connected::start(&on);
    let id = connected.lead("form", &person()).await;
    let nowhere = "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2";
    let form = connected.put("same.wasm", component("plugins/example-form.wasm"));
    let odd = connected.put("phones.wasm", phones("1.1.0").component());
    let other = guests::exporting("leadhost:converter/converter@2.0.0");
    let other = connected.put("other.wasm", other);
    let check = |component: &str, flags: &str, code: i32, part: &str| {
        let out = connected.remote(code, &format!("plugin test {component} --here {flags}"));
        has!(out, part; "{component} {flags}");
    };
    let of = |id: &str| format!("--delivery {id}");
    check(&form, &of(nowhere), 1, "1 delivery: not in the service");
    check(&odd, &of(&id), 1, "of another plugin than misbehave");
    check(&form, &of("17"), 2, "`17` is not the id");
    check(&form, "", 2, "--connection");
    check(&other, &of(&id), 1, "this host offers");
    check(&form, "--connection none", 1, "no connection `none`");

    let erase = "contact erase --workspace acme --email lia.campos@mail.example --yes";
    connected.service.run(erase);
    check(&form, &of(&id), 1, "not in the service, or erased");
    let case = connected.path("golden/none");
    for id in [&id, nowhere, "17"] {
        let export = format!("delivery export {id} --golden {case}");
        let said = format!("no delivery `{id}`");
        has!(connected.service.fail(&export), &said);
    }
}

async fn a_component_is_published_and_what_fails_changes_nothing(on: On) {
    let connected = Connected::start(&on);
    connected.lead("odd", &json!({})).await;
    let publish =
        |code: i32, arguments: &str| connected.remote(code, &format!("plugin publish {arguments}"));
    // It is no component: nothing is sent.
    let broken = connected.put("broken.wasm", "no component");
    has!(publish(1, &broken), "neither a component");

    // What only the service knows: the number of the active version, and its deliveries.
    let older = connected.put("older.wasm", phones("0.9.0").component());
    has!(publish(1, &older), "--accept older");
    let without = phones("1.1.0").always("").component();
    let lossy = connected.put("lossy.wasm", without);
    has!(publish(1, &lossy), "phone: lost", "--accept drift");
    let on = connected.remote(1, &format!("plugin test {lossy} --last 5"));
    has!(on, "phone: lost", "1 of 1 lead");
    assert_eq!(connected.count("misbehave"), 1, "nothing was changed");

    let better = connected.put("better.wasm", phones("1.2.0").component());
    let out = publish(0, &better);
    let rollback = "plugin rollback misbehave";
    has!(out, "misbehave 1.2.0 is active", rollback);
    let next = connected.put("canary.wasm", phones("1.2.1").component());
    has!(publish(0, &format!("{next} --rollout")), "candidate 1.2.1");
    connected.service.run("plugin rollout abort misbehave");

    // A case without an expectation gets the output, and the file is named.
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/golden-form/lead");
    let mut unwritten = read_json(own.join("case.json"));
    let expect = unwritten.as_object_mut().unwrap().remove("expect");
    let body = std::fs::read(own.join("body.json")).unwrap();
    connected.put("project/build/plugin.wasm", guests::example_form());
    connected.put("project/golden/lead/body.json", body);
    let case = "project/golden/lead/case.json";
    connected.put(case, unwritten.to_string());
    let project = connected.path("project");
    let out = publish(0, &format!("{project} --accept all"));
    has!(out, "golden/lead/case.json", "usable, 1 golden case passed");
    let written = read_json(connected.files.path(case));
    assert_eq!(written.get("expect"), expect.as_ref());

    // A key that may not activate.
    let viewer = "key create --kind admin --role viewer --label v";
    let key = connected.service.run(viewer);
    let key = key.lines().next().unwrap().trim();
    let next = connected.put("next.wasm", phones("1.3.0").component());
    let address = connected.service.address("admin");
    // It is another publisher too.
    let as_viewer = format!(
        "plugin publish {next} --to http://{address} --admin-key {key} --accept new-publisher"
    );
    has!(connected.files.ends(1, &as_viewer), "role viewer");
}

#[test]
fn a_key_goes_only_where_it_is_meant_to() {
    let folder = CommandFolder::new();
    let file = "a.wasm";
    folder.put(file, guests::misbehave());
    let key = PlainKey::generate(KeyKind::Admin).reveal().to_owned();
    // The key of this folder is for the service of this folder.
    folder.put("admin.key", &key);
    let check = |to: &str, code: i32, part: &str| {
        let said = folder.fail(code, &format!("plugin publish {file} --to {to}"));
        has!(said, part; "{to}");
    };
    let with_key = |to: &str| format!("{to} --admin-key {key}");
    check("127.0.0.1:1", 2, "no admin key for 127.0.0.1:1");
    check("127.0.0.1:1 --admin-key pk_1", 2, "not an admin key");
    let remote = with_key("http://10.0.0.7:8081");
    check(&remote, 2, "plain HTTP to another machine");
    check(&with_key("https://a/b"), 2, "is not an address");
    check(&with_key("127.0.0.1:1"), 1, "no service at 127.0.0.1:1");
}
