//! Two hosts accept leads, and are killed and restarted in turn: the other host
//! takes over the work of the dead one.

use std::collections::BTreeSet;

use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::load::{Follower, Targets};
use leadhost_tests::sized;

use super::lead_form::{self, LeadForm};

/// A claim of a dead host expires after this time, which is short here.
const FLAGS: [&str; 2] = ["--set", "worker.lease_seconds=3"];

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_killed_in_turn_lose_no_acknowledged_lead() {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let world = available!(lead_form::outage(double.address()));
    let key = world.hosts.workspace_key();
    let mut hosts = [
        world.hosts.start_with(0, &FLAGS).await,
        world.hosts.start_with(1, &FLAGS).await,
    ];
    let gateways = Targets::gateways(&[&hosts[0], &hosts[1]]);
    let follower = Follower::start(gateways.clone(), key);
    let load = world.load(&gateways, 12);
    let form = LeadForm::new(&world);
    let mut announced = BTreeSet::new();
    for life in 0..sized(4, 6) {
        let place = life % 2;
        load.goes_on(60).await;
        // It dies while it holds these, or just before or after.
        announced.extend(form.announce(hosts[place].address("gateway"), 20).await);
        hosts[place].kill();
        load.goes_on(60).await;
        hosts[place] = world.hosts.start_with(place, &FLAGS).await;
        gateways.replace(place, hosts[place].address("gateway"));
    }
    load.goes_on(60).await;
    let sent = load.stop().await;
    sent.assert_well_formed();

    let data = hosts[1].address("data");
    lead_form::are_fetched(data, key, &announced).await;
    let all: BTreeSet<_> = sent.acknowledged.union(&announced).cloned().collect();
    world.hosts.assert_each_once(&hosts[1], &all).await;
    follower.assert_saw_all(data, key).await;
    let waiting = "select count(*) from leadhost.deliveries where status in ('queued', 'failed')";
    assert_eq!(world.hosts.count(waiting).await, 0);
}
