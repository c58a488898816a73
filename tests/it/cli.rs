//! The program as an operator uses it: the service as a process, and the
//! commands against it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use leadhost_domain::plugin::Digest;
use leadhost_tests::components::target;
use leadhost_tests::program::binary;
use leadhost_tests::service::{command, leadhost};
use leadhost_tests::{On, Service, figures, left_out};
use serde_json::{Value, json};
use tempfile::TempDir;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    the_quickstart_comes_up_takes_leads_and_keeps_everything_over_a_restart,
    the_quickstarts_commands_work_as_they_are,
    the_guides_first_messages_go_out_in_the_demo_workspace,
    every_command_works_against_a_running_service,
    a_refusal_says_what_to_do,
    a_release_that_releases_nothing_fails,
}

fn quickstart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/workspace.toml")
}

/// The quickstart's service, in its own data folder.
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
    let connection = keys["connections"]["portal"].as_str().unwrap();
    let mut ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    for (name, value) in keys["connectionHeaders"]["portal"].as_object().unwrap() {
        ask = ask.header(name, value.as_str().unwrap());
    }
    let lead = json!({"originLeadId": id, "clientListingId": "AP-0042", "name": "Ada Prado", "phoneNumber": "11987654321"});
    ask.json(&lead).send().await.expect(200).json()
}

async fn deals(service: &Service, keys: &Value) -> usize {
    let key = keys["workspaceKey"].as_str().unwrap();
    let answer = service
        .ask("data", "GET", "/v1/export/deals")
        .header("authorization", &format!("Bearer {key}"))
        .send()
        .await;
    answer.expect(200).json()["data"].as_array().unwrap().len()
}

async fn the_quickstart_comes_up_takes_leads_and_keeps_everything_over_a_restart(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    let made = keys(folder.path());
    for field in ["partnerKey", "workspaceKey", "accessToken", "adminKey"] {
        assert!(made[field].is_string(), "{field}");
    }
    assert_eq!(
        portal_lead(&service, &made, "1").await["status"],
        "converted"
    );
    assert_eq!(deals(&service, &made).await, 1);
    assert!(service.stop(), "it exits successfully");
    assert!(!folder.path().join("service.json").exists());

    let service = demo(&on, folder.path());
    assert_eq!(keys(folder.path()), made);
    assert_eq!(deals(&service, &made).await, 1);
    assert_eq!(
        portal_lead(&service, &made, "1").await["status"],
        "duplicate"
    );
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
    service.run(&["instance", "sync-templates", "assistant"]);
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
        assert!(lines[line].contains(part), "line {line}: {said}");
    }
    for part in [
        "\"success\":true",
        "Olá Rui, aqui é da Vista",
        "Helena, a sua visita a AP-0042",
        "from +5521988887777",
        "Pode ser no sábado?",
        "\"status\":\"answered\"",
        "Deal updated",
        "stage_code",
        "\"name\":\"Nilda Prado\"",
    ] {
        assert!(said.contains(part), "no `{part}`: {said}");
    }
}

