//! The service ends without warning, again and again, while partners notify and
//! phones answer.

use leadhost_tests::On;
use leadhost_tests::phones::Phones;

use super::reckoning::{Books, asked};
use super::{World, gateways, size};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    however_often_it_is_killed_no_message_is_lost_and_none_goes_twice,
}

/// Partners at work when it ends.
const PARTNERS: usize = 12;

/// Acknowledged notifications after which a life of the service ends: the count
/// differs from life to life, so that it ends at every point of a send.
fn lifetime(life: usize) -> usize {
    10 + (life * 7) % 31
}

async fn however_often_it_is_killed_no_message_is_lost_and_none_goes_twice(on: On) {
    let world = World::new(on, 1).await;
    let mut service = world.host(0).await;
    world.call_back(&service);
    let targets = gateways(&[&service]);
    let phones = Phones::start(&world.whatsapp);
    let load = world.load("note", &targets, PARTNERS);
    for life in 0..size(8, 100) {
        load.goes_on(lifetime(life)).await;
        service.kill();
        service = world.host(0).await;
        world.call_back(&service);
        targets.replace(0, service.address("gateway"));
    }
    load.goes_on(20).await;
    let sent = load.stop().await;
    world.settles().await;
    let story = phones.finish().await;

    let books = Books::of(&world, &service).await;
    books.assert_hold(&sent);
    books.assert_once(&world);
    books.assert_heard(&story);
    // Whose holder died in the middle was not even asked for twice.
    let asked = asked(&world);
    let twice: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let failed = books.in_state("failed");
    assert!(failed.is_empty(), "nobody refused {failed:?}");
}
