//! Two hosts on one database: one sends, and the statuses arrive at the other,
//! before, while and after the provider answers, in opposite orders and twice.
//! The result is the same, even when one of them dies.

use std::collections::BTreeMap;

use leadhost_tests::provider::{Accepted, Flush, Misbehaviour, Order, Taken};
use leadhost_tests::{Answer, On, Service};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Messaging;
use super::reconciliation::{StoredMessages, asked};

/// A hanging call times out long after everything here, and partners get the
/// outcome.
const FLAGS: [&str; 6] = [
    "--set",
    "worker.fetch_seconds=600",
    "--set",
    "messages.answer_seconds=300",
    "--set",
    "server.answer_seconds=600",
];

/// The statuses of a message, and how many seconds later each happens. On the
/// first attempt the phone had no network.
const SAID: [(&str, u64); 4] = [("sent", 1), ("failed", 2), ("delivered", 3), ("read", 5)];

/// The resulting message.
fn end(wamid: &str, began: u64) -> Value {
    let at = |after: u64| {
        let micros = i64::try_from((began + after) * 1_000_000).expect("a time");
        leadhost_domain::time::Micros(micros)
    };
    json!({
        "status": "read",
        "sentAt": at(1),
        "delivered": at(3),
        "read": at(5),
        "failedAt": at(2),
        "errors": ["131026"],
        "externalIds": [wamid],
    })
}

fn summary(row: &Value) -> Value {
    let metadata = &row["metadata"];
    let errors = metadata["errors"].as_array().cloned().unwrap_or_default();
    let codes: Vec<_> = errors.iter().map(|error| error["code"].clone()).collect();
    json!({
        "status": metadata["status"],
        "sentAt": metadata["sentAt"],
        "delivered": row["delivered_at"],
        "read": row["read_at"],
        "failedAt": metadata["failedAt"],
        "errors": codes,
        "externalIds": metadata["externalIds"],
    })
}

struct Crossed {
    world: Messaging,
    sending_host: Service,
    webhook_host: Service,
    next: usize,
    /// The second in which each message was accepted.
    began: u64,
}

impl Crossed {
    async fn new() -> Option<Self> {
        let world = Messaging::new(On::postgres().await?, 2).await;
        let sending_host = world.hosts.start_with(0, &FLAGS).await;
        let webhook_host = world.hosts.start_with(1, &FLAGS).await;
        world.call_back(&webhook_host);
        Some(Self {
            began: world.whatsapp.now(),
            world,
            sending_host,
            webhook_host,
            next: 0,
        })
    }

    /// Sends this many notifications at once.
    fn notify(&mut self, many: usize) -> Vec<JoinHandle<Option<Answer>>> {
        (0..many)
            .map(|_| {
                self.next += 1;
                let (id, phone) = (
                    format!("note-{}", self.next),
                    format!("+5511987{:06}", self.next),
                );
                let ask = self.world.notify(&self.sending_host, &id, &phone);
                tokio::spawn(ask.try_send())
            })
            .collect()
    }

    /// Messages that the provider has accepted but not answered yet.
    async fn hangs(&mut self, many: usize) -> (Vec<Accepted>, Vec<JoinHandle<Option<Answer>>>) {
        let before = self.world.whatsapp.accepted().len();
        let hang = Misbehaviour::Hang(Taken::Yes);
        let times = u32::try_from(many).expect("a few");
        self.world.whatsapp.next_sends(times, hang);
        let partners = self.notify(many);
        self.world.whatsapp.hangs(many).await;
        (self.world.whatsapp.accepted().split_off(before), partners)
    }

    /// Queues the statuses of these messages.
    fn say(&self, messages: &[Accepted], with_our_own_id: bool) {
        let whatsapp = &self.world.whatsapp;
        for message in messages {
            for (word, after) in SAID {
                let mut status = whatsapp.status_of(&message.id, word);
                status = status.at(message.at + after);
                if word == "failed" {
                    status = status.errors(&[131_026]);
                }
                if !with_our_own_id {
                    status = status.without_opaque();
                }
                whatsapp.queue(status);
            }
        }
    }

