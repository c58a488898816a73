//! Statuses of messages: the same result in any order and with any repeats.

use std::time::Duration;

use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::limits;
use leadhost_domain::message::MessageState;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::{Json, fields};
use serde_json::json;

use super::super::world::*;
use super::*;

fn failed(world: &World, code: &str, category: Category) -> MessageProgress {
    MessageProgress::failed(world.now(), error(code, category))
}

pub async fn each_state_has_its_time_and_read_is_delivered(world: &World) {
    let new = out(world, "w1").await;
    let start = world.now();
    let time = |seconds| start.plus_seconds(seconds);
    world.advance(60).await;
    for progress in [
        at(MessageState::Read, time(9)),
        at(MessageState::Sent, time(3)),
    ] {
        let item = world.item(status(world, "w1", progress)).await;
        assert_eq!(item.status, ItemStatus::Updated);
        assert_eq!(item.external_id.as_deref(), Some("w1"));
        assert_eq!(item.contact_id, Some(new.contact));
    }
    let row = message_row(world, new.message).await;
    fields!(row, {
        "metadata.status": "read", "metadata.acceptedAt": start, "metadata.sentAt": time(3),
        "delivered_at": time(9), "read_at": time(9),
    });
    world
        .item(status(world, "w1", at(MessageState::Delivered, time(5))))
        .await;
    let row = message_row(world, new.message).await;
    fields!(row, {"delivered_at": time(5), "metadata.status": "read"});
}

pub async fn a_status_without_news_changes_no_row(world: &World) {
    let new = out(world, "w1").await;
    let reported = || status(world, "w1", at(MessageState::Delivered, START));
    let later = || {
        status(
            world,
            "w1",
            at(MessageState::Delivered, START.plus(Duration::from_secs(5))),
        )
    };
    let wrong = failed(world, "131026", Category::Recipient);
    let wrong = || status(world, "w1", wrong.clone());
    world.deliver(vec![reported(), wrong()]).await;
    let rows = async || {
        let mut rows = errors(world).await;
        for entity in [Entity::Messages, Entity::Conversations, Entity::Contacts] {
            rows.extend(world.all(entity).await);
        }
        rows
    };
    let before = rows().await;
    world.advance(1).await;
    let again = world
        .deliver(vec![reported(), later(), wrong(), reported()])
        .await;
    assert_eq!(again.status, DeliveryStatus::Duplicate);
    assert!(
        again
            .items
            .iter()
            .all(|item| item.status == ItemStatus::Duplicate)
    );
    assert_eq!(rows().await, before, "not even a stamp");
    let row = message_row(world, new.message).await;
    assert_eq!(row["metadata"]["status"], "delivered", "failed gives way");
}

/// Returns the final rows after the answer and the statuses arrive in this
/// order.
async fn story(world: &World, to: &str, order: &[usize], by_own_id: bool) -> Vec<Value> {
    let new = store(world, urgent(world, to)).await;
    let start = world.now();
    let external = format!("w{to}");
    let id = by_own_id.then_some(new.message);
    let reported = |progress| status_of(world, &external, id, progress);
    let opts_out = MessageProgress::failed(
        start.plus(Duration::from_secs(4)),
        error("131050", Category::OptOut),
    );
    for step in order {
        match step {
            0 => {
                let outcome = SendOutcome::Accepted {
                    external_ids: vec![external.clone()],
                    recipient_id: Some("5511987654321".to_owned()),
                    progress: at(MessageState::Accepted, start.plus(Duration::from_secs(2))),
                    word: None,
                };
                let written = settle_send(world, new.message, 0, outcome).await;
                assert!(matches!(written, WriteOutcome::Message(_)));
            }
            1 => drop(
                world
                    .item(reported(at(
                        MessageState::Sent,
                        start.plus(Duration::from_secs(1)),
                    )))
                    .await,
            ),
            2 => drop(
                world
                    .item(reported(at(
                        MessageState::Read,
                        start.plus(Duration::from_secs(3)),
                    )))
                    .await,
            ),
            _ => drop(world.item(reported(opts_out.clone())).await),
        }
    }
    let filter = MessageErrorFilter {
        external_id: Some(external),
        ..Default::default()
    };
    let mut rows = errors_with(world, filter).await;
    assert_eq!(rows.len(), 1);
    rows.push(message_row(world, new.message).await);
    rows.push(conversation_row(world, new.conversation).await);
    rows.push(row(world, Entity::Contacts, new.contact).await);
    assert!(world.claim(10).await.is_empty());
    assert_eq!(world.backlog().await.unwrap().sends, 0);
    rows
}

