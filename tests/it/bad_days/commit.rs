//! The connection ends in the middle of a COMMIT: the host looks up the commit
//! status by the batch's mark, and the sender gets the true outcome.

use std::collections::BTreeSet;
use std::time::Duration;

use leadhost_tests::load::{Load, LoadPlan, LoadResult, Targets, Unacknowledged, export};
use leadhost_tests::proxy::{Cut, Proxy};
use leadhost_tests::{Service, until};

use super::Outage;

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_acknowledged() {
    let Some((world, host, sent)) = cut_commits(Cut::After).await else {
        return;
    };
    // All of them were committed, as the mark shows.
    assert_eq!(sent.unsure, Vec::<String>::new());
    assert_eq!(world.deliveries().await, sent.attempts.len());
    world
        .hosts
        .assert_each_once(&host, &sent.acknowledged)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_never_arrived_is_repeated_or_refused() {
    let Some((world, host, sent)) = cut_commits(Cut::Before).await else {
        return;
    };
    assert_answers_were_true(&world, &host, &sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_may_still_arrive_is_decided_only_when_it_no_longer_can() {
    let late = Duration::from_millis(200);
    let Some((world, host, sent)) = cut_commits(Cut::Late(late)).await else {
        return;
    };
    assert_answers_were_true(&world, &host, &sent).await;
}

/// Sends leads through a network that cuts commits.
async fn cut_commits(cut: Cut) -> Option<(Outage, Service, LoadResult)> {
    let world = Outage::new().await?;
    let proxy = Proxy::before(world.database.url()).await;
    let url = proxy.url(world.database.url());
    let host = world.hosts.start_with(0, &["--store-url", &url]).await;
    let load = Load::start(LoadPlan {
        targets: Targets::gateways(&[&host]),
        what: world.leads(),
        name: "lead".to_owned(),
        senders: 8,
        unacknowledged: Unacknowledged::Next,
        first: Vec::new(),
    });
    load.reaches(50).await;
    proxy.cut_commits(cut, 3);
    let wanted = 25;
    until("commits are cut", async || {
        (proxy.cuts() >= wanted).then_some(())
    })
    .await;
    proxy.spare_commits();
    load.goes_on(100).await;
    let sent = load.stop().await;
    sent.assert_well_formed();
    drop(host);
    // The host that checks afterwards has a healthy network.
    let host = world.hosts.start(0).await;
    Some((world, host, sent))
}

/// Checks that every acknowledged lead is stored exactly once and no refused
/// lead is.
async fn assert_answers_were_true(world: &Outage, host: &Service, sent: &LoadResult) {
    world.hosts.assert_each_once(host, &sent.acknowledged).await;
    let there: BTreeSet<_> = export(host.address("data"), world.hosts.workspace_key())
        .await
        .into_keys()
        .collect();
    let refused: Vec<_> = sent
        .unsure
        .iter()
        .filter(|id| there.contains(*id))
        .collect();
    assert!(
        refused.is_empty(),
        "refused, and there all the same: {refused:?}"
    );
    assert_eq!(world.deliveries().await, sent.acknowledged.len());
}