async fn the_guides_first_messages_go_out_in_the_demo_workspace(on: On) {
    if Command::new("curl").arg("--help").output().is_err() {
        left_out("the guide's commands need curl");
        return;
    }
    let folder = folder();
    let service = demo(&on, folder.path());
    service.run(&["instance", "sync-templates", "assistant"]);
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/partners.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, messages) = guide.split_once("\n## Messages\n").unwrap();
    let (messages, _) = messages.split_once("\n## ").unwrap();
    let mut blocks = messages.split("\n```").skip(1).step_by(2);
    let commands: Vec<_> = blocks
        .by_ref()
        .map_while(|block| block.strip_prefix("sh\n"))
        .collect();
    assert_eq!(commands.len(), 2, "one for each format");
    let key = keys(folder.path())["partnerKey"].clone();
    for command in &commands {
        let tried = Command::new("sh")
            .args(["-c", command])
            .env("url", format!("http://{}", service.address("gateway")))
            .env("partner_key", key.as_str().unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&tried.stdout);
        assert!(said.contains("\"success\":true"), "{command}: {said}");
    }
    let sent = service.run(&["outbox"]);
    let texts = sent.matches("Olá Helena, aqui é da Vista Imóveis").count();
    assert_eq!(texts, commands.len(), "{sent}");
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
    let delivery = answer["deliveryId"].as_str().unwrap();

    let check = |arguments: &[&str], part: &str| {
        let said = service.run(arguments);
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    check(&["status"], "grupo-olx");
    check(&["plugin", "list"], "active");
    check(&["connection", "list"], "/ingest-lead/");
    check(&["connection", "pause", "lead-form"], "paused");
    check(&["connection", "list"], "by an operator");
    check(&["connection", "resume", "demo/lead-form"], "resumed");
    check(&["delivery", "list", "--connection", "portal"], delivery);
    check(&["delivery", "list", "--find", delivery], delivery);
    check(&["delivery", "show", delivery], "Ada Prado");
    check(&["delivery", "replay", delivery], "converted");
    check(
        &["delivery", "replay", delivery],
        "\nNothing would change.\n",
    );
    check(
        &["delivery", "replay", delivery, "--apply"],
        "\nNothing changed.\n",
    );
    check(&["delivery", "replay", "--failed"], "nothing to replay");
    check(
        &["delivery", "replay", "--since", "2020-01-01"],
        "Replayed 1",
    );
    check(&["key", "list"], "export");
    check(&["workspace", "list"], "America/Sao_Paulo");
    let owner = ["owner", "add", "Olavo@example.com", "--name", "Olavo Sá"];
    let of_demo = ["--workspace", "demo"];
    check(&[&owner[..], &of_demo].concat(), "Added olavo@example.com");
    check(&[&owner[..], &of_demo].concat(), "No change");
    check(&[&["owner", "list"][..], &of_demo].concat(), "Olavo Sá");
    let deal = answer["leads"][0]["dealId"].as_str().unwrap();
    check(&["deal", "show", deal], "It has not been changed");
    check(&["instance", "list"], "/channel-webhook/");
    check(&["instance", "sync-templates", "assistant"], "2 of 2");
    check(&["instance", "show", "assistant"], "visit_reminder");
    check(&["instance", "pause", "assistant"], "sends nothing");
    check(&["instance", "list"], "paused: by an operator");
    check(&["instance", "resume", "demo/assistant"], "sends again");
    check(&["outbox"], "No messages");
    let reply = ["outbox", "reply", "+5511900000001", "Oi"];
    check(
        &[&reply[..], &["--instance", "launches"]].concat(),
        "converted",
    );
    check(
        &["outbox", "list", "--state", "received"],
        "from +5511900000001",
    );
    let of_person = ["outbox", "list", "--contact"];
    let check_person = |person, expect| check(&[&of_person[..], &[person]].concat(), expect);
    check_person("+55 11 90000-0001", "from +5511900000001");
    check_person("another@example.com", "No messages");
    let listed: Value = serde_json::from_str(&service.run(&["outbox", "--json"])).unwrap();
    let message = listed["messages"][0]["id"].as_str().unwrap();
    check(&["outbox", "status", message, "read"], "Received as");
    check(
        &["delivery", "list", "--instance", "launches"],
        "(instance ",
    );
    let erase = ["contact", "erase", "--phone", "+5511987654321"];
    let erase = [&erase[..], &of_demo].concat();
    check(&[&erase[..], &["--dry-run"]].concat(), "WOULD BE REMOVED");
    check(&["contact", "erasures"], "CONTACT");
    let unasked = leadhost(folder.path(), &erase);
    assert_eq!(unasked.status.code(), Some(2));
    let unasked = String::from_utf8_lossy(&unasked.stderr);
    assert!(unasked.contains("--yes"), "{unasked}");
    let receipt = service.run(&[&erase[..], &["--yes", "--json"]].concat());
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["erased"]["deals"], 1, "{receipt}");
    let again = ["contact", "erase", "--yes"];
    let erased = receipt["contactId"].as_str().unwrap();
    check(
        &[&again[..], &[erased]].concat(),
        "\nby key        admin.key\n",
    );
    check(
        &["contact", "erasures"],
        receipt["contactId"].as_str().unwrap(),
    );
    let answer = portal_lead(&service, &made, "2").await;
    let deal = answer["leads"][0]["dealId"].as_str().unwrap();
    let unasked = leadhost(folder.path(), &["deal", "remove", deal]);
    assert_eq!(unasked.status.code(), Some(2));
    check(&["deal", "remove", deal, "--yes"], "Removed deal");
    products_go_and_unknown_ones_are_named(&service, folder.path());
    let create = [
        "key",
        "create",
        "--kind",
        "workspace",
        "--workspace",
        "demo",
    ];
    assert!(service.run(&create).starts_with("mk_"));
    let token = [
        "key",
        "create",
        "--kind",
        "access-token",
        "--partner",
        "crm",
    ];
    let token = service.run(&[&token[..], &of_demo].concat());
    assert!(token.starts_with("at_"), "{token}");
    let file = quickstart();
    let file = file.to_str().unwrap();
    check(&["apply", file, "--dry-run"], "is as declared");
    check(&["apply", file], "/ingest-lead/");
    let mapping = target().join("plugins/converter-mapping.wasm");
    check(&["plugin", "check", mapping.to_str().unwrap()], "usable");
    check(
        &["plugin", "verify", mapping.to_str().unwrap()],
        "is the active version, so there is nothing to compare",
    );
    let digest = service.run(&["plugin", "list", "--json"]);
    let digest: Value = serde_json::from_str(&digest).unwrap();
    let digest = digest["plugins"][0]["digest"].as_str().unwrap();
    let impact = service.fail(&["plugin", "impact", &format!("mapping@{digest}")]);
    assert!(impact.contains("no version"), "{impact}");
    let key = folder.path().join("signing.pem");
    let key = key.to_str().unwrap();
    check(&["plugin", "keygen", key], "ed25519:");
    let again = service.fail(&["plugin", "keygen", key]);
    assert!(again.contains("already exists"), "{again}");
    let signed = folder.path().join("signed.wasm");
    let signed = signed.to_str().unwrap();
    let mapping = mapping.to_str().unwrap();
    check(
        &["plugin", "sign", mapping, "--key", key, "-o", signed],
        "is signed by ed25519:",
    );
    check(
        &["plugin", "check", signed],
        "activating it needs --accept new-publisher",
    );
    the_folder_of_another_project_is_refused(&service, folder.path(), signed);
    check(&["connection", "list"], "checked");
    let listed: Value = serde_json::from_str(&service.run(&["plugin", "list", "--json"])).unwrap();
    assert_eq!(listed["plugins"][0]["versions"][0]["state"], "active");
    a_repair_is_followed_shown_and_undone(&service, folder.path(), key);
}

