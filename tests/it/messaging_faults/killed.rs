//! The service is killed repeatedly while partners notify and phones answer.

use leadhost_tests::load::Targets;
use leadhost_tests::phones::Phones;
use leadhost_tests::{On, sized};

use super::Messaging;
use super::reconciliation::{StoredMessages, asked};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    repeated_kills_lose_no_message_and_send_none_twice,
}

/// Active partners when it is killed.
const PARTNERS: usize = 12;

/// Acknowledged notifications before a kill: the number differs from life to
/// life, so that a kill hits every point of a send.
fn lifetime(life: usize) -> usize {
    10 + (life * 7) % 31
}

async fn repeated_kills_lose_no_message_and_send_none_twice(on: On) {
    let world = Messaging::new(on, 1).await;
    let mut service = world.hosts.start(0).await;
    world.call_back(&service);
    let targets = Targets::gateways(&[&service]);
    let phones = Phones::start(&world.whatsapp);
    let load = world.load("note", &targets, PARTNERS);
    for life in 0..sized(4, 8) {
        load.goes_on(lifetime(life)).await;
        service.kill();
        service = world.hosts.start(0).await;
        world.call_back(&service);
        targets.replace(0, service.address("gateway"));
    }
    load.goes_on(20).await;
    let sent = load.stop().await;
    world.hosts.settles().await;
    let story = phones.finish().await;

    let stored = StoredMessages::read(&world, &service).await;
    stored.assert_hold(&sent);
    stored.assert_once(&world);
    stored.assert_events(&story);
    // A message whose holder died in the middle was not even requested twice.
    let asked = asked(&world);
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let failed = stored.in_state("failed");
    assert!(failed.is_empty(), "refused: {failed:?}");
}
