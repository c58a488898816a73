//! `leadhost status`, `tail` and `doctor` as an operator uses them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use leadhost_tests::components::target;
use leadhost_tests::service::{command, leadhost};
use leadhost_tests::{On, Service};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    the_status_names_what_is_wrong_with_the_command_that_mends_it,
    the_tail_shows_a_new_delivery_and_ends_with_the_service,
    the_doctor_checks_the_store_without_a_service_and_with_one,
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
    let connection = keys["connections"]["portal"].as_str().unwrap();
    let mut ask = service.ask("gateway", "POST", &format!("/ingest-lead/{connection}"));
    for (name, value) in keys["connectionHeaders"]["portal"].as_object().unwrap() {
        ask = ask.header(name, value.as_str().unwrap());
    }
    let lead = json!({"originLeadId": "1", "clientListingId": "AP-0042", "name": "Ada Prado", "phoneNumber": "11987654321"});
    let answer = ask.json(&lead).send().await.expect(200).json();
    answer["deliveryId"].as_str().unwrap().to_owned()
}

async fn the_status_names_what_is_wrong_with_the_command_that_mends_it(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let service = demo(&on, folder.path());
    service.run(&["connection", "pause", "lead-form"]);
    let said = service.run(&["status"]);
    let line = "- the fetches of demo/lead-form are paused (by an operator): `leadhost connection resume demo/lead-form`";
    assert!(said.contains(line), "{said}");
    service.run(&["connection", "resume", "demo/lead-form"]);
    let said = service.run(&["status"]);
    assert!(!said.contains("lead-form"), "{said}");
}

async fn the_tail_shows_a_new_delivery_and_ends_with_the_service(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let service = demo(&on, folder.path());
    let refused = leadhost(folder.path(), &["tail", "--status", "nope"]);
    assert_eq!(refused.status.code(), Some(2));
    let mut tail = command(
        folder.path(),
        &["tail", "--connection", "portal", "--wait", "0"],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut notes = BufReader::new(tail.stderr.take().unwrap()).lines();
    let begun = notes.next().unwrap().unwrap();
    assert!(begun.contains("Ctrl-C"), "{begun}");
    let delivery = portal_lead(&service, folder.path()).await;
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(
        line.contains(&delivery) && line.contains("converted"),
        "{line}"
    );
    assert!(service.stop());
    assert_eq!(tail.wait().unwrap().code(), Some(1));
    let rest: Vec<String> = notes.map_while(Result::ok).collect();
    assert!(
        rest.join("\n").contains("the service has stopped"),
        "{rest:?}"
    );
}

async fn the_doctor_checks_the_store_without_a_service_and_with_one(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let doctor = || {
        let output = command(folder.path(), &["doctor", "--json"])
            .env("LEADHOST_STORE_URL", on.url())
            .output()
            .unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let has = |report: &Value, about: &str, part: &str| {
        let all = report["findings"].as_array().unwrap();
        let found = all
            .iter()
            .any(|one| one["about"] == about && one["what"].as_str().unwrap().contains(part));
        assert!(found, "no {part}: {report}");
    };
    has(&doctor(), "service", "No service runs");
    let service = demo(&on, folder.path());
    let report = doctor();
    has(&report, "service", "live and ready");
    has(&report, "database", "is current");
    has(&report, "secrets", "has the secrets");
    assert!(service.stop());
    let wrong = folder.path().join("wrong.toml");
    std::fs::write(&wrong, "[server]\nnope = 1\n").unwrap();
    let refused = leadhost(
        folder.path(),
        &["doctor", "--config", wrong.to_str().unwrap()],
    );
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stdout);
    assert!(said.contains("problem  configuration"), "{said}");
}