/// Removes the names of people, so that stories can be compared.
fn comparable(rows: Vec<Value>, to: &str) -> String {
    let mut text = Vec::new();
    for row in rows {
        let mut row = without_stamp(row);
        for key in [
            "id",
            "conversation_id",
            "message_id",
            "contact_id",
            "created_at",
        ] {
            row.as_object_mut().map(|fields| fields.remove(key));
        }
        text.push(row.to_string().replace(to, "TO"));
    }
    text.join("\n")
}

pub async fn the_answer_and_its_statuses_come_to_the_same_in_any_order(world: &World) {
    let orders = [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [3, 2, 1, 0],
        [2, 3, 0, 1],
        [3, 0, 2, 1],
        [1, 2, 3, 0],
    ];
    let mut ends = Vec::new();
    for (number, order) in orders.iter().enumerate() {
        for by_own_id in [false, true] {
            let to = format!(
                "+55119876{:05}",
                40_000 + 2 * number + usize::from(by_own_id)
            );
            let rows = story(world, &to, order, by_own_id).await;
            ends.push((order, by_own_id, comparable(rows, &to)));
        }
    }
    for (order, by_own_id, end) in &ends {
        assert_eq!(*end, ends[0].2, "{order:?}, by its own id: {by_own_id}");
    }
}

/// Answer and status in one commit, in either order.
pub async fn the_answer_and_a_status_meet_in_one_commit(world: &World) {
    for (number, status_first) in [false, true].into_iter().enumerate() {
        let external = format!("w{number}");
        let to = format!("+55119876{:05}", 40_000 + number);
        let new = store(world, urgent(world, &to)).await;
        let answer = sent(line(world), new.message, 0, accepted(world, &external));
        let reported = status(world, &external, at(MessageState::Delivered, world.now()));
        let mut writes = vec![answer, world.accept(vec![reported])];
        if status_first {
            writes.reverse();
        }
        world.commit(&writes).await;
        let row = message_row(world, new.message).await;
        assert_eq!(row["metadata"]["status"], "delivered");
        assert_eq!(row["metadata"]["acceptedAt"], json!(world.now()));
        assert_eq!(row["delivered_at"], json!(world.now()));
    }
}

pub async fn a_failure_is_one_row_and_filled_when_its_message_is_known(world: &World) {
    let person = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let new = store(world, urgent(world, PHONE)).await;
    let wrong = || status(world, "w1", failed(world, "131026", Category::Recipient));
    let item = world.item(wrong()).await;
    assert_eq!((item.status, item.contact_id), (ItemStatus::Updated, None));
    let expect = json!({
        "workspace_id": world.workspace, "recipient_id": PHONE, "deal_id": null,
        "conversation_id": null, "agent_id": world.first_agent, "message_id": null,
        "external_id": "w1", "error_code": "131026", "error_title": "title of 131026",
        "error_description": "description of 131026", "error_details": null,
        "template_name": null, "channel": "whatsapp", "occurred_at": world.now(),
    });
    let [before] = errors(world).await.try_into().expect("one row");
    let mut bare = without_stamp(before.clone());
    bare.as_object_mut().map(|fields| fields.remove("id"));
    assert_eq!(bare, expect);
    assert_eq!(world.item(wrong()).await.status, ItemStatus::Duplicate);
    assert_eq!(errors(world).await, std::slice::from_ref(&before));
    let occurred_at = world.now();
    world.advance(3).await;
    settle_send(world, new.message, 0, accepted(world, "w1")).await;
    let [after] = errors(world).await.try_into().expect("the same row");
    assert_eq!(after["id"], before["id"]);
    assert!(after["cursor_at"].as_str() > before["cursor_at"].as_str());
    assert_eq!(after["message_id"], json!(new.message));
    assert_eq!(after["conversation_id"], json!(new.conversation));
    assert_eq!(after["deal_id"], json!(person.deal_id));
    assert_eq!(after["template_name"], "welcome");
    assert_eq!(
        after["recipient_id"], "+551187654321",
        "as the contact is known"
    );
    assert_eq!(after["occurred_at"], json!(occurred_at));
    // Another code is another row; an earlier time for the same code changes
    // the row's time.
    let other = MessageProgress::failed(world.now(), error("131000", Category::Transient));
    world.item(status(world, "w1", other)).await;
    let earlier = MessageProgress::failed(START, error("131026", Category::Recipient));
    world.item(status(world, "w1", earlier)).await;
    let rows = errors(world).await;
    assert_eq!(rows.len(), 2);
    let row = rows
        .iter()
        .find(|row| row["id"] == before["id"])
        .expect("it is there");
    assert_eq!(row["occurred_at"], json!(START));
    let metadata = message_row(world, new.message).await["metadata"].clone();
    assert_eq!(metadata["failedAt"], json!(START));
    let codes: Vec<_> = metadata["errors"].list().iter().collect();
    fields!(codes, {"0.code": "131000", "1.code": "131026"});
}