/// The file of the project names another plugin than the one that is built: nothing is verified or activated.
fn the_folder_of_another_project_is_refused(service: &Service, folder: &Path, built: &str) {
    let project = folder.join("ana");
    let build = project.join("build");
    std::fs::create_dir_all(&build).unwrap();
    std::fs::copy(built, build.join("plugin.wasm")).unwrap();
    let lock = "name = \"ana\"\nkind = \"converter\"\nbuild = [\"true\"]\n";
    std::fs::write(project.join("leadhost.lock"), lock).unwrap();
    let project = project.to_str().unwrap();
    for command in [
        &["plugin", "verify", project][..],
        &["plugin", "activate", project, "--accept", "all"],
        &["plugin", "shadow", project, "--for", "1h"],
    ] {
        let said = service.fail(command);
        for part in [
            "`name` is \"ana\", but the plugin that the project builds has \"mapping\"",
            "nothing was changed",
        ] {
            assert!(said.contains(part), "{command:?}: {said}");
        }
    }
}

/// Another version of the portal's converter repairs what the first one converted.
fn a_repair_is_followed_shown_and_undone(service: &Service, folder: &Path, key: &str) {
    let portal = target().join("plugins/converter-grupo-olx.wasm");
    let Digest(first) = Digest::compute(&std::fs::read(&portal).unwrap());
    let portal = portal.to_str().unwrap();
    let signed = folder.join("portal.wasm");
    let signed = signed.to_str().unwrap();
    service.run(&["plugin", "sign", portal, "--key", key, "-o", signed]);
    let replay = ["delivery", "replay", "--converted-by", &first];
    let active = service.fail(&replay);
    assert!(
        active.contains("activate another version first"),
        "{active}"
    );
    let accept = ["--accept", "new-publisher", "--accept", "same-version"];
    service.run(&[&["plugin", "activate", signed][..], &accept].concat());
    let looked = service.run(&replay);
    assert!(looked.contains("It would change"), "{looked}");
    let applied = service.run(&[&replay[..], &["--apply"]].concat());
    assert!(applied.contains("Replayed 1 of 1 delivery"), "{applied}");
    let repairs = service.run(&["repair", "list", "--json"]);
    let repairs: Value = serde_json::from_str(&repairs).unwrap();
    let id = repairs["repairs"][0]["id"].as_str().unwrap();
    let listed = service.run(&["repair", "list"]);
    assert!(listed.contains(id), "{listed}");
    let shown = service.run(&["repair", "show", id]);
    assert!(shown.contains("converted: done"), "{shown}");
    service.run(&["repair", "show", id, "--changes"]);
    let ended = service.fail(&["repair", "cancel", id]);
    assert!(
        ended.contains("only a repair or an undo that is under way"),
        "{ended}"
    );
    let undone = service.run(&["repair", "undo", id]);
    assert!(undone.contains("converted: undone"), "{undone}");
    let again = service.fail(&["repair", "undo", id]);
    assert!(
        again.contains("a repair can be undone only once"),
        "{again}"
    );
}

