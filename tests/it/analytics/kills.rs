//! The service is killed while it counts. Afterwards everything is counted exactly once.

use leadhost_tests::load::Targets;
use leadhost_tests::{Json, On, Service, lacks, sized, until};
use serde_json::{Value, json};

use super::counting::{CountingHosts, SLUG};
use super::recount::{assert_all_counted, counts_by_day};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    repeated_kills_count_everything_once,
    a_rebuild_shows_no_empty_and_no_half_answer,
}

/// Kills in one run. On a database each takes more time.
fn kills(on: &On) -> usize {
    match on {
        On::Sqlite => sized(10, 40),
        On::Postgres(_) => sized(6, 20),
    }
}

/// Active partners when it is killed.
const PARTNERS: usize = 8;

/// Acknowledged notifications before a kill: the number differs from life to life, so that a
/// kill hits every point of a round.
fn lifetime(life: usize) -> usize {
    3 + (life * 17) % 41
}

async fn repeated_kills_count_everything_once(on: On) {
    let kills = kills(&on);
    let world = CountingHosts::new(on, 1).await;
    let mut service = world.host(0, &[]).await;
    let targets = Targets::gateways(&[&service]);
    let load = world.load("note", &targets, PARTNERS);
    let mut in_a_build = 0;
    for life in 0..kills {
        // Often enough that builds are killed while they are made, and while they are
        // removed.
        if life % 4 == 0 {
            let ask = world.hosts.operator(&service, "POST", "/etl/rebuilds");
            ask.json(&json!({})).send().await.expect(202);
        }
        load.goes_on(lifetime(life)).await;
        service.kill();
        let unfinished = "select count(*) from rollup_builds where state <> 'serving'";
        in_a_build += usize::from(world.hosts.count(unfinished).await > 0);
        service = world.host(0, &[]).await;
        targets.replace(0, service.address("gateway"));
    }
    load.goes_on(20).await;
    let sent = load.stop().await;
    sent.assert_well_formed();
    world.hosts.settles().await;
    assert_all_counted(&world, &service).await;
    assert!(in_a_build > 0, "of {kills} lives some ended in a build");
    until("a while in which no ticket opens", async || {
        let query = "select count(*) from tickets";
        let before = world.hosts.count(query).await;
        world.counted(&service).await;
        let counted = tickets(&world, &service).await;
        let is_quiet = world.hosts.count(query).await == before;
        is_quiet.then(|| assert_eq!(counted, before, "tickets"))
    })
    .await;
}

/// Returns how many tickets are counted as opened.
async fn tickets(world: &CountingHosts, host: &Service) -> i64 {
    let ask = world.hosts.client(host, "/v1/analytics/tickets/month");
    let answer = ask.send().await.expect(200).json();
    let rows = answer["data"].list().iter();
    rows.map(|row| row["tickets_opened"].as_i64().expect("a count"))
        .sum()
}

async fn a_rebuild_shows_no_empty_and_no_half_answer(on: On) {
    let world = CountingHosts::new(on, 1).await;
    let service = world.host(0, &[]).await;
    world.notify(&service, "before", 60).await;
    world.counted(&service).await;
    let load = world.load("note", &Targets::gateways(&[&service]), 2);
    let mut last = started(&world, &service).await;
    assert!(last >= 60, "{last} are counted");
    for _ in 0..4 {
        let ask = world.hosts.operator(&service, "POST", "/etl/rebuilds");
        let body = json!({ "workspace": SLUG, "metricSet": "conversations" });
        let begun = ask.json(&body).send().await.expect(202).json();
        assert_eq!(begun["begun"]["conversations"], 1);
        until("the new counts serve", async || {
            let now = started(&world, &service).await;
            assert!(now >= last, "{now} reported after {last}");
            last = now;
            let making = conversations(&world, &service).await["making"].clone();
            (making == json!([])).then_some(())
        })
        .await;
    }
    load.stop().await.assert_well_formed();
    world.hosts.settles().await;
    assert_all_counted(&world, &service).await;
}

/// Returns how many conversations a data client gets.
async fn started(world: &CountingHosts, host: &Service) -> i64 {
    let counted = counts_by_day(world, host, "America/Sao_Paulo").await;
    counted.values().map(|counts| counts[0]).sum()
}

/// Returns the status of conversations that operators see.
async fn conversations(world: &CountingHosts, host: &Service) -> Value {
    let ask = world.hosts.operator(host, "GET", "/etl");
    let status = ask.send().await.expect(200).json();
    let sets = status["metricSets"].clone();
    let sets = sets.as_array().expect("a list").iter();
    let found = sets.clone().find(|set| set["metricSet"] == "conversations");
    found.expect("conversations are counted").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_counting_host_is_killed_another_continues_and_no_count_goes_back() {
    let Some(on) = On::postgres().await else {
        return;
    };
    let world = CountingHosts::new(on, 2).await;
    let mut first = world.host(0, &["--set", "server.name=first"]).await;
    until("the first one has counted", async || {
        let status = conversations(&world, &first).await;
        status["asOf"].is_string().then_some(())
    })
    .await;
    let second = world.host(1, &["--set", "server.name=second"]).await;
    let targets = Targets::gateways(&[&second]);
    let load = world.load("note", &targets, 2);
    let mut last = String::new();
    let mut look = async || {
        let status = conversations(&world, &second).await;
        let as_of = status["asOf"].text().to_owned();
        assert!(as_of >= last, "{as_of} after {last}");
        let is_news = as_of > last;
        last = as_of;
        is_news.then_some(())
    };
    for _ in 0..5 {
        until("the first host continues", &mut look).await;
    }
    lacks!(second.log(), "job=\"analytics\"");
    first.kill();
    until("the second host takes over", async || {
        look().await;
        second.log().contains("job=\"analytics\"").then_some(())
    })
    .await;
    for _ in 0..5 {
        until("the second host continues", &mut look).await;
    }
    load.stop().await.assert_well_formed();
    world.hosts.settles().await;
    assert_all_counted(&world, &second).await;
}
