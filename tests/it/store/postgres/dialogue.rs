//! Two hosts settle the same messages and receive their statuses at the same
//! time, in opposite orders: no deadlock, no message sent twice, and the same
//! result as in sequence.

use super::super::messages::{
    accepted_at, at, error, inbound, inbound_event, line, notification, notify_write, sent, status,
    status_of, stored, urgent,
};
use super::super::two_hosts::{at_once, rows, two_hosts};
use super::*;

const ROUNDS: usize = 40;
const PEOPLE: usize = 3;

/// Messages of a round, two to each person.
const MESSAGES: usize = 2 * PEOPLE;

fn person(number: usize) -> String {
    format!("+551198765000{number}")
}

/// Statuses of a channel are in the past.
fn time(world: &World, seconds: i64) -> Micros {
    world.now().plus_seconds(seconds - 3_600)
}

fn external(round: usize, number: usize) -> String {
    format!("out-{round}-{number}")
}

/// Both hosts get this request, like a request that a partner repeats.
fn named(world: &World, round: usize) -> Write {
    let claim = IdempotencyClaim {
        key: IdempotencyKey {
            workspace: world.workspace,
            partner: PartnerId(uuid::Uuid::nil()),
            route: "send-notification".to_owned(),
            key: format!("once-{round}"),
        },
        fingerprint: "ab12".to_owned(),
        retention: Duration::from_hours(72),
    };
    notify_write(Notification {
        idempotency: Some(claim),
        ..notification(world, &person(round % PEOPLE))
    })
}

/// The writes of four writers about a round's messages, two on each host.
fn opposing(world: &World, round: usize, out: &[MessageId], writer: usize) -> Vec<Write> {
    let time = |seconds: i64| time(world, seconds);
    let webhook = |events: Vec<ItemResult>| world.accept(events);
    let mut writes: Vec<Write> = match writer {
        // The answers to the calls.
        0 => out
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let outcome = accepted_at(&[&external(round, number)], None, time(0));
                sent(line(world), *id, 0, outcome)
            })
            .collect(),
        // Statuses by the channel's ids, even before these belong to a message.
        1 => {
            let read = |number| {
                let id = external(round, number);
                status(world, &id, at(MessageState::Read, time(30)))
            };
            vec![webhook((0..MESSAGES).map(read).collect())]
        }
        // Statuses by our own ids, each in its own webhook; every third message
        // has failed.
        2 => out
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let said = if number % 3 == 0 {
                    MessageProgress::failed(time(20), error("131026", Category::Recipient))
                } else {
                    at(MessageState::Delivered, time(20))
                };
                let name = external(round, number);
                webhook(vec![status_of(world, &name, Some(*id), said)])
            })
            .collect(),
        // People answer.
        _ => (0..PEOPLE)
            .map(|number| {
                let phone = super::super::messages::number(&person(number));
                let mut new = inbound(world, &format!("in-{round}-{number}"));
                new.reply_to = Some(external(round, number));
                new.contact_keys = contact::keys(std::slice::from_ref(&phone), &[]);
                new.phone = Some(phone);
                new.at = time(40);
                webhook(vec![inbound_event(world, new)])
            })
            .collect(),
    };
    // Those of every second writer are reversed.
    if writer % 2 == 1 {
        writes.push(named(world, round));
    } else if writer == 2 {
        writes.insert(0, named(world, round));
    }
    writes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_settlements_and_statuses_have_one_result() {
    let (world, hosts) = available!(two_hosts());
    let mut once = BTreeMap::new();
    let mut out = Vec::new();
    for round in 0..ROUNDS {
        let to = |number: usize| notify_write(urgent(&world, &person(number % PEOPLE)));
        let news: Vec<Write> = (0..MESSAGES).map(to).collect();
        let written = world.commit(&news).await.into_iter();
        let ids: Vec<MessageId> = written.map(|written| stored(written).message).collect();
        let batches = (0..4).map(|writer| opposing(&world, round, &ids, writer));
        for written in at_once(&hosts, batches.collect()).await {
            match written {
                WriteOutcome::Notified(Notified::Stored { message, .. }) => {
                    let before = once.insert(round, message);
                    assert_eq!(before, None, "a named request was stored twice");
                }
                WriteOutcome::Notified(Notified::Running { message, .. }) => {
                    assert!(message.is_some(), "it names its message");
                }
                WriteOutcome::Message(_) | WriteOutcome::Done(_) => {}
                other => panic!("{other:?}"),
            }
        }
        out.push(ids);
    }
    assert_eq!(once.len(), ROUNDS);
    everything_is_as_in_order(&world, &out).await;
    assert_eq!(deadlocks(&world).await, 0);
}

async fn everything_is_as_in_order(world: &World, out: &[Vec<MessageId>]) {
    let all = rows(world, Entity::Messages).await;
    let by_id: BTreeMap<&str, &Value> = all.iter().map(|row| (row["id"].text(), row)).collect();
    assert_eq!(by_id.len(), all.len());
    let time = |seconds: i64| json!(time(world, seconds));
    for (round, ids) in out.iter().enumerate() {
        for (number, id) in ids.iter().enumerate() {
            let row = by_id[id.to_string().as_str()];
            let metadata = &row["metadata"];
            let failed = number % 3 == 0;
            assert_eq!(metadata["status"], "read", "{row}");
            assert_eq!(metadata["externalIds"], json!([external(round, number)]));
            assert_eq!(metadata["acceptedAt"], time(0), "{row}");
            assert_eq!(row["read_at"], time(30), "{row}");
            let delivered = if failed { time(30) } else { time(20) };
            assert_eq!(row["delivered_at"], delivered, "{row}");
            let errors = metadata["errors"].as_array().map_or(0, Vec::len);
            assert_eq!(errors, usize::from(failed), "{row}");
        }
    }
    // Outgoing, incoming, and one for each request with a key.
    assert_eq!(all.len(), ROUNDS * (MESSAGES + PEOPLE + 1));
    let conversations = rows(world, Entity::Conversations).await;
    assert_eq!(conversations.len(), PEOPLE, "each has one that is open");
    for row in &conversations {
        fields!(row, {"status": "answered", "first_message_at": time(0)});
        // The answers have times of the world, an hour before the database's time of the messages that
        // they answer: none is older than its message.
        assert_eq!(row["last_message_at"], row["created_at"], "{row}");
    }
    assert_eq!(rows(world, Entity::Contacts).await.len(), PEOPLE);
    let errors = rows(world, Entity::MessageErrors).await;
    assert_eq!(errors.len(), ROUNDS * MESSAGES / 3);
    for row in &errors {
        assert!(row["message_id"].is_string(), "{row}");
        assert!(row["conversation_id"].is_string(), "{row}");
    }
    let backlog = world.backlog().await.expect("it counts");
    let named = u64::try_from(ROUNDS).unwrap();
    assert_eq!((backlog.sends, backlog.unknown), (named, 0));
}