fn products_go_and_unknown_ones_are_named(service: &Service, folder: &Path) {
    let of_demo = ["--workspace", "demo"];
    let homes = folder.join("homes.csv");
    std::fs::write(&homes, "externalId,name\nA,Casa azul\nB,Casa verde\n").unwrap();
    let import = ["products", "import", homes.to_str().unwrap()];
    service.run(&[&import[..], &of_demo].concat());
    let remove = ["products", "remove", "A", "NOPE", "B", "A", "NOPE"];
    let remove = [&remove[..], &of_demo].concat();
    let unasked = leadhost(folder, &remove);
    assert_eq!(unasked.status.code(), Some(2));
    let answer = leadhost(folder, &[&remove[..], &["--yes", "--json"]].concat());
    assert_eq!(answer.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(
        said,
        json!({"workspace": "demo", "removed": ["A", "B"], "unknown": ["NOPE"]})
    );
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(said.contains("no product `NOPE`"), "{said}");
    let again = service.fail(&[&remove[..], &["--yes"]].concat());
    assert!(again.contains("nothing was removed"), "{again}");
}

#[test]
fn a_data_folder_that_others_may_use_is_refused() {
    let outer = folder();
    let data = outer.path().join("lo ose");
    std::fs::create_dir(&data).unwrap();
    for mode in [0o755, 0o770, 0o701] {
        let mut serve = command(&data, &["serve"]);
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
        let started = serve.output().unwrap();
        assert_eq!(started.status.code(), Some(1));
        let said = String::from_utf8_lossy(&started.stderr);
        let mends = format!("chmod 700 '{}'", data.display());
        assert!(said.contains(&mends), "{said}");
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
    for verb in [&["--all"][..], &["--all", "--dry-run"]] {
        let said = service.run(&[&["delivery", "release"][..], verb].concat());
        assert!(said.contains("nothing to release"), "{said}");
    }
    let made = keys(folder.path());
    let connection = made["connections"]["portal"].as_str().unwrap();
    let ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    ask.json(&json!({})).send().await.expect(401);
    let failed = leadhost(folder.path(), &["delivery", "release", "--all"]);
    assert_eq!(failed.status.code(), Some(1));
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(said.contains("1 stays in quarantine"), "{said}");
}

async fn a_refusal_says_what_to_do(on: On) {
    let folder = folder();
    let service = demo(&on, folder.path());
    let check = |arguments: &[&str], parts: &[&str]| {
        let said = service.fail(arguments);
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    let file = folder.path().join("broken.toml");
    std::fs::write(
        &file,
        "[workspace]\nslug = \"demo\"\n[[connections]]\nname = \"a\"\npartner = \"crm\"\nplugin = \"nope\"\nsecrets = { t = \"env:LEADHOST_TEST_NOT_SET\" }\n",
    )
    .unwrap();
    check(
        &["apply", file.to_str().unwrap()],
        &[
            "workspace.name: is missing",
            "connections[0].secrets.t: the environment variable LEADHOST_TEST_NOT_SET is not set",
            "no converter `nope` is active; active are",
            "nothing was changed",
        ],
    );
    check(&["plugin", "rollback", "mapping"], &["was active before"]);
    check(
        &["plugin", "activate", file.to_str().unwrap()],
        &["not WebAssembly"],
    );
    check(
        &["delivery", "show", "17"],
        &["no delivery `17`", "`leadhost delivery list`"],
    );
    let shows = "`leadhost delivery show`";
    check(&["deal", "show", "17"], &["no deal `17`", shows]);
    check(&["deal", "remove", "17", "--yes"], &["no deal `17`", shows]);
    let lists = "`leadhost repair list`";
    check(&["repair", "show", "17"], &["no repair `17`", lists]);
    check(
        &["delivery", "replay", "--converted-by", "9.9.9"],
        &["no version `9.9.9`", "`leadhost plugin list`"],
    );
    check(&["key", "revoke", "17"], &["`leadhost key list`"]);
    let of_unknown = ["key", "list", "--workspace", "nope"];
    check(&of_unknown, &["`leadhost workspace list`"]);
    let nowhere = ["products", "remove", "A", "--workspace", "nope", "--yes"];
    check(&nowhere, &["`leadhost workspace list`"]);
    let whom = [
        "contact",
        "erase",
        "--yes",
        "--workspace",
        "demo",
        "--email",
    ];
    let whom = [&whom[..], &["nobody@example.com"]].concat();
    check(&whom, &["There is no such contact"]);
    check(
        &["owner", "list", "--workspace", "nope"],
        &["`leadhost workspace list`"],
    );
    check(
        &["instance", "show", "nobody"],
        &["`leadhost instance list`"],
    );
    check(
        &["outbox", "resolve", "17", "--give-up"],
        &["no message `17`"],
    );
    std::fs::write(folder.path().join("admin.key"), leadhost_key()).unwrap();
    check(&["status"], &["not valid at this service", "--data-dir"]);
}

#[test]
fn a_value_that_the_service_refuses_is_wrong_usage_and_named_as_it_was_typed() {
    let folder = folder();
    let _service = demo(&On::Sqlite, folder.path());
    let check = |arguments: &[&str], part: &str| {
        let output = leadhost(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    let words = |line: &'static str, part: &str| {
        let arguments: Vec<&str> = line.split(' ').collect();
        check(&arguments, part);
    };
    let no_status = "`--status nosuch` is not a status";
    words("delivery list --status nosuch", no_status);
    let no_time = "`--since yesterday` is not a time";
    words("delivery list --since yesterday", no_time);
    words("delivery replay --since yesterday", no_time);
    words("outbox --state nosuch", "`--state nosuch` is not a state");
    words("outbox status 17 nosuch", "`nosuch` is not a status");
    words("outbox reply 17 Oi", "neither a message's id nor a phone");
    words("plugin activate mapping@zz", "too short for a digest");
    words("etl rebuild --set nosuch", "no metric set `nosuch`");
    let phone = "contact erase --yes --workspace demo --phone notaphone";
    words(phone, "`--phone` is not a number");
    let email = "owner add olavo --name O --workspace demo";
    words(email, "EMAIL: `olavo`: expected an e-mail address");
    let no_act = "`--what nosuch` is not an act; there are apply,";
    words("audit --what nosuch", no_act);
    words("key create --kind partner", "--workspace <SLUG>");
    let no_partner = "key create --kind access-token --workspace demo";
    words(no_partner, "--partner <NAME>");
    let no_need = "key create --kind admin --workspace demo";
    words(no_need, "takes no workspace");
    let mapping = target().join("plugins/converter-mapping.wasm");
    let mapping = mapping.to_str().unwrap();
    check(&["plugin", "verify", mapping, "--last", "0"], "`--last 0`");
    check(
        &["plugin", "activate", mapping, "--accept", "nosuch"],
        "`nosuch` cannot be accepted",
    );
}

#[test]
fn a_component_and_a_folder_of_cases_that_are_missing_are_named() {
    let folder = folder();
    let component = folder.path().join("a.wasm");
    let component = component.to_str().unwrap();
    let golden = folder.path().join("golden");
    let golden = golden.to_str().unwrap();
    let pack = || {
        let arguments = ["plugin", "pack", component, "--golden", golden, "-o", "b"];
        let output = leadhost(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = pack();
    assert!(said.contains(&format!("cannot read {component}")), "{said}");
    assert!(!said.contains("NAME@DIGEST"), "{said}");
    std::fs::write(component, "any bytes").unwrap();
    let said = pack();
    assert!(said.contains(&format!("no folder {golden}")), "{said}");
}

/// A well-formed admin key that no service has made.
fn leadhost_key() -> String {
    use leadhost_domain::key::{KeyKind, PlainKey};
    PlainKey::generate(KeyKind::Admin).reveal().to_owned()
}

#[test]
fn without_a_service_a_command_says_how_to_start_one() {
    let folder = folder();
    let there = ["status", "--admin", "127.0.0.1:1"];
    let check = |arguments: &[&str], parts: &[&str]| {
        let output = leadhost(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    check(&["status"], &["no service runs on", "leadhost serve"]);
    check(
        &there,
        &["no admin key", "`leadhost serve --new-admin-key`"],
    );
    std::fs::write(folder.path().join("admin.key"), leadhost_key()).unwrap();
    check(&there, &["no service at", "leadhost serve"]);
    let other = ["status", "--admin", "http://10.0.0.7:8081"];
    let output = leadhost(folder.path(), &other);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["plain HTTP to another machine", "LEADHOST_ADMIN_KEY"] {
        assert!(said.contains(part), "{said}");
    }
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
        let mut command = command(&data, &["status", "--config", &file]);
        if !named {
            command.env_remove("LEADHOST_DATA_DIR");
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        let nowhere = format!("no service runs on {}", data.display());
        assert!(said.contains(&nowhere), "{said}");
    }
    let called = other.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(called, Err(std::io::ErrorKind::WouldBlock));
    drop(other);

    // A service elsewhere: no folder is named, and the configured one is not here.
    let file = configured(&folder.path().join("elsewhere"));
    let mut remote = command(&data, &["status", "--config", &file]);
    remote.env_remove("LEADHOST_DATA_DIR");
    let output = remote
        .env("LEADHOST_ADMIN_KEY", leadhost_key())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("no service at {address}")), "{said}");
}

#[test]
fn wrong_usage_ends_with_two_and_the_defaults_are_printed() {
    let folder = folder();
    for arguments in [
        &["nope"][..],
        &["delivery", "replay"],
        &["delivery", "replay", "--failed", "--field", "phone"],
        &["delivery", "replay", "--converted-by", "1.0.0", "--failed"],
        &["delivery", "replay", "--converted-by", "1", "--field", "x"],
        &["repair", "show"],
        &["outbox", "resolve", "17"],
        &["outbox", "resolve", "--all"],
        &["outbox", "resolve", "17", "--all", "--give-up"],
        &["outbox", "resolve", "17", "--yes", "--give-up"],
        &["key", "create", "--kind", "root"],
        &["key", "create", "--kind", "partner"],
        &["serve", "--set", "nonsense"],
        &["serve", "--set", "nonsense=1"],
        &["serve", "--set", "worker.speed=3"],
        &["serve", "--set", "worker.concurrency=many"],
        &["serve", "--set", "retention.deliveries_days=0"],
        &["serve", "--set", "log.filter=leadhost=loud"],
        &["serve", "--set", "log.format=xml"],
        &["serve", "--set", "server.public_url=foo"],
        &["serve", "--set", "server.tls_key=key.pem"],
        &["serve", "--listen", "8080"],
        &["serve", "--listen", "nonsense"],
        &["serve", "--store-url", "mysql://db.example.com/leads"],
        &[
            "serve",
            "--store-url",
            "postgres://db.example.com:port/leads",
        ],
        &[
            "serve",
            "--store-url",
            "postgres://db.example.com/leads?nosuch=1",
        ],
        &["backup", "copy.db", "--store-url", "nonsense"],
        &["status", "--admin-key", "ak_bad"],
        &["contact", "erase", "--yes", "--workspace", "demo"],
    ] {
        let output = leadhost(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let made = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(made, 0, "it is refused before anything is made");
    let output = leadhost(folder.path(), &["config"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("[server]"));
}

#[test]
fn a_mistake_in_the_configuration_file_is_a_failure_that_names_file_and_key() {
    let folder = folder();
    let file = folder.path().join("leadhost.toml");
    std::fs::write(&file, "[worker]\nconcurrency = \"many\"\n").unwrap();
    let file = file.to_str().unwrap();
    let copy = folder.path().join("copy.db");
    for arguments in [
        &["serve", "--config", file][..],
        &["backup", copy.to_str().unwrap(), "--config", file],
        &["status", "--config", file],
    ] {
        let output = leadhost(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let named = format!(
            "worker.concurrency in {file} is \"many\": expected a whole number from 0 to 4294967295"
        );
        assert!(said.contains(&named), "{said}");
    }
}

#[test]
fn a_command_in_a_message_repeats_the_flags_that_lead_to_the_service() {
    let folder = folder();
    let service = Service::start(folder.path(), &[]);
    let data = folder.path().to_str().unwrap();
    let given = ["--data-dir", data];
    let check = |arguments: &[&str], named: &str| {
        let mut command = command(folder.path(), &[arguments, &given].concat());
        // A flag that has its value from the environment is not repeated.
        command.env_remove("LEADHOST_DATA_DIR");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(named), "{arguments:?}: {said}");
    };
    check(
        &["status"],
        &format!("`leadhost plugin activate FILE --data-dir {data}`"),
    );
    // The service itself names this one.
    check(
        &["outbox", "resolve", "17", "--give-up"],
        &format!("`leadhost outbox --data-dir {data}`"),
    );
    check(
        &["plugin", "impact", "mapping"],
        &format!("`leadhost plugin list --data-dir {data}`"),
    );
    check(
        &["status", "--admin", "127.0.0.1:1"],
        &format!("`leadhost serve --data-dir {data}`"),
    );
    let said = service.fail(&["outbox", "resolve", "17", "--give-up"]);
    assert!(said.contains("`leadhost outbox`"), "{said}");
}

#[test]
fn a_folder_is_served_by_one_process_and_with_its_own_sealing_key() {
    const OPENERS: usize = 20;
    let (served, copied) = (folder(), folder());
    let (folder, copy) = (served.path(), copied.path());
    let first = demo(&On::Sqlite, folder);
    let refused = |folder: &Path, part: &str| {
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ];
        let output = leadhost(folder, &arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(part), "{said}");
    };
    std::thread::scope(|scope| {
        for _ in 0..OPENERS {
            scope.spawn(|| refused(folder, "served by another process"));
        }
    });
    first.run(&["delivery", "list"]);
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
fn a_stop_leaves_the_addresses_that_another_process_wrote() {
    let folder = folder();
    let file = folder.path().join("service.json");
    let service = Service::start(folder.path(), &[]);
    std::fs::write(&file, "{}").unwrap();
    assert!(service.stop());
    assert!(file.exists());
}