    async fn flush(&self, order: Order) {
        let how = Flush::default().order(order).batches(3).times(2);
        for answer in self.world.whatsapp.flush_as(how).await {
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }

    /// Checks that every message that the provider accepted has the same final
    /// state.
    async fn assert_the_same_end(&self, host: &Service) {
        self.world.hosts.settles().await;
        let stored = StoredMessages::read(&self.world, host).await;
        stored.assert_once(&self.world);
        let mut ends = BTreeMap::new();
        for message in self.world.whatsapp.accepted() {
            let id = message.send.opaque.expect("it is ours");
            let row = stored.row(&id);
            assert_eq!(summary(row), end(&message.id, self.began), "{row}");
            ends.insert(id, message.id);
        }
        assert_eq!(ends.len(), self.next, "none is missing");
        let asked = asked(&self.world);
        assert!(asked.values().all(|times| *times == 1), "{asked:?}");
    }
}

/// Waits for partners that must all get a success.
async fn assert_answered(partners: Vec<JoinHandle<Option<Answer>>>) {
    for partner in partners {
        let answer = partner.await.expect("no panic").expect("an answer");
        answer.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_and_answers_that_cross_have_one_result_in_every_order() {
    let Some(mut crossed) = Crossed::new().await else {
        return;
    };
    for (number, order) in [Order::Queued, Order::Reversed, Order::Shuffled(7)]
        .into_iter()
        .enumerate()
    {
        for with_our_own_id in [true, false] {
            // Before the answer.
            let (messages, partners) = crossed.hangs(4).await;
            crossed.say(&messages, with_our_own_id);
            crossed.flush(order).await;
            crossed.world.whatsapp.release();
            assert_answered(partners).await;
            // With the answer.
            let (messages, partners) = crossed.hangs(4).await;
            crossed.say(&messages, with_our_own_id);
            let seed = u64::try_from(number).expect("a number");
            crossed.world.whatsapp.release();
            tokio::join!(
                crossed.flush(Order::Shuffled(seed)),
                assert_answered(partners)
            );
            // After the answer.
            let before = crossed.world.whatsapp.accepted().len();
            assert_answered(crossed.notify(4)).await;
            let messages = crossed.world.whatsapp.accepted().split_off(before);
            crossed.say(&messages, with_our_own_id);
            crossed.flush(order).await;
        }
    }
    crossed.assert_the_same_end(&crossed.webhook_host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_sending_host_is_killed_the_other_records_the_outcome_of_its_messages() {
    let Some(mut crossed) = Crossed::new().await else {
        return;
    };
    let (messages, partners) = crossed.hangs(8).await;
    // Some statuses arrive before it dies, some while the outcome is unknown,
    // some after.
    crossed.say(&messages[..3], true);
    crossed.flush(Order::Reversed).await;
    crossed.sending_host.kill();
    crossed.say(&messages[3..5], true);
    crossed.flush(Order::Queued).await;
    crossed.world.unknown(3).await;
    crossed.say(&messages[5..], true);
    crossed.flush(Order::Shuffled(3)).await;
    crossed.world.whatsapp.release();
    for partner in partners {
        assert!(partner.await.expect("no panic").is_none(), "it is dead");
    }
    crossed.assert_the_same_end(&crossed.webhook_host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_host_that_gets_the_statuses_is_killed_the_other_gets_them_and_none_is_lost() {
    let Some(mut crossed) = Crossed::new().await else {
        return;
    };
    let (messages, partners) = crossed.hangs(8).await;
    crossed.say(&messages, true);
    let whatsapp = crossed.world.whatsapp.clone();
    let some = Flush::default().batches(2).order(Order::Shuffled(9));
    let flushing = tokio::spawn(async move { whatsapp.try_flush(some).await });
    crossed.webhook_host.kill();
    crossed.world.whatsapp.release();
    assert_answered(partners).await;
    // The provider may have sent everything before it died; it sends the rest
    // again.
    let _ = flushing.await.expect("no panic");
    crossed.world.call_back(&crossed.sending_host);
    crossed.say(&messages[..1], true);
    crossed.flush(Order::Queued).await;
    crossed.assert_the_same_end(&crossed.sending_host).await;
}
