//! The program as an operator uses it: the service as a process, and the
//! commands against it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use leadhost_domain::plugin::Digest;
use leadhost_http::openapi;
use leadhost_http::surface::Surface;
use leadhost_tests::components::target;
use leadhost_tests::program::binary;
use leadhost_tests::service::{SERVE, command, leadhost, refused};
use leadhost_tests::{Json, On, Service, fields, figures, has, lacks, left_out};
use serde_json::{Value, json};
use tempfile::TempDir;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    the_quickstart_comes_up_takes_leads_and_keeps_everything_over_a_restart,
    the_quickstarts_commands_work_as_they_are,
    the_guides_commands_and_the_documents_examples_work_in_the_demo_workspace,
    the_keys_file_has_every_key_of_the_first_apply,
    every_command_works_against_a_running_service,
    a_refusal_says_what_to_do,
    a_release_that_releases_nothing_fails,
}

fn quickstart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/workspace.toml")
}

fn demo(on: &On, folder: &Path) -> Service {
    let inbox = target().join("plugins");
    let file = quickstart();
    Service::start_on(
        on,
        folder,
        &[
            "--inbox",
            inbox.to_str().unwrap(),
            "--first-apply",
            file.to_str().unwrap(),
        ],
    )
}

fn mapping() -> String {
    let component = target().join("plugins/converter-mapping.wasm");
    component.display().to_string()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn keys(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("keys.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Sends a portal's lead to the demo workspace, with the credentials from its
/// keys file.
async fn portal_lead(service: &Service, keys: &Value, id: &str) -> Value {
    let connection = keys["connections"]["portal"].text();
    let mut ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    for (name, value) in keys["connectionHeaders"]["portal"].as_object().unwrap() {
        ask = ask.header(name, value.text());
    }
    let lead = json!({"originLeadId": id, "clientListingId": "AP-0042", "name": "Ada Prado", "phoneNumber": "11987654321"});
    ask.json(&lead).send().await.expect(200).json()
}

async fn deals(service: &Service, keys: &Value) -> usize {
    let key = keys["workspaceKey"].text();
    let answer = service
        .ask("data", "GET", "/v1/export/deals")
        .header("authorization", &format!("Bearer {key}"))
        .send()
        .await;
    answer.expect(200).json()["data"].list().len()
}

async fn the_quickstart_comes_up_takes_leads_and_keeps_everything_over_a_restart(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    let made = keys(folder.path());
    for field in ["partnerKey", "workspaceKey", "accessToken", "adminKey"] {
        assert!(made[field].is_string(), "{field}");
    }
    let expect = "converted";
    assert_eq!(portal_lead(&service, &made, "1").await["status"], expect);
    assert_eq!(deals(&service, &made).await, 1);
    assert!(service.stop(), "it exits successfully");
    assert!(!folder.path().join("service.json").exists());

    let service = demo(&on, folder.path());
    assert_eq!(keys(folder.path()), made);
    assert_eq!(deals(&service, &made).await, 1);
    let expect = "duplicate";
    assert_eq!(portal_lead(&service, &made, "1").await["status"], expect);
    let log = service.log();
    for secret in [
        &made["adminKey"],
        &made["connectionSecrets"]["portal"]["basic"],
    ] {
        assert!(!log.contains(secret.as_str().unwrap()));
    }
}

async fn the_quickstarts_commands_work_as_they_are(on: On) {
    let there = |tool: &str| Command::new(tool).arg("--help").output().is_ok();
    if !there("curl") || !there("openssl") {
        left_out("the quickstart's commands need curl and openssl");
        return;
    }
    let folder = folder();
    let service = demo(&on, folder.path());
    // Known before the first greeting, even on a busy machine.
    service.run("instance sync-templates assistant");
    let tried = Command::new("sh")
        .arg(quickstart().with_file_name("try-it.sh"))
        .arg(folder.path().join("keys.json"))
        .arg(folder.path().join("service.json"))
        .arg(binary())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    // The lead of the lead form waits for its fetch.
    for (line, part) in ["converted", "queued", "converted", "Helena", "Demo", "Rui"]
        .iter()
        .enumerate()
    {
        has!(lines[line], part; "line {line}: {said}");
    }
    has!(said, "\"success\":true", "Olá Rui, aqui é da Vista");
    has!(said, "Helena, a sua visita a AP-0042");
    has!(said, "from +5521988887777", "Pode ser no sábado?");
    has!(said, "\"status\":\"answered\"", "Deal updated");
    has!(said, "stage_code", "\"name\":\"Nilda Prado\"");
}

/// The commands of the guide, as they are, with the values that it leaves out.
fn guide(service: &Service, keys: &Value) -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/partners.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let mut blocks = guide.split("\n```").skip(1).step_by(2);
    let variables = blocks.next().unwrap();
    has!(
        variables,
        "partner_key=pk_...",
        "connection=... form_token=..."
    );
    let mut script = format!(
        "curl() {{ command curl -sS --fail-with-body \"$@\"; }}\nurl=http://{} data_url=http://{}\n",
        service.address("gateway"),
        service.address("data"),
    );
    for (name, value) in [
        ("partner_key", &keys["partnerKey"]),
        ("token", &keys["accessToken"]),
        ("workspace_key", &keys["workspaceKey"]),
        ("connection", &keys["connections"]["site-form"]),
        (
            "form_token",
            &keys["connectionSecrets"]["site-form"]["token"],
        ),
    ] {
        script.push_str(&format!("{name}={}\n", value.text()));
    }
    for block in blocks.filter_map(|block| block.strip_prefix("sh\n")) {
        script.push_str(&format!("{block}\n"));
    }
    script
}

async fn the_guides_commands_and_the_documents_examples_work_in_the_demo_workspace(on: On) {
    if Command::new("curl").arg("--help").output().is_err() {
        left_out("the guide's commands need curl");
        return;
    }
    let folder = folder();
    let service = demo(&on, folder.path());
    service.run("instance sync-templates assistant");
    let keys = keys(folder.path());
    let mut script = guide(&service, &keys);
    assert!(script.matches("\ncurl ").count() > 15, "{script}");
    // Answers do not end their line.
    script.push_str("\nprintf '\\n%s %s\\n' \"$deal\" \"$ticket\"\n");
    let tried = Command::new("sh")
        .args(["-euxc", &script])
        .output()
        .unwrap();
    let (said, steps) = (
        String::from_utf8_lossy(&tried.stdout),
        String::from_utf8_lossy(&tried.stderr),
    );
    assert!(tried.status.success(), "{steps}\n{said}");
    has!(
        said,
        "\"status\":\"converted\"",
        "Vista Mar",
        "\"status\":\"resolved\""
    );
    let sent = service.run("outbox");
    let texts = sent.matches("Olá Helena, aqui é da Vista Imóveis").count();
    assert_eq!(texts, 3, "a greeting, and a message in each format: {sent}");
    let (deal, ticket) = said
        .lines()
        .last()
        .and_then(|ids| ids.split_once(' '))
        .unwrap();

    let document = openapi::document(Surface::Both);
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{dealId}", deal).replace("{id}", ticket);
        for (method, operation) in operations.as_object().unwrap() {
            let Some(scheme) = operation["security"][0].as_object() else {
                continue;
            };
            let key = keys[scheme.keys().next().unwrap()].text();
            let examples = &operation["requestBody"]["content"]["application/json"]["examples"];
            for (name, example) in examples.as_object().into_iter().flatten() {
                let ask = service.ask("gateway", &method.to_uppercase(), &path);
                let ask = if scheme.contains_key("partnerKey") {
                    ask.header("x-service-api-key", key)
                } else {
                    ask.header("authorization", &format!("Bearer {key}"))
                };
                let answer = ask.json(&example["value"]).send().await;
                assert!(
                    answer.status < 300,
                    "{path} {name}: {} {}",
                    answer.status,
                    answer.text()
                );
            }
        }
    }
}

/// Two partners with a key of each kind; no command shows the texts later.
const PARTNERS: &str = r#"
[workspace]
slug = "two"
name = "Two"
[[partners]]
name = "crm"
[[partners]]
name = "portal"
[[keys]]
kind = "workspace"
label = "export"
"#;

async fn the_keys_file_has_every_key_of_the_first_apply(on: On) {
    let folder = folder();
    let mut file = PARTNERS.to_owned();
    for partner in ["crm", "portal"] {
        for kind in ["partner", "access-token"] {
            file.push_str(&format!(
                "[[keys]]\nkind = \"{kind}\"\nlabel = \"{partner}\"\npartner = \"{partner}\"\n"
            ));
        }
    }
    let path = folder.path().join("two.toml");
    std::fs::write(&path, file).unwrap();
    let flags = ["--first-apply", path.to_str().unwrap()];
    let service = Service::start_on(&on, folder.path(), &flags);
    let made = keys(folder.path());
    assert_eq!(made["keys"].list().len(), 5);
    for key in made["keys"].list() {
        let (address, path) = match key["kind"].text() {
            "partner" => ("gateway", "/deal?email=ana@example.com"),
            "access-token" => ("gateway", "/tickets"),
            _ => ("data", "/v1/whoami"),
        };
        let bearer = format!("Bearer {}", key["key"].text());
        let ask = service
            .ask(address, "GET", path)
            .header("authorization", &bearer);
        let ask = ask.header("x-service-api-key", key["key"].text());
        ask.send().await.expect(200);
    }
    let listed = service.json("key list --workspace two");
    assert_eq!(listed["keys"].list().len(), 5, "{listed}");
}

#[test]
fn the_data_folder_is_readable_by_its_owner_only() {
    let folder = folder();
    // Its own, and not the one that all tests share.
    std::fs::create_dir(folder.path().join("compiled")).unwrap();
    let _service = demo(&On::Sqlite, folder.path());
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
    }
}

