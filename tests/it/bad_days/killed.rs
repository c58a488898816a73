//! Two hosts accept leads, and are killed and restarted in turn: the other host
//! takes over the work of the dead one.

use std::collections::BTreeSet;

use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::load::{Follower, Unacknowledged, assert_each_once, export};
use leadhost_tests::until;

use super::lead_form::{self, LeadForm};
use super::{World, gateways, size};

/// A claim of a dead host expires after this time, which is short here.
const FLAGS: [&str; 2] = ["--set", "worker.lease_seconds=3"];

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_in_turn_lose_no_acknowledged_lead() {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let form = lead_form::connection(double.address());
    let Some(world) = World::with(2, &form, &[lead_form::CONVERTER]).await else {
        return;
    };
    let url = world.database.url();
    let mut hosts = [
        world.host_with(0, url, &FLAGS).await,
        world.host_with(1, url, &FLAGS).await,
    ];
    let gateways = gateways(&[&hosts[0], &hosts[1]]);
    let follower = Follower::start(gateways.clone(), world.key());
    let load = world.load("lead", &gateways, 12, Unacknowledged::Again);
    let form = LeadForm::new(&world);
    let mut announced = BTreeSet::new();
    for life in 0..size(6, 60) {
        let place = life % 2;
        load.goes_on(60).await;
        // It dies while it holds these, or just before or after.
        announced.extend(form.announce(hosts[place].address("gateway"), 20).await);
        hosts[place].kill();
        load.goes_on(60).await;
        hosts[place] = world.host_with(place, url, &FLAGS).await;
        gateways.replace(place, hosts[place].address("gateway"));
    }
    load.goes_on(60).await;
    let sent = load.stop().await;
    sent.assert_well_formed();

    let data = hosts[1].address("data");
    until("every announced lead is fetched", async || {
        let there = export(data, world.key()).await;
        announced
            .iter()
            .all(|id| there.contains_key(id))
            .then_some(())
    })
    .await;
    let all: BTreeSet<_> = sent.acknowledged.union(&announced).cloned().collect();
    assert_each_once(data, world.key(), &all).await;
    follower.assert_saw_all(data, world.key()).await;
    let waiting = "select count(*) from leadhost.deliveries where status in ('queued', 'failed')";
    assert_eq!(world.count(waiting).await, 0);
}