pub async fn a_status_without_progress_is_ignored(world: &World) {
    let new = out(world, "w1").await;
    let before = message_row(world, new.message).await;
    let item = world
        .item(status(world, "w1", MessageProgress::default()))
        .await;
    assert_eq!(item.status, ItemStatus::Ignored);
    assert!(item.message.expect("it says so").contains("`word`"));
    assert_eq!(message_row(world, new.message).await, before);
}

pub async fn an_id_of_another_instance_is_not_ours(world: &World) {
    let other = Notification {
        channel: other_line(world),
        ..urgent(world, PHONE)
    };
    let other = store(world, other).await;
    let reported = status_of(
        world,
        "w1",
        Some(other.message),
        at(MessageState::Read, world.now()),
    );
    let item = world.item(reported).await;
    assert_eq!(
        (item.status, item.contact_id),
        (ItemStatus::Updated, None),
        "kept, unknown"
    );
    let row = message_row(world, other.message).await;
    assert_eq!(row["metadata"]["status"], "sending");
    // The same id of a message on another line is another message.
    let written = world
        .commit(&[sent(
            other_line(world),
            other.message,
            0,
            accepted(world, "w1"),
        )])
        .await;
    assert_eq!(state_of(&written[0]), MessageState::Accepted);
}

pub async fn two_ids_are_one_message(world: &World) {
    let new = store(world, urgent(world, PHONE)).await;
    let outcome = SendOutcome::Accepted {
        external_ids: vec!["w1".to_owned(), "g1".to_owned()],
        recipient_id: None,
        progress: at(MessageState::Accepted, world.now()),
        word: None,
    };
    settle_send(world, new.message, 0, outcome).await;
    world
        .item(status(world, "g1", at(MessageState::Sent, world.now())))
        .await;
    world
        .item(status(
            world,
            "w1",
            at(MessageState::Delivered, world.now()),
        ))
        .await;
    // A third id that arrives with our own id.
    let third = status_of(
        world,
        "x1",
        Some(new.message),
        at(MessageState::Read, world.now()),
    );
    world.item(third).await;
    let again = world
        .item(status(world, "x1", at(MessageState::Read, world.now())))
        .await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    let row = message_row(world, new.message).await;
    fields!(row, {"metadata.status": "read", "metadata.externalIds": ["g1", "w1", "x1"]});
}

pub async fn a_webhook_of_a_thousand_events_is_one_commit(world: &World) {
    let mut writes = Vec::new();
    for number in 0..500 {
        let to = format!("+5511987{:06}", 100_000 + number);
        writes.push(Write::Notify(Box::new(urgent(world, &to))));
    }
    let messages: Vec<_> = world.commit(&writes).await;
    let messages: Vec<_> = messages
        .into_iter()
        .map(|w| stored(notified(w)).message)
        .collect();
    let answers: Vec<_> = messages
        .iter()
        .map(|id| sent(line(world), *id, 0, accepted(world, &format!("w-{id}"))))
        .collect();
    world.commit(&answers).await;
    let mut events = Vec::new();
    for id in &messages {
        let external = format!("w-{id}");
        events.push(status(
            world,
            &external,
            at(MessageState::Delivered, world.now()),
        ));
        events.push(status(
            world,
            &external,
            at(MessageState::Read, world.now()),
        ));
    }
    let outcome = world.deliver(events).await;
    assert_eq!(outcome.items.len(), 1_000);
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let rows = world.all(Entity::Messages).await;
    assert_eq!(rows.len(), 500);
    assert!(rows.iter().all(|row| row["metadata"]["status"] == "read"));
    let stamps: std::collections::BTreeSet<_> = rows
        .iter()
        .map(|row| row["cursor_at"].to_string())
        .collect();
    assert_eq!(stamps.len(), 500);
}

pub async fn statuses_of_unknown_messages_are_forgotten_and_the_report_is_not(world: &World) {
    world
        .item(status(world, "w1", at(MessageState::Read, world.now())))
        .await;
    let wrong = failed(world, "131026", Category::Recipient);
    world.item(status(world, "w2", wrong.clone())).await;
    let sweep = async || world.sweep(&RETENTION, world.now(), 100).await.unwrap();
    world.advance(seconds(limits::REFERENCE_RETENTION)).await;
    assert_eq!(sweep().await, 0);
    world.advance(1).await;
    assert_eq!(sweep().await, 2);
    let new = out(world, "w1").await;
    let row = message_row(world, new.message).await;
    assert_eq!(row["metadata"]["status"], "accepted");
    assert_eq!(errors(world).await.len(), 1);
    // Statuses of known messages stay.
    world.advance(100 * 86_400).await;
    sweep().await;
    world
        .item(status(world, "w1", at(MessageState::Read, START)))
        .await;
    let row = message_row(world, new.message).await;
    assert_eq!(row["metadata"]["status"], "read");
}