async fn every_command_works_against_a_running_service(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    let made = keys(folder.path());
    let answer = portal_lead(&service, &made, "1").await;
    let delivery = answer["deliveryId"].text();

    let check = |arguments: &str, part: &str| {
        has!(service.run(arguments), part; "{arguments}");
    };
    check("status", "grupo-olx");
    check("plugin list", "active");
    check("connection list", "/ingest-lead/");
    check("connection pause lead-form", "paused");
    check("connection list", "by an operator");
    check("connection resume demo/lead-form", "resumed");
    check("delivery list --connection portal", delivery);
    check(&format!("delivery list --find {delivery}"), delivery);
    check(&format!("delivery show {delivery}"), "Ada Prado");
    let replay = format!("delivery replay {delivery}");
    check(&replay, "converted");
    check(&replay, "\nNothing would change.\n");
    check(&format!("{replay} --apply"), "\nNothing changed.\n");
    check("delivery replay --failed", "nothing to replay");
    check("delivery replay --since 2020-01-01", "Replayed 1");
    check("key list", "export");
    check("workspace list", "America/Sao_Paulo");
    let owner = "owner add Olavo@example.com --name 'Olavo Sá' --workspace demo";
    check(owner, "Added olavo@example.com");
    check(owner, "No change");
    check("owner list --workspace demo", "Olavo Sá");
    let deal = answer["leads"][0]["dealId"].text();
    check(&format!("deal show {deal}"), "It has not been changed");
    check("instance list", "/channel-webhook/");
    check("instance sync-templates assistant", "2 of 2");
    check("instance show assistant", "visit_reminder");
    check("instance pause assistant", "sends nothing");
    check("instance list", "paused: by an operator");
    check("instance resume demo/assistant", "sends again");
    check("outbox", "No messages");
    let reply = "outbox reply +5511900000001 Oi --instance launches";
    check(reply, "converted");
    check("outbox list --state received", "from +5511900000001");
    let of_person = "outbox list --contact '+55 11 90000-0001'";
    check(of_person, "from +5511900000001");
    check("outbox list --contact another@example.com", "No messages");
    let listed = service.json("outbox");
    let message = listed["messages"][0]["id"].text();
    check(&format!("outbox status {message} read"), "Received as");
    check("delivery list --instance launches", "(instance ");
    let erase = "contact erase --phone +5511987654321 --workspace demo";
    check(&format!("{erase} --dry-run"), "WOULD BE REMOVED");
    check("contact erasures", "CONTACT");
    has!(refused(folder.path(), 2, erase), "--yes");
    let receipt = service.json(&format!("{erase} --yes"));
    assert_eq!(receipt["erased"]["deals"], 1, "{receipt}");
    let erased = receipt["contactId"].text();
    let again = format!("contact erase --yes {erased}");
    check(&again, "\nby key        admin.key\n");
    check("contact erasures", erased);
    let answer = portal_lead(&service, &made, "2").await;
    let deal = answer["leads"][0]["dealId"].text();
    refused(folder.path(), 2, &format!("deal remove {deal}"));
    check(&format!("deal remove {deal} --yes"), "Removed deal");
    products_go_and_unknown_ones_are_named(&service, folder.path());
    for (kind, prefix) in [("workspace", "mk_"), ("access-token --partner crm", "at_")] {
        let key = service.run(&format!("key create --workspace demo --kind {kind}"));
        assert!(key.starts_with(prefix), "{kind}: {key}");
    }
    let file = quickstart().display().to_string();
    check(&format!("apply {file} --dry-run"), "is as declared");
    check(&format!("apply {file}"), "/ingest-lead/");
    let mapping = mapping();
    let alone = "is the active version, so there is nothing to compare";
    check(&format!("plugin test {mapping} --on"), alone);
    let listed = service.json("plugin list");
    fields!(listed, {"plugins.0.versions.0.state": "active"});
    let digest = listed["plugins"][0]["digest"].text();
    let impact = format!("plugin impact mapping@{digest}");
    has!(service.fail(&impact), "no version");
    let own = |name: &str| folder.path().join(name).display().to_string();
    let (key, signed) = (own("signing.pem"), own("signed.wasm"));
    let keygen = format!("plugin keygen {key}");
    check(&keygen, "ed25519:");
    has!(service.fail(&keygen), "already exists");
    let sign = format!("plugin publish {mapping} --key {key} -o {signed}");
    check(&sign, " and is signed by ed25519:");
    let another = "belongs to the inbox, but this version comes from the signing key";
    has!(service.fail(&format!("plugin test {signed} --on")), another);
    the_folder_of_another_project_is_refused(&service, folder.path(), &signed);
    check("connection list", "checked");
    a_repair_is_followed_shown_and_undone(&service, folder.path(), &key);
}

