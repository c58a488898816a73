//! Statuses of messages: the same result in any order and with any repeats.

use super::*;

pub async fn each_state_has_its_time_and_read_is_delivered(world: &World) {
    let new = out(world, "w1").await;
    let start = world.now();
    let time = |seconds| start.plus_seconds(seconds);
    world.advance(60).await;
    for (state, seconds) in [(MessageState::Read, 9), (MessageState::Sent, 3)] {
        let item = world.item(status(world, "w1", at(state, time(seconds))));
        let item = item.await;
        assert_eq!(item.status, ItemStatus::Updated);
        assert_eq!(item.external_id.as_deref(), Some("w1"));
        assert_eq!(item.contact_id, Some(new.contact));
    }
    let row = message_row(world, new.message).await;
    fields!(row, {
        "metadata.status": "read", "metadata.acceptedAt": start, "metadata.sentAt": time(3),
        "delivered_at": time(9), "read_at": time(9),
    });
    let delivered = at(MessageState::Delivered, time(5));
    world.item(status(world, "w1", delivered)).await;
    let row = message_row(world, new.message).await;
    fields!(row, {"delivered_at": time(5), "metadata.status": "read"});
}

pub async fn a_status_without_news_changes_no_row(world: &World) {
    let new = out(world, "w1").await;
    let delivered = |seconds| {
        let progress = at(MessageState::Delivered, START.plus_seconds(seconds));
        status(world, "w1", progress)
    };
    let wrong = failed(world, "131026", Category::Recipient);
    let wrong = || status(world, "w1", wrong.clone());
    world.deliver(vec![delivered(0), wrong()]).await;
    let rows = async || {
        let mut rows = errors(world).await;
        for entity in [Entity::Messages, Entity::Conversations, Entity::Contacts] {
            rows.extend(world.all(entity).await);
        }
        rows
    };
    let before = rows().await;
    world.advance(1).await;
    let again = vec![delivered(0), delivered(5), wrong(), delivered(0)];
    let again = world.deliver(again).await;
    assert_eq!(again.status, DeliveryStatus::Duplicate);
    assert_eq!(statuses(&again.items), [ItemStatus::Duplicate; 4]);
    assert_eq!(rows().await, before, "not even a stamp");
    let metadata = metadata(world, new.message).await;
    assert_eq!(metadata["status"], "delivered", "failed gives way");
}

/// Returns the final rows after the answer and the statuses arrive in this
/// order.
async fn story(world: &World, to: &str, order: &[usize], by_own_id: bool) -> Vec<Value> {
    let new = send(world, to).await;
    let time = |seconds| START.plus_seconds(seconds);
    let external = format!("w{to}");
    let id = by_own_id.then_some(new.message);
    for step in order {
        let progress = match step {
            0 => {
                let outcome = accepted_at(&[&external], Some(&PHONE[1..]), time(2));
                let written = settle_send(world, new.message, 0, outcome).await;
                assert!(matches!(written, WriteOutcome::Message(_)));
                continue;
            }
            1 => at(MessageState::Sent, time(1)),
            2 => at(MessageState::Read, time(3)),
            _ => MessageProgress::failed(time(4), error("131050", Category::OptOut)),
        };
        world.item(status_of(world, &external, id, progress)).await;
    }
    let filter = MessageErrorFilter {
        external_id: Some(external),
        ..Default::default()
    };
    let mut rows = errors_with(world, filter).await;
    assert_eq!(rows.len(), 1);
    rows.push(message_row(world, new.message).await);
    rows.push(conversation_row(world, new.conversation).await);
    rows.push(world.contact(new.contact).await);
    assert!(world.claim(10).await.is_empty());
    assert_eq!(world.backlog().await.unwrap().sends, 0);
    rows
}

/// Removes the names of people, so that stories can be compared.
fn comparable(rows: Vec<Value>, to: &str) -> Vec<String> {
    const OWN: [&str; 7] = [
        "cursor_at",
        "updated_at",
        "id",
        "conversation_id",
        "message_id",
        "contact_id",
        "created_at",
    ];
    let of = |row| without(row, &OWN).to_string().replace(to, "TO");
    rows.into_iter().map(of).collect()
}

