//! `leadhost etl`, as an operator types it.

use std::ops::Range;

use leadhost_tests::service::refused;
use leadhost_tests::{Hosts, Json, On, Service, eventually, fields, guests, has, lacks};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_run_counts_all_earlier_commits_and_reports_it,
    a_rebuild_lists_the_builds_that_it_began_and_waits_until_they_serve,
    a_workspace_that_cannot_be_counted_is_named_and_repaired_by_a_rebuild,
    unknown_names_are_refused_with_a_reason,
}

/// The slug of the workspace.
const SLUG: &str = "counted";

/// Unanswered conversations change soon, and so do open tickets.
const WORKSPACE: &str = r#"
[workspace]
slug = "counted"
name = "Counted"
rate_limit = 1000000

[[partners]]
name = "crm"

[[instances]]
name = "front"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "1s"
[[instances.config.templates]]
name = "boas_vindas"
language = "pt_BR"
text = "Olá {{1}}, aqui é da {{2}}."
"#;

/// A service that sends through an instance without a network. It counts at its start, and then only on
/// demand.
struct Counting {
    hosts: Hosts,
    service: Service,
}

impl Counting {
    async fn new(on: On) -> Self {
        let hosts = Hosts::on(on).component(guests::sandbox());
        let hosts = hosts.workspace(WORKSPACE).apply().await;
        let seldom = ["--set", "analytics.refresh_seconds=86400"];
        let service = hosts.start_with(0, &seldom).await;
        eventually("the first round has counted", async || {
            let status = status(&service);
            let sets = status["metricSets"].list().iter();
            let mut ages = sets.map(|set| &set["asOf"]);
            ages.all(|as_of| as_of.is_string())
        })
        .await;
        Self { hosts, service }
    }

    /// Sends these notifications in sequence, each to its own phone, and waits until none is in flight.
    async fn notify(&self, numbers: Range<usize>) {
        for number in numbers {
            let (id, phone) = (format!("note-{number}"), format!("+55119{number:08}"));
            let ask = self.hosts.notify(&self.service, "front", &id, &phone);
            ask.send().await.expect(200);
        }
        self.hosts.settles().await;
    }

    /// Returns how many conversations a data client gets.
    async fn started(&self) -> i64 {
        let target = "/v1/analytics/conversations/month";
        let answer = self.hosts.client(&self.service, target).send().await;
        let answer = answer.expect(200).json();
        let rows = answer["data"].list().iter();
        rows.map(|row| row["conversations_started"].as_i64().expect("a count"))
            .sum()
    }
}

fn status(service: &Service) -> Value {
    service.json("etl status")
}

#[track_caller]
fn conversations(status: &Value) -> &Value {
    let set = &status["metricSets"][0];
    assert_eq!(set["metricSet"], "conversations");
    set
}

async fn a_run_counts_all_earlier_commits_and_reports_it(on: On) {
    let world = Counting::new(on).await;
    let service = &world.service;
    world.notify(0..3).await;
    let said = service.run(&["etl", "run"]);
    has!(said, "conversations as of ", "tickets as of ");
    assert_eq!(world.started().await, 3);

    let ran = service.json("etl run");
    fields!(ran, {"more": false, "runs.0.metricSet": "conversations"});
    assert!(ran["runs"][0]["changes"].is_u64(), "{ran}");
    let shown = status(service);
    assert_eq!(ran["runs"][0]["asOf"], conversations(&shown)["asOf"]);

    let said = service.run(&["etl", "status"]);
    has!(said, "time zones 20", "METRIC SET");
    let said = service.run(&["status"]);
    has!(said, "analytics: conversations as of 20", "; time zones 20");
    lacks!(said, "(stale)");
}

async fn a_rebuild_lists_the_builds_that_it_began_and_waits_until_they_serve(on: On) {
    let world = Counting::new(on).await;
    let service = &world.service;
    world.notify(0..3).await;
    let all = service.run(&["etl", "rebuild", "--wait"]);
    has!(
        all,
        "conversations of all workspaces: the new counts are active.",
        "tickets of all workspaces: the new counts are active."
    );
    assert_eq!(world.started().await, 3);

    let one = format!("etl rebuild --workspace {SLUG} --set tickets");
    let said = service.run(&one);
    has!(said, "tickets of counted: 1 rebuild begun");
    lacks!(said, "conversations");
    let json = service.json(&format!("{one} --wait"));
    assert_eq!(json["workspace"], SLUG);
    assert!(json["begun"]["tickets"].is_u64(), "{json}");
    assert_eq!(json["serves"], true);
    let status = status(service);
    for set in status["metricSets"].list() {
        assert_eq!(set["making"], json!([]));
    }
}

async fn a_workspace_that_cannot_be_counted_is_named_and_repaired_by_a_rebuild(on: On) {
    let world = Counting::new(on).await;
    let service = &world.service;
    world.notify(0..1).await;
    service.run(&["etl", "run"]);
    let broken = "update rollup_days set cells = 'broken'";
    world.hosts.on.change(world.hosts.folder(0), broken).await;
    world.notify(1..3).await;
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
    let of_set = |line: &&str| line.contains("set=\"conversations\"");
    let lines: Vec<_> = lines.filter(of_set).collect();
    assert_eq!(lines.len(), 1, "it is logged once:\n{}", lines.join("\n"));
    has!(lines[0], "workspace=\"counted\"");

    service.run(&["etl", "rebuild", "--workspace", SLUG, "--wait"]);
    service.run(&["etl", "run"]);
    assert_eq!(conversations(&status(service))["behind"], json!([]));
    assert_eq!(world.started().await, 3);
}

async fn unknown_names_are_refused_with_a_reason(on: On) {
    let world = Counting::new(on).await;
    let service = &world.service;
    let said = service.fail(&["etl", "rebuild", "--workspace", "nope"]);
    has!(said, "no workspace `nope`", "leadhost workspace list");
    let misused = |arguments: &[&str], why: &[&str]| {
        let said = refused(world.hosts.folder(0), 2, arguments);
        for part in why {
            has!(said, part);
        }
    };
    let known = ["no metric set `deals`", "conversations and tickets"];
    misused(&["etl", "rebuild", "--set", "deals"], &known);
    let answer = world.hosts.operator(service, "POST", "/etl/rebuilds");
    let misspelt = answer.json(&json!({ "workspaces": ["counted"] }));
    misspelt.send().await.expect(400);
    let anonymous = service.ask("admin", "GET", "/admin/v1/etl").send().await;
    anonymous.expect(401);
    let wrong = "--admin-key is not an admin key: ak_ is not followed by";
    misused(&["etl", "status", "--admin-key", "ak_bad"], &[wrong]);
    let said = service.fail(&["etl", "run", "--wait-seconds", "0"]);
    has!(said, "it continues");
}