/// The file of the project names another plugin than the one that is built: nothing is verified or activated.
fn the_folder_of_another_project_is_refused(service: &Service, folder: &Path, built: &str) {
    let project = folder.join("ana");
    let build = project.join("build");
    std::fs::create_dir_all(&build).unwrap();
    std::fs::copy(built, build.join("plugin.wasm")).unwrap();
    let lock = "name = \"ana\"\nkind = \"converter\"\nbuild = [\"true\"]\n";
    std::fs::write(project.join("leadhost.toml"), lock).unwrap();
    let project = project.display();
    for command in [format!("test {project} --on"), format!("publish {project}")] {
        let said = service.fail(&format!("plugin {command}"));
        let differs = "`name` is \"ana\", but the plugin that the project builds has \"mapping\"";
        has!(said, differs; "{command}");
    }
    let shadow = format!("plugin rollout start {project} --shadow");
    has!(refused(folder, 2, &shadow), "is a folder", "plugin publish");
}

/// Another version of the portal's converter repairs what the first one converted.
fn a_repair_is_followed_shown_and_undone(service: &Service, folder: &Path, key: &str) {
    let portal = target().join("plugins/converter-grupo-olx.wasm");
    let Digest(first) = Digest::compute(&std::fs::read(&portal).unwrap());
    let (portal, signed) = (portal.display(), folder.join("portal.wasm"));
    let signed = signed.display();
    service.run(&format!("plugin publish {portal} --key {key} -o {signed}"));
    let replay = format!("delivery replay --converted-by {first}");
    has!(service.fail(&replay), "activate another version first");
    let accept = "--accept new-publisher --accept same-version";
    service.run(&format!("plugin publish {signed} {accept}"));
    let unsigned = service.fail(&format!("plugin test {portal} --on"));
    has!(unsigned, "belongs to the signing key");
    service.run(&format!("plugin test {portal} --on --key {key}"));
    has!(service.run(&replay), "It would change");
    let applied = service.run(&format!("{replay} --apply"));
    has!(applied, "Replayed 1 of 1 delivery");
    let repairs = service.json("repair list");
    let id = repairs["repairs"][0]["id"].text();
    has!(service.run("repair list"), id);
    has!(service.run(&format!("repair show {id}")), "converted: done");
    service.run(&format!("repair show {id} --changes"));
    let ended = service.fail(&format!("repair cancel {id}"));
    has!(ended, "only a repair or an undo that is under way");
    let undo = format!("repair undo {id}");
    has!(service.run(&undo), "converted: undone");
    has!(service.fail(&undo), "a repair can be undone only once");
}

