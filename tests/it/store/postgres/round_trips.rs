//! The number of round trips of a batch: its cost, wherever the database is.

use leadhost_config::StoreUrl;
use leadhost_tests::proxy::Proxy;

use super::super::deals::{acme, patch_write, to_stage};
use super::super::messages::{self, at, line, notify_write, sent, status, stored, urgent};
use super::*;

/// A world, and a host that reaches its database through the proxy.
pub async fn through_proxy() -> Option<(World, Arc<Store>, Proxy)> {
    let on = On::postgres().await?;
    let On::Postgres(database) = &on else {
        unreachable!("it was asked for");
    };
    let proxy = Proxy::before(database.url()).await;
    let through = StoreLocation::Postgres {
        url: StoreUrl::new(proxy.url(database.url())),
        connections: 2,
    };
    let world = World::start(on.clone()).await;
    let host = leadhost_store::open(&through, Arc::new(SystemClock)).await;
    Some((world, host.expect("it opens"), proxy))
}

/// Counts the round trips after its statements are prepared.
async fn trips(host: &Store, proxy: &Proxy, mut batch: impl FnMut(usize) -> Vec<Write>) -> usize {
    for number in 0..3 {
        host.commit(&batch(number)).await.expect("it commits");
    }
    proxy.asked()
}

#[tokio::test]
async fn any_number_of_new_leads_costs_seven_round_trips() {
    let (world, host, proxy) = available!(through_proxy());
    for leads in [1, 40] {
        let batch = |number: usize| -> Vec<Write> {
            let new = |number_of_lead: usize| {
                let to = format!("+55119{leads:02}{number:03}{number_of_lead:03}");
                let mut new = with_phone(world.known_as(&to), &to);
                new.agent = Some(world.first_agent);
                world.accept(vec![lead(new)])
            };
            (0..leads).map(new).collect()
        };
        // Begin; keys; new rows; clocks; contacts and deals; commit; and the pool's
        // check of the returned connection.
        assert_eq!(trips(&host, &proxy, batch).await, 7, "{leads} leads");
    }
}

#[tokio::test]
async fn many_patches_cost_as_many_round_trips_as_one() {
    let (world, host, proxy) = available!(through_proxy());
    let by = acme(&world).await;
    for patches in [1, 40] {
        let mut deals = Vec::new();
        for number in 0..patches {
            let item = world.bring(world.known_as(&format!("{patches}-{number}")));
            deals.push(item.await.deal_id.expect("a deal"));
        }
        let batch = |number: usize| -> Vec<Write> {
            let stage = [DealStage::Negotiating, DealStage::Transferred][number % 2];
            let patch = |deal: &_| patch_write(to_stage(by, *deal, stage));
            deals.iter().map(patch).collect()
        };
        // Begin; lock deals, contacts, conversations and tickets; new rows, with
        // history; clocks; deals; commit; and the pool's check.
        assert_eq!(trips(&host, &proxy, batch).await, 10, "{patches} patches");
    }
}

#[tokio::test]
async fn many_statuses_cost_as_many_round_trips_as_one() {
    let (world, host, proxy) = available!(through_proxy());
    let mut counts = Vec::new();
    for messages in [1, 40] {
        let to = |message| format!("+55119{messages:03}{message:05}");
        let new = |message| notify_write(urgent(&world, &to(message)));
        let out: Vec<Write> = (0..messages).map(new).collect();
        let written = host.commit(&out).await.expect("it commits");
        let settle = |(number, written)| {
            let outcome = messages::accepted(&world, &format!("{messages}-{number}"));
            sent(line(&world), stored(written).message, 0, outcome)
        };
        let settled: Vec<Write> = written.into_iter().enumerate().map(settle).collect();
        host.commit(&settled).await.expect("it commits");
        let webhook = |number: usize| -> Vec<Write> {
            let earlier = i64::try_from(number).unwrap();
            let read = at(MessageState::Read, world.now().plus_seconds(10 - earlier));
            let said = |message| status(&world, &format!("{messages}-{message}"), read.clone());
            vec![world.accept((0..messages).map(said).collect())]
        };
        counts.push(trips(&host, &proxy, webhook).await);
    }
    assert_eq!(counts[0], counts[1]);
    // Begin; the lookup (ids, messages, sends); lock ids and messages; new rows; clocks;
    // messages; commit; and the pool's check.
    assert_eq!(counts[0], 11);
}
