//! `leadhost status`, `tail` and `doctor` as an operator uses them.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use leadhost_tests::components::target;
use leadhost_tests::service::{command, leadhost, refused};
use leadhost_tests::{Json, On, Service, has, lacks};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    the_status_names_each_problem_with_the_command_that_fixes_it,
    the_tail_shows_a_new_delivery_and_ends_with_the_service,
    the_doctor_checks_the_store_without_a_service_and_with_one,
    a_secret_is_set_from_standard_input_or_made,
}

fn demo(on: &On, folder: &Path) -> Service {
    let inbox = target().join("plugins");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/workspace.toml");
    let (inbox, file) = (inbox.to_str().unwrap(), file.to_str().unwrap());
    Service::start_on(on, folder, &["--inbox", inbox, "--first-apply", file])
}

async fn portal_lead(service: &Service, folder: &Path) -> String {
    let keys = std::fs::read_to_string(folder.join("keys.json")).unwrap();
    let keys: Value = serde_json::from_str(&keys).unwrap();
    let connection = keys["connections"]["portal"].text();
    let mut ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    for (name, value) in keys["connectionHeaders"]["portal"].as_object().unwrap() {
        ask = ask.header(name, value.text());
    }
    let lead = json!({"originLeadId": "1", "clientListingId": "AP-0042", "name": "Ada Prado", "phoneNumber": "11987654321"});
    let answer = ask.json(&lead).send().await.expect(200).json();
    answer["deliveryId"].text().to_owned()
}

async fn the_status_names_each_problem_with_the_command_that_fixes_it(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let service = demo(&on, folder.path());
    service.run("connection pause lead-form");
    let said = service.run("status");
    let line = "- the fetches of demo/lead-form are paused (by an operator): `leadhost connection resume demo/lead-form`";
    has!(said, line);
    service.run("connection resume demo/lead-form");
    lacks!(service.run("status"), "lead-form");
}

async fn the_tail_shows_a_new_delivery_and_ends_with_the_service(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let service = demo(&on, folder.path());
    refused(folder.path(), 2, "tail --status nope");
    let arguments = "tail --connection portal --wait 0";
    let (mut tail, notes) = begun_tail(folder.path(), arguments);
    let delivery = portal_lead(&service, folder.path()).await;
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    has!(lines.next().unwrap().unwrap(), &delivery, "converted");
    assert!(service.stop());
    assert_eq!(tail.wait().unwrap().code(), Some(1));
    let rest: Vec<String> = notes.map_while(Result::ok).collect();
    has!(rest.join("\n"), "the service has stopped");
}

/// Starts the command, and waits until it follows. Returns it with the rest of its notes.
fn begun_tail(folder: &Path, arguments: &str) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut tail = command(folder, arguments);
    tail.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tail = tail.spawn().unwrap();
    let mut notes = BufReader::new(tail.stderr.take().unwrap()).lines();
    has!(notes.next().unwrap().unwrap(), "Ctrl-C");
    (tail, notes)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_the_service_of_another_folder_has_is_a_problem() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Service::start(folder.path(), &[]);
    let own = std::fs::read_to_string(folder.path().join("service.json")).unwrap();
    let own: Value = serde_json::from_str(&own).unwrap();
    let gateway = own["gateway"].text();
    let file = other.path().join("leadhost.toml");
    std::fs::write(&file, format!("[server]\nlisten = \"{gateway}\"\n")).unwrap();
    let doctor = format!("doctor --config {}", file.display());
    let ended = leadhost(other.path(), &doctor);
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stdout).unwrap();
    let line = format!("server.listen = {gateway} is in use by another Leadhost.");
    has!(said, &line);
    assert!(service.stop());
}

async fn the_doctor_checks_the_store_without_a_service_and_with_one(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let doctor = || {
        let output = command(folder.path(), "doctor --json")
            .env("LEADHOST_STORE_URL", on.url())
            .output()
            .unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let has = |report: &Value, about: &str, part: &str| {
        let all = report["findings"].list();
        let found = all
            .iter()
            .any(|one| one["about"] == about && one["what"].text().contains(part));
        assert!(found, "no {part}: {report}");
    };
    has(&doctor(), "service", "No service runs");
    let service = demo(&on, folder.path());
    let report = doctor();
    has(&report, "service", "live and ready");
    has(&report, "database", "is current");
    has(&report, "secrets", "has the secrets");
    // The running service is judged, and not the defaults.
    let own = std::fs::read_to_string(folder.path().join("service.json")).unwrap();
    let own: Value = serde_json::from_str(&own).unwrap();
    has(&report, "tls", own["gateway"].text());
    assert!(service.stop());
    std::fs::write(folder.path().join("service.json"), own.to_string()).unwrap();
    has(&doctor(), "service", "No service runs");
    // Addresses of a service that runs.
    let lock = std::fs::File::open(folder.path().join("leadhost.lock")).unwrap();
    lock.lock().unwrap();
    let away = json!({
        "admin": "127.0.0.1:1", "secret": "", "data": "127.0.0.1:2", "gateway": "0.0.0.0:19180",
    });
    std::fs::write(folder.path().join("service.json"), away.to_string()).unwrap();
    let report = doctor();
    let warned = "plain HTTP on 0.0.0.0:19180, which other machines may reach";
    has(&report, "tls", warned);
    std::fs::remove_file(folder.path().join("service.json")).unwrap();
    drop(lock);
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[server]\nnope = 1\n").unwrap();
    let doctor = format!("doctor --config {}", wrong.display());
    let refused = leadhost(folder.path(), &doctor);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stdout);
    has!(said, "problem  configuration");
}

async fn a_secret_is_set_from_standard_input_or_made(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let service = demo(&on, folder.path());
    let shown = || {
        let list = service.json("connection list");
        let all = list["connections"].list();
        let site = all.iter().find(|one| one["name"] == "site-form");
        site.unwrap()["configVersion"].as_i64().unwrap()
    };
    let before = shown();
    let words = "connection secret site-form token --generate t_";
    let made = command(folder.path(), words).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    has!(said, "has a new value of token");
    // Standard output has the value alone, for scripts.
    let value = String::from_utf8_lossy(&made.stdout);
    let is_so = value.starts_with("t_") && value.lines().count() == 1;
    assert!(is_so, "{value}");
    assert_eq!(shown(), before + 1);
    let value = folder.path().join("value");
    std::fs::write(&value, "from-a-file\n").unwrap();
    let set = |secret: &str| {
        let words = format!("connection secret site-form {secret}");
        command(folder.path(), &words)
            .stdin(std::fs::File::open(&value).unwrap())
            .output()
            .unwrap()
    };
    let output = set("token");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_so = output.status.success() && said.contains("has a new value");
    assert!(is_so, "{said}");
    lacks!(said, "from-a-file");
    assert_eq!(shown(), before + 2);
    let output = set("tokn");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    has!(said, "secrets.tokn");
    let none = service.fail("connection secret site-form token");
    has!(none, "standard input has no value");
}
