//! `leadhost etl`, as an operator types it.

use leadhost_tests::service::leadhost;
use leadhost_tests::{Json, On, Service, fields, has, lacks, until};
use serde_json::{Value, json};

use super::counting::{CountingHosts, SLUG};
use super::recount::{assert_all_counted, counts_by_day};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_run_counts_all_earlier_commits_and_reports_it,
    a_rebuild_lists_the_builds_that_it_began_and_waits_until_they_serve,
    a_workspace_that_cannot_be_counted_is_named_and_repaired_by_a_rebuild,
    unknown_names_are_refused_with_a_reason,
}

/// It counts at its start, and then only on demand.
const SELDOM: [&str; 2] = ["--set", "analytics.refresh_seconds=86400"];

async fn seldom(world: &CountingHosts) -> Service {
    let service = world.host(0, &SELDOM).await;
    until("the first round has counted", async || {
        let status = status(&service);
        let sets = status["metricSets"].list().iter();
        let mut ages = sets.map(|set| &set["asOf"]);
        ages.all(|as_of| as_of.is_string()).then_some(())
    })
    .await;
    service
}

fn status(service: &Service) -> Value {
    let said = service.run(&["etl", "status", "--json"]);
    serde_json::from_str(&said).expect("JSON")
}

fn conversations(status: &Value) -> &Value {
    let set = &status["metricSets"][0];
    assert_eq!(set["metricSet"], "conversations");
    set
}

async fn a_run_counts_all_earlier_commits_and_reports_it(on: On) {
    let world = CountingHosts::new(on, 1).await;
    let service = seldom(&world).await;
    world.notify(&service, "note", 3).await;
    world.hosts.settles().await;
    let said = service.run(&["etl", "run"]);
    has!(said, "conversations as of ", "tickets as of ");
    let counts = counts_by_day(&world, &service, "UTC").await;
    let started: i64 = counts.values().map(|counts| counts[0]).sum();
    assert_eq!(started, 3);

    let ran: Value = serde_json::from_str(&service.run(&["etl", "run", "--json"])).expect("JSON");
    fields!(ran, {"more": false, "runs.0.metricSet": "conversations"});
    assert!(ran["runs"][0]["changes"].is_u64(), "{ran}");
    let shown = status(&service);
    assert_eq!(ran["runs"][0]["asOf"], conversations(&shown)["asOf"]);

    let said = service.run(&["etl", "status"]);
    has!(said, "time zones 20", "METRIC SET");
    let said = service.run(&["status"]);
    has!(said, "analytics: conversations as of 20", "; time zones 20");
    lacks!(said, "(stale)");
}

async fn a_rebuild_lists_the_builds_that_it_began_and_waits_until_they_serve(on: On) {
    let world = CountingHosts::new(on, 1).await;
    let service = seldom(&world).await;
    world.notify(&service, "note", 3).await;
    world.hosts.settles().await;
    let all = service.run(&["etl", "rebuild", "--wait"]);
    has!(
        all,
        "conversations of all workspaces: the new counts are active.",
        "tickets of all workspaces: the new counts are active."
    );
    assert_all_counted(&world, &service).await;

    let one = ["etl", "rebuild", "--workspace", SLUG, "--set", "tickets"];
    let said = service.run(&one);
    has!(said, "tickets of counted: 1 rebuild begun");
    lacks!(said, "conversations");
    let json = service.run(&[&one[..], &["--wait", "--json"]].concat());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["workspace"], SLUG);
    assert!(json["begun"]["tickets"].is_u64(), "{json}");
    assert_eq!(json["serves"], true);
    let status = status(&service);
    for set in status["metricSets"].list() {
        assert_eq!(set["making"], json!([]));
    }
}

async fn a_workspace_that_cannot_be_counted_is_named_and_repaired_by_a_rebuild(on: On) {
    let world = CountingHosts::new(on, 1).await;
    let service = seldom(&world).await;
    world.notify(&service, "before", 1).await;
    world.hosts.settles().await;
    service.run(&["etl", "run"]);
    let broken = "update rollup_days set cells = 'broken'";
    world.hosts.on.change(world.hosts.folder(0), broken).await;
    world.notify(&service, "after", 2).await;
    world.hosts.settles().await;
    for _ in 0..2 {
        let said = service.fail(&["etl", "run"]);
        has!(
            said,
            "could not be counted: conversations of counted",
            "leadhost etl rebuild --workspace"
        );
    }
    let said = service.run(&["etl", "status"]);
    has!(said, "BEHIND");
    let log = service.log();
    let lines = log.lines().filter(|line| line.contains("not counted"));
    let lines: Vec<_> = lines
        .filter(|line| line.contains("set=\"conversations\""))
        .collect();
    assert_eq!(lines.len(), 1, "it is logged once:\n{}", lines.join("\n"));
    has!(lines[0], "workspace=\"counted\"");

    service.run(&["etl", "rebuild", "--workspace", SLUG, "--wait"]);
    service.run(&["etl", "run"]);
    assert_eq!(conversations(&status(&service))["behind"], json!([]));
    assert_all_counted(&world, &service).await;
}

async fn unknown_names_are_refused_with_a_reason(on: On) {
    let world = CountingHosts::new(on, 1).await;
    let service = seldom(&world).await;
    let said = service.fail(&["etl", "rebuild", "--workspace", "nope"]);
    has!(said, "no workspace `nope`", "leadhost workspace list");
    let wrong = ["etl", "rebuild", "--set", "deals"];
    let wrong = leadhost(world.hosts.folder(0), &wrong);
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr);
    has!(said, "no metric set `deals`", "conversations and tickets");
    let answer = world.hosts.operator(&service, "POST", "/etl/rebuilds");
    let answer = answer
        .json(&json!({ "workspaces": ["counted"] }))
        .send()
        .await;
    answer.expect(400);
    let anonymous = service.ask("admin", "GET", "/admin/v1/etl").send().await;
    anonymous.expect(401);
    let wrong = ["etl", "status", "--admin-key", "ak_bad"];
    let output = leadhost(world.hosts.folder(0), &wrong);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    has!(
        said,
        "--admin-key is not an admin key: ak_ is not followed by"
    );
    let said = service.fail(&["etl", "run", "--wait-seconds", "0"]);
    has!(said, "it continues");
}
