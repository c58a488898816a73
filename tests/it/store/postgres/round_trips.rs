//! The number of round trips of a batch: its cost, wherever the database is.

use std::sync::Arc;

use leadhost_config::StoreUrl;
use leadhost_domain::clock::SystemClock;
use leadhost_domain::deal::DealStage;
use leadhost_store::{DealPatch, StoreLocation, Write, open};
use leadhost_tests::On;
use leadhost_tests::proxy::Proxy;

use super::super::deals::{acme, wish};
use super::super::messages;
use super::super::world::{self, World};

/// A world, and a host that reaches its database through the proxy.
async fn through_proxy() -> Option<(World, Arc<leadhost_store::Store>, Proxy)> {
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
    let host = open(&through, Arc::new(SystemClock)).await;
    Some((world, host.expect("it opens"), proxy))
}

/// Counts the round trips after its statements are prepared.
async fn trips(
    host: &leadhost_store::Store,
    proxy: &Proxy,
    mut batch: impl FnMut(usize) -> Vec<Write>,
) -> usize {
    for number in 0..3 {
        host.commit(&batch(number)).await.expect("it commits");
    }
    proxy.asked()
}

#[tokio::test]
async fn any_number_of_new_leads_costs_seven_round_trips() {
    let Some((world, host, proxy)) = through_proxy().await else {
        return;
    };
    for leads in [1, 40] {
        let batch = |number: usize| -> Vec<Write> {
            let lead = |lead: usize| {
                let to = format!("+55119{leads:02}{number:03}{lead:03}");
                let mut new = world::with_phone(world.known_as(&to), &to);
                new.agent = Some(world.first_agent);
                world.accept(vec![world::lead(new)])
            };
            (0..leads).map(lead).collect()
        };
        // Begin; keys; new rows; clocks; contacts and deals; commit; and the pool's
        // check of the returned connection.
        assert_eq!(trips(&host, &proxy, batch).await, 7, "{leads} leads");
    }
}

#[tokio::test]
async fn many_patches_cost_as_many_round_trips_as_one() {
    let Some((world, host, proxy)) = through_proxy().await else {
        return;
    };
    let by = acme(&world).await;
    for patches in [1, 40] {
        let mut deals = Vec::new();
        for number in 0..patches {
            let item = world.item(world::lead(world.known_as(&format!("{patches}-{number}"))));
            deals.push(item.await.deal_id.expect("a deal"));
        }
        let batch = |number: usize| -> Vec<Write> {
            let stage = Some([DealStage::Negotiating, DealStage::Transferred][number % 2]);
            let patch = |deal: &_| {
                let patch = DealPatch {
                    stage,
                    ..wish(by, *deal)
                };
                Write::PatchDeal(Box::new(patch))
            };
            deals.iter().map(patch).collect()
        };
        // Begin; lock deals, contacts, conversations and tickets; new rows, with
        // history; clocks; deals; commit; and the pool's check.
        assert_eq!(trips(&host, &proxy, batch).await, 10, "{patches} patches");
    }
}

#[tokio::test]
async fn many_statuses_cost_as_many_round_trips_as_one() {
    let Some((world, host, proxy)) = through_proxy().await else {
        return;
    };
    let mut counts = Vec::new();
    for messages in [1, 40] {
        let out: Vec<Write> = (0..messages)
            .map(|message| {
                let to = format!("+55119{messages:03}{message:05}");
                Write::Notify(Box::new(messages::urgent(&world, &to)))
            })
            .collect();
        let stored = host.commit(&out).await.expect("it commits").into_iter();
        let settle = |(number, new): (usize, messages::Stored)| {
            let outcome = messages::accepted(&world, &format!("{messages}-{number}"));
            messages::sent(messages::line(&world), new.message, 0, outcome)
        };
        let stored = stored.map(|written| messages::stored(messages::notified(written)));
        let settled: Vec<Write> = stored.enumerate().map(settle).collect();
        host.commit(&settled).await.expect("it commits");
        let webhook = |number: usize| -> Vec<Write> {
            let said = |message: usize| {
                let time = world
                    .now()
                    .plus_seconds(10 - i64::try_from(number).unwrap());
                let said = messages::at(leadhost_domain::message::MessageState::Read, time);
                messages::status(&world, &format!("{messages}-{message}"), said)
            };
            vec![world.accept((0..messages).map(said).collect())]
        };
        counts.push(trips(&host, &proxy, webhook).await);
    }
    assert_eq!(counts[0], counts[1]);
    // Begin; the lookup (ids, messages, sends); lock ids and messages; new rows; clocks;
    // messages; commit; and the pool's check.
    assert_eq!(counts[0], 11);
}