pub async fn the_answer_and_its_statuses_come_to_the_same_in_any_order(world: &World) {
    let mut ends = Vec::new();
    for order in [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [3, 2, 1, 0],
        [2, 3, 0, 1],
        [3, 0, 2, 1],
        [1, 2, 3, 0],
    ] {
        for by_own_id in [false, true] {
            let to = format!("+55119876{:05}", 40_000 + ends.len());
            let rows = story(world, &to, &order, by_own_id).await;
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
        let new = send(world, &to).await;
        let answer = sent(line(world), new.message, 0, accepted(world, &external));
        let reported = status(world, &external, at(MessageState::Delivered, world.now()));
        let mut writes = vec![answer, world.accept(vec![reported])];
        if status_first {
            writes.reverse();
        }
        world.commit(&writes).await;
        fields!(message_row(world, new.message).await, {
            "metadata.status": "delivered", "metadata.acceptedAt": world.now(),
            "delivered_at": world.now(),
        });
    }
}

pub async fn a_failure_is_one_row_and_filled_when_its_message_is_known(world: &World) {
    let person = world.bring(with_phone(world.lead(), "+551187654321")).await;
    let new = send(world, PHONE).await;
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
    let bare = without(before.clone(), &["id", "cursor_at", "updated_at"]);
    assert_eq!(bare, expect);
    assert_eq!(world.item(wrong()).await.status, ItemStatus::Duplicate);
    assert_eq!(errors(world).await, std::slice::from_ref(&before));
    let occurred_at = world.now();
    world.advance(3).await;
    settle_send(world, new.message, 0, accepted(world, "w1")).await;
    let [after] = errors(world).await.try_into().expect("the same row");
    assert!(after["cursor_at"].as_str() > before["cursor_at"].as_str());
    fields!(after, {
        "id": before["id"], "message_id": new.message, "conversation_id": new.conversation,
        "deal_id": person.deal_id, "template_name": "welcome", "occurred_at": occurred_at,
        // As the contact is known.
        "recipient_id": "+551187654321",
    });
    // Another code is another row; an earlier time for the same code changes
    // the row's time.
    let other = failed(world, "131000", Category::Transient);
    world.item(status(world, "w1", other)).await;
    let earlier = MessageProgress::failed(START, error("131026", Category::Recipient));
    world.item(status(world, "w1", earlier)).await;
    let rows = errors(world).await;
    assert_eq!(rows.len(), 2);
    let row = rows.iter().find(|row| row["id"] == before["id"]);
    fields!(row.expect("it is there"), {"occurred_at": START});
    fields!(metadata(world, new.message).await, {
        "failedAt": START, "errors.0.code": "131000", "errors.1.code": "131026", "errors.2": null,
    });
}

pub async fn a_status_without_progress_is_ignored(world: &World) {
    let new = out(world, "w1").await;
    let before = message_row(world, new.message).await;
    let nothing = status(world, "w1", MessageProgress::default());
    let item = world.item(nothing).await;
    assert_eq!(item.status, ItemStatus::Ignored);
    has!(item.message.expect("it says so"), "`word`");
    assert_eq!(message_row(world, new.message).await, before);
}

pub async fn an_id_of_another_instance_is_not_ours(world: &World) {
    let other = Notification {
        channel: other_line(world),
        ..urgent(world, PHONE)
    };
    let other = store(world, other).await.message;
    let read = at(MessageState::Read, world.now());
    let item = world.item(status_of(world, "w1", Some(other), read)).await;
    let kept_unknown = (ItemStatus::Updated, None);
    assert_eq!((item.status, item.contact_id), kept_unknown);
    fields!(metadata(world, other).await, {"status": "sending"});
    // The same id of a message on another line is another message.
    let write = sent(other_line(world), other, 0, accepted(world, "w1"));
    let written = world.write(write).await;
    assert_eq!(state_of(&written), MessageState::Accepted);
}

pub async fn two_ids_are_one_message(world: &World) {
    let new = send(world, PHONE).await.message;
    let outcome = accepted_at(&["w1", "g1"], None, world.now());
    settle_send(world, new, 0, outcome).await;
    said(world, "g1", MessageState::Sent).await;
    said(world, "w1", MessageState::Delivered).await;
    // A third id that arrives with our own id.
    let read = at(MessageState::Read, world.now());
    world.item(status_of(world, "x1", Some(new), read)).await;
    let again = said(world, "x1", MessageState::Read).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    let metadata = metadata(world, new).await;
    fields!(metadata, {"status": "read", "externalIds": ["g1", "w1", "x1"]});
}

pub async fn a_webhook_of_a_thousand_events_is_one_commit(world: &World) {
    let to = |number| format!("+5511987{:06}", 100_000 + number);
    let writes: Vec<_> = (0..500)
        .map(|number| notify_write(urgent(world, &to(number))))
        .collect();
    let written = world.commit(&writes).await.into_iter();
    let messages: Vec<_> = written.map(|written| stored(written).message).collect();
    let answers: Vec<_> = messages
        .iter()
        .map(|id| sent(line(world), *id, 0, accepted(world, &format!("w-{id}"))))
        .collect();
    world.commit(&answers).await;
    let states = [MessageState::Delivered, MessageState::Read];
    let events = messages.iter().flat_map(|id| {
        let external = format!("w-{id}");
        states.map(|state| status(world, &external, at(state, world.now())))
    });
    let outcome = world.deliver(events.collect()).await;
    assert_eq!(outcome.items.len(), 1_000);
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    let rows = world.all(Entity::Messages).await;
    assert_eq!(rows.len(), 500);
    assert!(rows.iter().all(|row| row["metadata"]["status"] == "read"));
    let stamps = rows.iter().map(|row| row["cursor_at"].to_string());
    assert_eq!(stamps.collect::<BTreeSet<_>>().len(), 500);
}

pub async fn statuses_of_unknown_messages_are_forgotten_and_the_report_is_not(world: &World) {
    said(world, "w1", MessageState::Read).await;
    let wrong = failed(world, "131026", Category::Recipient);
    world.item(status(world, "w2", wrong)).await;
    world.advance(seconds(limits::REFERENCE_RETENTION)).await;
    assert_eq!(world.swept(100).await, 0);
    world.advance(1).await;
    assert_eq!(world.swept(100).await, 2);
    let new = out(world, "w1").await.message;
    fields!(metadata(world, new).await, {"status": "accepted"});
    assert_eq!(errors(world).await.len(), 1);
    // Statuses of known messages stay.
    world.advance(100 * DAY).await;
    world.swept(100).await;
    let read = at(MessageState::Read, START);
    world.item(status(world, "w1", read)).await;
    fields!(metadata(world, new).await, {"status": "read"});
}
