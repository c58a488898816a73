//! A delivery with more leads than fit into its request.

use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::limits;
use leadhost_pipeline::replay::{self, ReplayOptions};
use leadhost_tests::{Host, Hosts, On, eventually, guests};

use super::harm;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_large_delivery_is_answered_queued_and_is_complete_at_the_end,
    a_large_delivery_that_is_killed_half_way_brings_each_lead_once,
}

async fn a_large_delivery_is_answered_queued_and_is_complete_at_the_end(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let most = (limits::WRITE_COST / limits::LEAD_COST) as u64;
    let few = harm("few", "leads", most / 2);
    let many = harm("many", "leads", 300);
    let declared = host.declare(&format!("{few}{many}")).await;
    let small = host.deliver(&declared, "few").await;
    assert_eq!(small.json()["status"], "converted");
    let large = host.deliver(&declared, "many").await;
    assert_eq!(large.json()["status"], "queued");
    assert_eq!(large.json()["leads"].as_array().map(Vec::len), Some(0));
    let id = host.delivery(&large).await.summary.id;
    let stored = host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(stored.items.len(), 300);
    assert_eq!(stored.summary.error, None);
    let new = |item: &leadhost_store::ItemOutcome| item.status == ItemStatus::Converted;
    assert!(stored.items.iter().all(new));
    let deals = host.rows(&declared, "deals").await.len();
    assert_eq!(deals as u64, 300 + most / 2);

    let again = replay::one(&host.app.pipeline, id, ReplayOptions::default()).await;
    let again = again.expect("it is replayed");
    assert_eq!(again.status, DeliveryStatus::Converted);
    assert_eq!(again.items.len(), 300);
    assert_eq!(host.rows(&declared, "deals").await.len(), deals);
}

const WORKSPACE: &str = r#"
[workspace]
slug = "crash"
name = "Crash"

[[partners]]
name = "crm"

[[instances]]
name = "assistant"

[[connections]]
name = "portal"
partner = "crm"
instance = "assistant"
plugin = "misbehave"
config = { do = "leads", size = 1500 }
"#;

async fn a_large_delivery_that_is_killed_half_way_brings_each_lead_once(on: On) {
    let hosts = Hosts::on(on)
        .component(guests::misbehave())
        .workspace(WORKSPACE)
        .flags(&["--set", "worker.lease_seconds=8"])
        .apply()
        .await;
    let path = hosts.ingest("portal");
    let mut service = hosts.start(0).await;
    let ask = service.ask("gateway", "POST", &path);
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    let items = "select count(*) from items";
    for least in [1, 150, 500] {
        eventually("some of it is there", async || {
            hosts.count(items).await >= least
        })
        .await;
        service.kill();
        assert!(hosts.count(items).await < 1_500);
        service = hosts.start(0).await;
    }
    let done = "select count(*) from deliveries where status = 'converted'";
    eventually("all of it is there", async || hosts.count(done).await == 1).await;
    assert_eq!(hosts.count(items).await, 1_500);
    let deals = "select count(*) from deals";
    assert_eq!(hosts.count(deals).await, 1_500);
    assert!(service.stop());
}
