//! Many statuses in a random order, with repeats, give the same result as in order:
//! through webhooks of a thousand, every decision and the store.

use std::collections::BTreeMap;

use leadhost_domain::message::MessageState;
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::{Json, On, Random, sized};
use serde_json::Value;

use super::super::world::*;
use super::*;

leadhost_tests::on_every_store! {
    many_statuses_have_the_same_result_in_any_order,
}

/// The number of statuses: as many as take some seconds.
fn size(on: &On) -> usize {
    match on {
        On::Sqlite => sized(4_000, 20_000),
        On::Postgres(_) => sized(2_000, 10_000),
    }
}

/// Statuses of one message, repeats included.
const PER_MESSAGE: usize = 50;
const PER_WEBHOOK: usize = 1_000;

/// The possible statuses of a message: so few that most of them are repeated often.
fn said(message: usize, number: usize) -> MessageProgress {
    let seconds = i64::try_from(number / 7 * 13 + message % 5).unwrap();
    let time = START.plus_seconds(seconds);
    let wrong = |code: &str, category| {
        let mut error = error(code, category);
        error.details = "x".repeat(number % 3);
        MessageProgress::failed(time, error)
    };
    match number % 7 {
        0 => at(MessageState::Accepted, time),
        1 => at(MessageState::Sent, time),
        2 => at(MessageState::Delivered, time),
        3 if message.is_multiple_of(2) => at(MessageState::Read, time),
        4 if message.is_multiple_of(3) => wrong("131026", Category::Recipient),
        5 if message.is_multiple_of(9) => wrong("131050", Category::OptOut),
        _ => at(MessageState::Sent, time),
    }
}

async fn many_statuses_have_the_same_result_in_any_order(on: On) {
    let world = World::start(on).await;
    let world = &world;
    let messages = size(&world.on) / PER_MESSAGE;
    let mut order: Vec<(usize, usize)> = (0..messages)
        .flat_map(|message| (0..PER_MESSAGE).map(move |number| (message, number % 28)))
        .collect();
    let in_order = play(world, "a", messages, &order).await;
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for at in (1..order.len()).rev() {
        order.swap(at, random.count(at + 1));
    }
    let shuffled = play(world, "b", messages, &order).await;
    assert_eq!(in_order.len(), shuffled.len());
    for (name, end) in in_order {
        assert_eq!(Some(&end), shuffled.get(&name), "{name}");
    }
}

/// Sends messages, every second of which is answered only after all statuses, and
/// plays the statuses in this order. Returns the final state of each message, its
/// failures and its contact.
async fn play(
    world: &World,
    run: &str,
    messages: usize,
    order: &[(usize, usize)],
) -> BTreeMap<String, String> {
    let external = |message: usize| format!("{run}-{message}");
    let mut stored_messages = Vec::new();
    for chunk in (0..messages).collect::<Vec<_>>().chunks(500) {
        let person = |message: &usize| {
            let to = number_of(run, *message);
            Write::Notify(Box::new(urgent(world, &to)))
        };
        let writes: Vec<_> = chunk.iter().map(person).collect();
        let written = world.commit(&writes).await;
        stored_messages.extend(written.into_iter().map(|w| stored(notified(w)).message));
    }
    let answer = |message: usize| {
        let outcome = accepted(world, &external(message));
        sent(line(world), stored_messages[message], 0, outcome)
    };
    let answers = |odd: bool| -> Vec<Write> {
        let asked = (0..messages).filter(|message| (message % 2 == 1) == odd);
        asked.map(answer).collect()
    };
    for chunk in answers(false).chunks(500) {
        world.commit(chunk).await;
    }
    for webhook in order.chunks(PER_WEBHOOK) {
        let event = |(message, number): &(usize, usize)| {
            let own = number.is_multiple_of(4).then(|| stored_messages[*message]);
            status_of(world, &external(*message), own, said(*message, *number))
        };
        let events = webhook.iter().map(event).collect();
        world.deliver(events).await;
    }
    for chunk in answers(true).chunks(500) {
        world.commit(chunk).await;
    }
    let mut ends = BTreeMap::new();
    let ours = format!("{run}-");
    for row in rows(world, Entity::Messages).await {
        let id = row["metadata"]["externalIds"][0].text().to_owned();
        if let Some(name) = id.strip_prefix(&ours) {
            let end = format!(
                "{} {} {}",
                row["metadata"], row["delivered_at"], row["read_at"]
            );
            ends.insert(format!("message {name}"), end.replace(&ours, ""));
        }
    }
    for row in rows(world, Entity::MessageErrors).await {
        let id = row["external_id"].text().to_owned();
        if let Some(name) = id.strip_prefix(&ours) {
            let end = format!("{} {}", row["occurred_at"], row["error_details"]);
            let known = row["message_id"].is_string() && row["conversation_id"].is_string();
            ends.insert(
                format!("failure {name} {}", row["error_code"]),
                format!("{end} {known}"),
            );
        }
    }
    let people: BTreeMap<_, _> = (0..messages).map(|at| (number_of(run, at), at)).collect();
    for row in rows(world, Entity::Contacts).await {
        let phone = row["phone_number"].text();
        if let Some(name) = people.get(phone) {
            ends.insert(format!("contact {name}"), row["banned_at"].to_string());
        }
    }
    assert!(ends.len() > 2 * messages);
    ends
}

fn number_of(run: &str, message: usize) -> String {
    let first = if run == "a" { 100_000 } else { 150_000 };
    format!("+5511987{:06}", first + message)
}

async fn rows(world: &World, entity: Entity) -> Vec<Value> {
    let mut rows = Vec::new();
    let (mut after, mut upper) = (0, None);
    loop {
        let page = world.page(entity, after, upper, 1_000).await;
        rows.extend(json_of(&page));
        upper = Some(page.upper);
        match page.rows.last() {
            Some(last) if page.more => after = last.stamp,
            _ => return rows,
        }
    }
}