#[track_caller]
fn products_go_and_unknown_ones_are_named(service: &Service, folder: &Path) {
    let homes = folder.join("homes.csv");
    std::fs::write(&homes, "externalId,name\nA,Casa azul\nB,Casa verde\n").unwrap();
    let homes = homes.display();
    service.run(&format!("products import {homes} --workspace demo"));
    let remove = "products remove A NOPE B A NOPE --workspace demo";
    refused(folder, 2, remove);
    let answer = leadhost(folder, &format!("{remove} --yes --json"));
    assert_eq!(answer.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let removed = json!({"workspace": "demo", "removed": ["A", "B"], "unknown": ["NOPE"]});
    assert_eq!(said, removed);
    has!(String::from_utf8_lossy(&answer.stderr), "no product `NOPE`");
    let again = service.fail(&format!("{remove} --yes"));
    has!(again, "nothing was removed");
}

#[test]
fn a_data_folder_that_others_may_use_is_refused() {
    let outer = folder();
    let data = outer.path().join("lo ose");
    std::fs::create_dir(&data).unwrap();
    for mode in [0o755, 0o770, 0o701] {
        let mut serve = command(&data, "serve");
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
        let started = serve.output().unwrap();
        assert_eq!(started.status.code(), Some(1));
        let said = String::from_utf8_lossy(&started.stderr);
        let mends = format!("chmod 700 '{}'", data.display());
        has!(said, &mends);
        assert_eq!(
            std::fs::read_dir(&data).unwrap().count(),
            0,
            "nothing is in it"
        );
    }
}

async fn a_release_that_releases_nothing_fails(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    for release in ["delivery release --all", "delivery release --all --dry-run"] {
        has!(service.run(release), "nothing to release");
    }
    let made = keys(folder.path());
    let connection = made["connections"]["portal"].text();
    let ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    ask.json(&json!({})).send().await.expect(401);
    let failed = service.fail("delivery release --all");
    has!(failed, "1 stays in quarantine");
}

async fn a_refusal_says_what_to_do(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    let check = |arguments: &str, parts: &[&str]| {
        let said = service.fail(arguments);
        for part in parts {
            has!(said, part; "{arguments}");
        }
    };
    let file = folder.path().join("broken.toml");
    let broken = r#"
[workspace]
slug = "demo"
[[connections]]
name = "a"
partner = "crm"
plugin = "nope"
secrets = { t = "env:LEADHOST_TEST_NOT_SET" }
"#;
    std::fs::write(&file, broken).unwrap();
    let file = file.display();
    check(
        &format!("apply {file}"),
        &[
            "workspace.name: is missing",
            "connections[0].secrets.t: the environment variable LEADHOST_TEST_NOT_SET is not set",
            "no converter `nope` is active; active are",
            "nothing was changed",
        ],
    );
    check("plugin rollback mapping", &["was active before"]);
    check(
        &format!("plugin publish {file}"),
        &["neither a component nor a core module"],
    );
    let deliveries = "`leadhost delivery list`";
    check("delivery show 17", &["no delivery `17`", deliveries]);
    let shows = "`leadhost delivery show`";
    check("deal show 17", &["no deal `17`", shows]);
    check("deal remove 17 --yes", &["no deal `17`", shows]);
    let lists = "`leadhost repair list`";
    check("repair show 17", &["no repair `17`", lists]);
    let versions = ["no version `9.9.9`", "`leadhost plugin list`"];
    check("delivery replay --converted-by 9.9.9", &versions);
    check("key revoke 17", &["`leadhost key list`"]);
    let workspaces = ["`leadhost workspace list`"];
    check("key list --workspace nope", &workspaces);
    check("products remove A --workspace nope --yes", &workspaces);
    check("owner list --workspace nope", &workspaces);
    let whom = "contact erase --yes --workspace demo --email nobody@example.com";
    check(whom, &["There is no such contact"]);
    check("instance show nobody", &["`leadhost instance list`"]);
    check("outbox resolve 17 --give-up", &["no message `17`"]);
    std::fs::write(folder.path().join("admin.key"), leadhost_key()).unwrap();
    check("status", &["not valid at this service", "--data-dir"]);
}

#[test]
fn a_value_that_the_service_refuses_is_wrong_usage_and_named_as_it_was_typed() {
    let folder = folder();
    let _service = demo(&On::Sqlite, folder.path());
    let check = |arguments: &str, part: &str| {
        has!(refused(folder.path(), 2, arguments), part; "{arguments}");
    };
    let no_status = "`--status nosuch` is not a status";
    check("delivery list --status nosuch", no_status);
    let no_time = "`--since yesterday` is not a time";
    check("delivery list --since yesterday", no_time);
    check("delivery replay --since yesterday", no_time);
    check("outbox --state nosuch", "`--state nosuch` is not a state");
    check("outbox status 17 nosuch", "`nosuch` is not a status");
    check("outbox reply 17 Oi", "neither a message's id nor a phone");
    check("plugin publish mapping@zz", "too short for a digest");
    check("etl rebuild --set nosuch", "no metric set `nosuch`");
    let phone = "contact erase --yes --workspace demo --phone notaphone";
    check(phone, "`--phone` is not a number");
    let email = "owner add olavo --name O --workspace demo";
    check(email, "EMAIL: `olavo`: expected an e-mail address");
    let no_act = "`--what nosuch` is not an act; there are apply,";
    check("audit --what nosuch", no_act);
    check("key create --kind partner", "--workspace <SLUG>");
    let no_partner = "key create --kind access-token --workspace demo";
    check(no_partner, "--partner <NAME>");
    let no_need = "key create --kind admin --workspace demo";
    check(no_need, "takes no workspace");
    let mapping = mapping();
    check(
        &format!("plugin test {mapping} --on --last 0"),
        "`--last 0`",
    );
    let word = format!("plugin publish {mapping} --accept nosuch");
    check(&word, "`nosuch` cannot be accepted");
}

#[test]
fn a_component_and_a_folder_of_cases_that_are_missing_are_named() {
    let folder = folder();
    let own = |name: &str| folder.path().join(name).display().to_string();
    let (component, golden) = (own("a.wasm"), own("golden"));
    let pack = || {
        let pack = format!("plugin publish {component} --golden {golden} -o b");
        refused(folder.path(), 1, &pack)
    };
    let said = pack();
    has!(said, &format!("cannot read {component}"));
    lacks!(said, "NAME@DIGEST");
    std::fs::write(&component, "any bytes").unwrap();
    has!(pack(), &format!("no folder {golden}"));
}

/// A well-formed admin key that no service has made.
fn leadhost_key() -> String {
    use leadhost_domain::key::{KeyKind, PlainKey};
    PlainKey::generate(KeyKind::Admin).reveal().to_owned()
}

#[test]
fn without_a_service_a_command_says_how_to_start_one() {
    let folder = folder();
    let there = "status --admin 127.0.0.1:1";
    let said = |code: i32, arguments: &str| refused(folder.path(), code, arguments);
    has!(said(1, "status"), "no service runs on", "leadhost serve");
    let new_key = "`leadhost serve --new-admin-key`";
    has!(said(1, there), "no admin key", new_key);
    std::fs::write(folder.path().join("admin.key"), leadhost_key()).unwrap();
    has!(said(1, there), "no service at", "leadhost serve");
    let other = said(2, "status --admin http://10.0.0.7:8081");
    has!(other, "plain HTTP to another machine", "LEADHOST_ADMIN_KEY");
}

#[test]
fn the_key_of_a_folder_is_sent_only_to_the_service_of_that_folder() {
    let folder = folder();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("admin.key"), leadhost_key()).unwrap();
    // Another program has the address of the configuration.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let address = other.local_addr().unwrap();
    let configured = |data: &Path| {
        let file = folder.path().join("leadhost.toml");
        let text = format!(
            "[server]\nadmin_listen = \"{address}\"\n[store]\ndata_dir = {:?}\n",
            data.display().to_string()
        );
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let file = configured(&data);
    for named in [false, true] {
        let mut command = command(&data, &format!("status --config {file}"));
        if !named {
            command.env_remove("LEADHOST_DATA_DIR");
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        let nowhere = format!("no service runs on {}", data.display());
        has!(said, &nowhere);
    }
    let called = other.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(called, Err(std::io::ErrorKind::WouldBlock));
    drop(other);

    // A service elsewhere: no folder is named, and the configured one is not here.
    let file = configured(&folder.path().join("elsewhere"));
    let mut remote = command(&data, &format!("status --config {file}"));
    remote.env_remove("LEADHOST_DATA_DIR");
    let output = remote.env("LEADHOST_ADMIN_KEY", leadhost_key()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    has!(said, &format!("no service at {address}"));
}

/// Listens at an address, or at a free one, and passes what clients send on to `service`, or answers it like a
/// liveness probe. Returns its address, and what clients have sent when it has served one.
fn impostor(at: &str, service: Option<SocketAddr>) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = std::net::TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut upstream = service.map(|service| TcpStream::connect(service).unwrap());
        if let Some(upstream) = &upstream {
            let (mut from, mut to) = (upstream.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
        let (mut sent, mut part) = (Vec::new(), [0; 4_096]);
        while let Ok(length @ 1..) = client.read(&mut part) {
            sent.extend_from_slice(&part[..length]);
            let _ = match &mut upstream {
                Some(upstream) => upstream.write_all(&part[..length]),
                None => client.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{\"status\":\"live\"}",
                ),
            };
        }
        sent
    };
    (address, std::thread::spawn(serve))
}

#[test]
fn no_program_but_the_service_of_the_folder_gets_its_key() {
    let folder = folder();
    let mut service = Service::start(folder.path(), &[]);
    let own = service.address("admin");
    service.run(&format!("status --admin {own}"));
    let check = |arguments: &str, asked: JoinHandle<Vec<u8>>| {
        let said = refused(folder.path(), 1, arguments);
        has!(said, "no key was sent", "ss -ltnp"; "{arguments}");
        let sent = String::from_utf8(asked.join().unwrap()).unwrap();
        has!(sent, "GET /health/live");
        lacks!(sent.to_lowercase(), "authorization", "ak_");
    };
    // A program that passes everything on to the running service.
    let (relay, asked) = impostor("127.0.0.1:0", Some(own));
    check(&format!("status --admin {relay}"), asked);

    // One at the address of a service that was killed, and one of another folder there.
    service.kill();
    let (_, asked) = impostor(&own.to_string(), None);
    check("status", asked);
    let other = self::folder();
    let other = Service::start(other.path(), &[]);
    let (_, asked) = impostor(&own.to_string(), Some(other.address("admin")));
    check("status", asked);
}

#[test]
fn a_service_that_is_ready_takes_commands() {
    let folder = folder();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let listen = address.to_string();
    let starting = command(
        folder.path(),
        &[
            "serve",
            "--listen",
            &listen,
            "--admin-listen",
            "127.0.0.1:0",
        ],
    )
    .stderr(Stdio::null())
    .spawn();
    let mut starting = starting.unwrap();
    let is_ready = || {
        let mut stream = TcpStream::connect(address).ok()?;
        stream
            .write_all(b"GET /health/ready HTTP/1.0\r\nhost: a\r\n\r\n")
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.contains(" 200 ").then_some(())
    };
    while is_ready().is_none() {
        assert!(starting.try_wait().unwrap().is_none(), "it ended");
        std::thread::yield_now();
    }
    let status = leadhost(folder.path(), "status");
    starting.kill().unwrap();
    starting.wait().unwrap();
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stderr)
    );
}

#[test]
fn wrong_usage_ends_with_two_and_the_defaults_are_printed() {
    let folder = folder();
    for arguments in [
        "nope",
        "delivery replay",
        "delivery replay --failed --field phone",
        "delivery replay --converted-by 1.0.0 --failed",
        "delivery replay --converted-by 1 --field x",
        "repair show",
        "outbox resolve 17",
        "outbox resolve --all",
        "outbox resolve 17 --all --give-up",
        "outbox resolve 17 --yes --give-up",
        "key create --kind root",
        "key create --kind partner",
        "serve --set nonsense",
        "serve --set nonsense=1",
        "serve --set worker.speed=3",
        "serve --set worker.concurrency=many",
        "serve --set retention.deliveries_days=0",
        "serve --set log.filter=leadhost=loud",
        "serve --set log.format=xml",
        "serve --set server.public_url=foo",
        "serve --set server.tls_key=key.pem",
        "serve --listen 8080",
        "serve --listen nonsense",
        "serve --store-url mysql://db.example.com/leads",
        "serve --store-url postgres://db.example.com:port/leads",
        "serve --store-url postgres://db.example.com/leads?nosuch=1",
        "backup copy.db --store-url nonsense",
        "status --admin-key ak_bad",
        "contact erase --yes --workspace demo",
    ] {
        refused(folder.path(), 2, arguments);
    }
    let made = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(made, 0, "it is refused before anything is made");
    let output = leadhost(folder.path(), "config");
    assert!(String::from_utf8_lossy(&output.stdout).contains("[server]"));
}

#[test]
fn a_mistake_in_the_configuration_file_is_a_failure_that_names_file_and_key() {
    let folder = folder();
    let file = folder.path().join("leadhost.toml");
    std::fs::write(&file, "[worker]\nconcurrency = \"many\"\n").unwrap();
    let (file, copy) = (file.display(), folder.path().join("copy.db"));
    let backup = format!("backup {}", copy.display());
    let named = format!(
        "worker.concurrency in {file} is \"many\": expected a whole number from 0 to 4294967295"
    );
    for command in ["serve", &backup, "status"] {
        let said = refused(folder.path(), 1, &format!("{command} --config {file}"));
        has!(said, &named; "{command}");
    }
}

#[test]
fn a_command_in_a_message_repeats_the_flags_that_lead_to_the_service() {
    let folder = folder();
    let service = Service::start(folder.path(), &[]);
    let data = folder.path().to_str().unwrap();
    let check = |arguments: &str, named: &str| {
        let mut command = command(folder.path(), &format!("{arguments} --data-dir {data}"));
        // A flag that has its value from the environment is not repeated.
        command.env_remove("LEADHOST_DATA_DIR");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        has!(said, &format!("`leadhost {named} --data-dir {data}`"); "{arguments}");
    };
    check("status", "plugin publish FILE");
    // The service itself names this one.
    check("outbox resolve 17 --give-up", "outbox");
    check("plugin impact mapping", "plugin list");
    check("status --admin 127.0.0.1:1", "serve");
    let said = service.fail("outbox resolve 17 --give-up");
    has!(said, "`leadhost outbox`");
}

#[test]
fn a_folder_is_served_by_one_process_and_with_its_own_sealing_key() {
    const OPENERS: usize = 20;
    let (served, copied) = (folder(), folder());
    let (folder, copy) = (served.path(), copied.path());
    let first = demo(&On::Sqlite, folder);
    let refused = |folder: &Path, part: &str| {
        let arguments = "serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";
        has!(self::refused(folder, 1, arguments), part);
    };
    std::thread::scope(|scope| {
        for _ in 0..OPENERS {
            scope.spawn(|| refused(folder, "served by another process"));
        }
    });
    first.run("delivery list");
    first.run(&["backup", copy.join("leadhost.db").to_str().unwrap()]);
    assert!(first.stop());
    let figure = format!(
        "{OPENERS} processes open a file that one already serves: all {OPENERS} are refused, and that one keeps running"
    );
    figures::record("second", Some(&On::Sqlite), None, &figure);

    // The copy alone, in a folder that had no key: none is made.
    let (key, id) = (copy.join("sealing.key"), copy.join("sealing.id"));
    refused(copy, "there is no key: restore");
    assert!(!key.exists() && !id.exists());
    std::fs::write(&key, format!("{}=", "A".repeat(43))).unwrap();
    refused(copy, "put the right key there");
    assert!(!id.exists());
    // The key of its secrets, beside the note of another store.
    std::fs::copy(folder.join("sealing.key"), &key).unwrap();
    std::fs::write(&id, "0123456789abcdef\n").unwrap();
    refused(copy, "sealing.id names key 0123456789abcdef");
    std::fs::remove_file(&id).unwrap();
    assert!(Service::start(copy, &[]).stop());

    std::fs::remove_file(folder.join("sealing.key")).unwrap();
    refused(folder, "restore");
    // If the key is lost for ever, the service starts only with `--new-sealing-key`.
    assert!(Service::start(folder, &["--new-sealing-key"]).stop());
    assert!(folder.join("sealing.key").exists());
    // From now on the service needs the new key, even before a secret was applied again.
    assert!(Service::start(folder, &[]).stop());
    std::fs::remove_file(folder.join("sealing.key")).unwrap();
    refused(folder, "restore");
}

#[test]
fn a_store_without_secrets_is_bound_to_its_first_sealing_key() {
    let folder = folder();
    assert!(Service::start(folder.path(), &[]).stop());
    let (key, id) = (
        folder.path().join("sealing.key"),
        folder.path().join("sealing.id"),
    );
    let first = std::fs::read(&key).unwrap();
    std::fs::write(&key, format!("{}=", "A".repeat(43))).unwrap();
    std::fs::remove_file(&id).unwrap();
    let refused = leadhost(folder.path(), &SERVE);
    assert_eq!(refused.status.code(), Some(1));
    has!(
        String::from_utf8_lossy(&refused.stderr),
        "put the right key there"
    );
    assert!(!id.exists());
    std::fs::write(&key, first).unwrap();
    assert!(Service::start(folder.path(), &[]).stop());
}

#[test]
fn a_stop_leaves_the_addresses_that_another_process_wrote() {
    let folder = folder();
    let file = folder.path().join("service.json");
    let service = Service::start(folder.path(), &[]);
    std::fs::write(&file, "{}").unwrap();
    assert!(service.stop());
    assert!(file.exists());
}
