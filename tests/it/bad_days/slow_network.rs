//! The database is far away: everything works, and because waiting leads share a
//! commit, the throughput of many senders stays close to that of a near one.

use std::time::{Duration, Instant};

use leadhost_tests::load::Targets;
use leadhost_tests::proxy::Proxy;

use super::Outage;

const SENDERS: usize = 48;

#[tokio::test(flavor = "multi_thread")]
async fn over_a_slow_network_leads_share_their_commits() {
    let Some(world) = Outage::new().await else {
        return;
    };
    let proxy = Proxy::before(world.database.url()).await;
    let url = proxy.url(world.database.url());
    for one_way in [25, 100] {
        // The host starts over the same network, and opens every connection over it.
        proxy.delay(Duration::from_millis(one_way));
        let host = world.hosts.start_with(0, &["--store-url", &url]).await;
        let name = format!("lead-{one_way}");
        let load = world.load(&name, &Targets::gateways(&[&host]), SENDERS);
        let (since, commits) = (Instant::now(), proxy.commits());
        let leads = SENDERS * 3;
        load.reaches(leads).await;
        let (took, commits) = (since.elapsed(), proxy.commits() - commits);
        let refused = load.refused();
        // A busy machine is slow itself.
        assert!(
            refused <= leads,
            "slow is not broken, and {refused} were refused: {}",
            host.complaints()
        );
        // A lost connection is replaced.
        proxy.reset();
        load.goes_on(SENDERS).await;
        let sent = load.stop().await;
        sent.assert_well_formed();
        assert!(
            commits < leads,
            "{leads} leads took {commits} commits and {took:?}"
        );
        proxy.delay(Duration::ZERO);
        world
            .hosts
            .assert_each_once(&host, &sent.acknowledged)
            .await;
    }
}
