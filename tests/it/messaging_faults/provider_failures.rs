//! The provider fails while partners notify: resets before and after a request,
//! hanging calls, HTML pages, limits.

use leadhost_tests::On;
use leadhost_tests::load::Targets;
use leadhost_tests::phones::Phones;
use leadhost_tests::provider::{Misbehaviour, Taken};

use super::Messaging;
use super::reconciliation::{StoredMessages, asked};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    whatever_the_provider_does_a_message_goes_out_once_at_most,
}

/// A hanging call times out soon, and no partner waits for it. No host dies here.
const FLAGS: [&str; 6] = [
    "--set",
    "worker.fetch_seconds=1",
    "--set",
    "messages.answer_seconds=2",
    "--set",
    "worker.lease_seconds=60",
];

/// Failures that leave the outcome unknown.
const DOUBTFUL: [Misbehaviour; 10] = [
    Misbehaviour::ResetUnread,
    Misbehaviour::Reset(Taken::Yes),
    Misbehaviour::Reset(Taken::No),
    Misbehaviour::Close(Taken::Yes),
    Misbehaviour::Close(Taken::No),
    Misbehaviour::Html(502, Taken::Yes),
    Misbehaviour::Html(502, Taken::No),
    Misbehaviour::Hang(Taken::Yes),
    Misbehaviour::Hang(Taken::No),
    Misbehaviour::NoId,
];

/// Failures after which the message was certainly not sent, and is sent later.
const SURE: [Misbehaviour; 2] = [
    Misbehaviour::Code(131_016),
    Misbehaviour::Throttled {
        code: 130_429,
        retry_after: 1,
    },
];

async fn whatever_the_provider_does_a_message_goes_out_once_at_most(on: On) {
    let world = Messaging::new(on, 1).await;
    let service = world.hosts.start_with(0, &FLAGS).await;
    world.call_back(&service);
    let whatsapp = &world.whatsapp;
    let load = world.load("note", &Targets::gateways(&[&service]), 8);
    for what in DOUBTFUL.iter().chain(&SURE) {
        whatsapp.next_sends(2, what.clone());
        load.goes_on(8).await;
    }
    let sent = load.stop().await;
    whatsapp.behave();
    world.hosts.settles().await;

    let stored = StoredMessages::read(&world, &service).await;
    stored.assert_hold(&sent);
    stored.assert_once(&world);
    let unknown = stored.in_state("unknown");
    assert!(unknown.len() >= DOUBTFUL.len(), "{}", unknown.len());
    let before = asked(&world);
    for message in &unknown {
        // The provider does not know of a request that was reset unread.
        let times = before.get(message).copied().unwrap_or(0);
        assert!(times <= 1, "{message} was asked for {times} times");
    }

    let phones = Phones::start(whatsapp);
    // Other messages go out, so these had time to go out too.
    let load = world.load("late", &Targets::gateways(&[&service]), 4);
    load.goes_on(20).await;
    let late = load.stop().await;
    world.hosts.settles().await;
    let story = phones.finish().await;
    let stored = StoredMessages::read(&world, &service).await;
    stored.assert_hold(&sent.with(late));
    stored.assert_once(&world);
    stored.assert_events(&story);
    let after = asked(&world);
    let mut settled = 0;
    for message in &unknown {
        assert_eq!(before.get(message), after.get(message), "{message} again");
        settled += usize::from(stored.state(message) == "read");
    }
    assert!(settled > 0, "those that had gone out are settled");
    assert!(stored.in_state("failed").is_empty());
}
