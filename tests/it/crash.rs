//! The service is killed repeatedly while leads come in: every acknowledged lead
//! is stored exactly once.

use leadhost_tests::load::{Load, LoadPlan, LoadResult, Targets, Unacknowledged, What};
use leadhost_tests::{Hosts, On, figures};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    every_acknowledged_lead_survives_repeated_kills_exactly_once,
}

/// Kills in one run. On a database each takes more time, and the file's own
/// recovery is not part of it.
fn kills(on: &On) -> usize {
    let kills = figures::size("LEADHOST_KILLS", 10, 100);
    match on {
        On::Sqlite => kills,
        On::Postgres(_) => kills * 2 / 5,
    }
}

/// Active senders when it is killed.
const SENDERS: usize = 16;

/// Acknowledged leads before a kill: the number differs from life to life, so that
/// a kill hits every point of a commit.
fn lifetime(life: usize) -> usize {
    40 + (life * 37) % 160
}

async fn every_acknowledged_lead_survives_repeated_kills_exactly_once(on: On) {
    let kills = kills(&on);
    let hosts = Hosts::portal(on).apply().await;
    let mut all = LoadResult::default();
    for life in 0..kills {
        let mut service = hosts.start(0).await;
        let load = Load::start(LoadPlan {
            targets: Targets::gateways(&[&service]),
            what: What::Leads(hosts.ingest("portal")),
            name: format!("lead-{life}"),
            senders: SENDERS,
            unacknowledged: Unacknowledged::End,
            first: std::mem::take(&mut all.unsure),
        });
        load.reaches(lifetime(life)).await;
        service.kill();
        all = all.with(load.stop().await);
    }
    all.assert_well_formed();
    assert!(all.acknowledged.len() >= kills * 40);

    let service = hosts.start(0).await;
    hosts.assert_each_once(&service, &all.acknowledged).await;
    let figure = format!(
        "{kills} kills beside {SENDERS} senders, {} leads acknowledged, 0 lost, 0 twice",
        all.acknowledged.len()
    );
    figures::record("kills", Some(&hosts.on), None, &figure);
}
