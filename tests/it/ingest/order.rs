//! Events of a source that arrive in another order than they happened.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_pipeline::replay;
use leadhost_store::DeliveryDetail;
use leadhost_tests::{Answer, Declared, Host, On, fields, guests};
use serde_json::{Value, json};

use super::replay_options;

leadhost_tests::on_every_store! {
    an_older_update_that_arrives_last_changes_nothing_that_is_newer,
    without_times_or_with_equal_ones_the_last_arrival_counts,
    an_older_update_fills_what_is_empty,
    each_value_has_the_time_of_the_event_that_gave_it,
    a_replay_of_an_older_delivery_does_not_roll_a_deal_back,
    an_older_delete_does_not_mark_a_deal,
    a_create_completes_the_deal_of_an_update_that_overtook_it,
    a_delete_or_an_update_of_a_known_person_may_come_first,
    several_events_in_one_body_are_ordered_by_their_times,
    a_create_without_a_phone_greets_the_phone_of_the_update,
    pairs_that_come_at_once_are_one_deal_each,
}

const FILE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
[[connections]]
name = "crm"
partner = "acme"
plugin = "mapping"
[connections.greeting]
instance = "voice"
template = "welcome"
parameters = ["{firstName}"]
[connections.config.fields]
externalId = "entityId"
name = "new.name"
phones = "new.phone"
emails = "new.email"
message = "new.note"
occurredAt = "eventTime"
[connections.config.fields.action]
path = "topicId"
map = { "applicants.created" = "create", "applicants.modified" = "update", "applicants.deleted" = "delete" }
"#;

struct Crm {
    host: Host,
    declared: Declared,
}

impl Crm {
    async fn new(on: On) -> Self {
        let host = Host::working(on).await;
        host.converter(guests::sandbox()).await;
        host.activate("converter-mapping").await;
        let declared = host.declare(FILE).await;
        Self { host, declared }
    }

    async fn post(&self, event: &Value) -> Answer {
        self.host.advance(1).await;
        let ask = self.host.post(&self.declared.address("crm")).json(event);
        ask.send().await.expect(200)
    }

    /// Posts an event. Returns the lead of the answer.
    async fn send(&self, what: &str, time: Option<&str>, new: Value) -> Value {
        let answer = self.post(&event("OXF0001", what, time, new)).await;
        let answer = answer.json();
        match &answer["leads"][0] {
            Value::Null => answer["problems"][0].clone(),
            lead => lead.clone(),
        }
    }

    async fn deals(&self, external_id: &str) -> Vec<Value> {
        let ask = self.host.get(&format!("/deal?externalId={external_id}"));
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        let found = ask.send().await.expect(200).json();
        found.as_array().expect("a list").clone()
    }

    /// Returns the name, the phone, the address and the time of the only deal.
    async fn deal(&self) -> [Value; 4] {
        let mut found = self.deals("OXF0001").await;
        assert_eq!(found.len(), 1, "{found:?}");
        let deal = found.remove(0);
        let person = &deal["person"];
        let time = &deal["deal"]["props"]["occurredAt"];
        [
            &person["name"],
            &person["phoneNumber"],
            &person["email"],
            time,
        ]
        .map(Clone::clone)
    }

    async fn replay(&self, delivery: &DeliveryDetail) {
        let options = replay_options(true, false);
        let again = replay::one(&self.host.app.pipeline, delivery.summary.id, options).await;
        let again = again.expect("it is replayed");
        assert!(
            again
                .items
                .iter()
                .all(|item| item.diff.iter().all(|one| !one.applied))
        );
    }

    async fn messages(&self) -> usize {
        self.host.rows(&self.declared, "messages").await.len()
    }
}

fn event(id: &str, what: &str, time: Option<&str>, new: Value) -> Value {
    let mut event = json!({"topicId": format!("applicants.{what}"), "entityId": id, "new": new});
    if let Some(time) = time {
        event["eventTime"] = json!(format!("2026-03-02T{time}:00Z"));
    }
    event
}

const OLDER: &str = "older than what is known";

const FIRST: &str = "+5511900000201";
const SECOND: &str = "+5511900000202";

fn rui(name: &str, phone: &str) -> Value {
    json!({"name": name, "phone": phone, "email": "rui@example.com"})
}

fn as_known(name: &str, phone: &str, minute: &str) -> [Value; 4] {
    let time = format!("2026-03-02T{minute}:00.000000Z");
    [
        json!(name),
        json!(phone),
        json!("rui@example.com"),
        json!(time),
    ]
}

async fn an_older_update_that_arrives_last_changes_nothing_that_is_newer(on: On) {
    let crm = Crm::new(on).await;
    crm.send("modified", Some("12:05"), rui("Rui Costa Lima", SECOND))
        .await;
    let late = crm.send("modified", Some("12:01"), rui("Rui Costa", FIRST));
    let late = late.await;
    fields!(late, {"status": "duplicate", "message": OLDER});
    let known = as_known("Rui Costa Lima", SECOND, "12:05");
    assert_eq!(crm.deal().await, known);
    // A newer one counts.
    let next = crm.send("modified", Some("12:06"), rui("Rui Lima", FIRST));
    let next = next.await;
    fields!(next, {"status": "updated", "message": null});
    assert_eq!(crm.deal().await, as_known("Rui Lima", FIRST, "12:06"));
}

async fn without_times_or_with_equal_ones_the_last_arrival_counts(on: On) {
    let crm = Crm::new(on).await;
    for time in [Some("12:05"), None] {
        crm.send("modified", time, rui("Rui Costa Lima", SECOND))
            .await;
        let last = crm.send("modified", time, rui("Rui Costa", FIRST)).await;
        assert_eq!(last["status"], "updated", "{time:?}");
        let [name, phone, ..] = crm.deal().await;
        let expect = (json!("Rui Costa"), json!(FIRST));
        assert_eq!((name, phone), expect, "{time:?}");
    }
}

async fn an_older_update_fills_what_is_empty(on: On) {
    let crm = Crm::new(on).await;
    crm.send("modified", Some("12:05"), json!({"name": "Rui Costa Lima"}))
        .await;
    let mut older = rui("Rui Costa", FIRST);
    older["note"] = json!("Procura um apartamento");
    let late = crm.send("modified", Some("12:01"), older).await;
    fields!(late, {"status": "updated", "message": OLDER});
    assert_eq!(crm.deal().await, as_known("Rui Costa Lima", FIRST, "12:05"));
    let props = crm.deals("OXF0001").await.remove(0)["deal"]["props"].clone();
    assert_eq!(props["message"], "Procura um apartamento");
    let said = json!({"name": "Rui Costa Lima", "phones": [FIRST], "emails": ["rui@example.com"]});
    assert_eq!(props["contact"], said);
    // What an older event filled is as old as that event.
    crm.send("modified", Some("12:03"), json!({"phone": SECOND}))
        .await;
    assert_eq!(
        crm.deal().await,
        as_known("Rui Costa Lima", SECOND, "12:05")
    );
}

async fn each_value_has_the_time_of_the_event_that_gave_it(on: On) {
    let crm = Crm::new(on).await;
    crm.send("created", Some("12:00"), rui("Rui", FIRST)).await;
    crm.send("modified", Some("12:05"), json!({"phone": SECOND}))
        .await;
    let late = crm.send("modified", Some("12:01"), rui("Rui Costa", FIRST));
    let late = late.await;
    fields!(late, {"status": "updated", "message": OLDER});
    assert_eq!(crm.deal().await, as_known("Rui Costa", SECOND, "12:05"));
}

async fn a_replay_of_an_older_delivery_does_not_roll_a_deal_back(on: On) {
    let crm = Crm::new(on).await;
    for (first, second) in [
        (Some("12:05"), Some("12:01")),
        (None, None),
        (Some("12:05"), Some("12:05")),
    ] {
        let times = [first, second];
        let mut stored = Vec::new();
        for (time, new) in times
            .iter()
            .zip([rui("Rui Costa Lima", SECOND), rui("Rui Costa", FIRST)])
        {
            let answer = crm.post(&event("OXF0001", "modified", *time, new)).await;
            stored.push(crm.host.delivery(&answer).await);
        }
        let known = crm.deal().await;
        for delivery in stored.iter().chain([&stored[0]]) {
            crm.replay(delivery).await;
            assert_eq!(crm.deal().await, known, "{times:?}");
        }
    }
}

async fn an_older_delete_does_not_mark_a_deal(on: On) {
    let crm = Crm::new(on).await;
    crm.send("created", Some("12:00"), rui("Rui", FIRST)).await;
    crm.send("modified", Some("12:05"), json!({"phone": SECOND}))
        .await;
    let late = crm.send("deleted", Some("12:01"), json!({})).await;
    fields!(late, {"status": "duplicate", "message": OLDER});
    let last = crm.send("deleted", Some("12:06"), json!({})).await;
    assert_eq!(last["status"], "updated");
}

async fn a_create_completes_the_deal_of_an_update_that_overtook_it(on: On) {
    let crm = Crm::new(on).await;
    let person = json!({"name": "Bia", "phone": FIRST, "email": "bia@example.com"});
    // With times, without, and with a create that says it is newer.
    for (number, times) in [
        (1, [Some("12:05"), Some("12:00")]),
        (2, [None, None]),
        (3, [Some("12:00"), Some("12:05")]),
    ] {
        let id = format!("OXF000{number}");
        let mut person = person.clone();
        person["phone"] = json!(format!("+551190000030{number}"));
        person["email"] = json!(format!("bia{number}@example.com"));
        let first = crm
            .post(&event(
                &id,
                "modified",
                times[0],
                json!({"name": "Bia Reis"}),
            ))
            .await;
        assert_eq!(first.json()["status"], "converted");
        assert_eq!(crm.messages().await, number - 1);
        let create = event(&id, "created", times[1], person.clone());
        let made = crm.post(&create).await;
        assert_eq!(made.json()["leads"][0]["status"], "updated", "{times:?}");
        let found = crm.deals(&id).await;
        assert_eq!(found.len(), 1);
        let expect = json!({"name": "Bia Reis", "phoneNumber": person["phone"], "email": person["email"],
            "id": found[0]["person"]["id"]});
        assert_eq!(found[0]["person"], expect, "{times:?}");
        assert_eq!(crm.messages().await, number);
        // Repeats are duplicates, and so is one with another content.
        let mut changed = create.clone();
        changed["new"]["note"] = json!("Outra");
        for repeat in [&create, &changed] {
            assert_eq!(crm.post(repeat).await.json()["status"], "duplicate");
        }
        assert_eq!(crm.deals(&id).await, found);
        assert_eq!(crm.messages().await, number);
        crm.replay(&crm.host.delivery(&made).await).await;
        assert_eq!(crm.deals(&id).await, found);
    }
    assert_eq!(crm.host.rows(&crm.declared, "contacts").await.len(), 3);
}

async fn several_events_in_one_body_are_ordered_by_their_times(on: On) {
    let crm = Crm::new(on).await;
    let new = json!({"name": "Nova", "phone": FIRST});
    let old = json!({"name": "Velha"});
    for (id, known) in [("OXF0001", false), ("OXF0002", true)] {
        if known {
            let first = event(id, "created", Some("11:00"), json!({"name": "Primeira"}));
            crm.post(&first).await;
        }
        let body = json!([
            event(id, "modified", Some("12:05"), new.clone()),
            event(id, "modified", Some("12:01"), old.clone()),
        ]);
        let answer = crm.post(&body).await;
        let message = &answer.json()["leads"][1]["message"];
        assert_eq!(message, "older than what is known", "{}", answer.json());
        let stored = crm.host.delivery(&answer).await;
        for _ in 0..2 {
            let found = crm.deals(id).await;
            let props = &found[0]["deal"]["props"];
            let said = json!({"name": "Nova", "phones": [FIRST]});
            fields!(props, {"contact": said, "occurredAt": "2026-03-02T12:05:00.000000Z"}; "{id}");
            crm.replay(&stored).await;
        }
    }
}

async fn a_create_without_a_phone_greets_the_phone_of_the_update(on: On) {
    let crm = Crm::new(on).await;
    let update = json!({"name": "Bia Reis", "phone": FIRST});
    crm.send("modified", Some("12:03"), update).await;
    assert_eq!(crm.messages().await, 0);
    let create = event("OXF0001", "created", Some("12:00"), json!({"name": "Bia"}));
    crm.post(&create).await;
    assert_eq!(crm.messages().await, 1);
    // A lead that was announced without one is not greeted, and the note says why.
    let without = json!({"name": "Rui", "email": "rui@example.com"});
    let announced = event("OXF0002", "created", Some("12:00"), without);
    let answer = crm.post(&announced).await;
    let notes = crm.host.delivery(&answer).await.notes;
    let why = "no greeting `welcome`: the lead has no phone to send it to";
    assert!(notes.iter().any(|note| note == why), "{notes:?}");
    assert_eq!(crm.messages().await, 1);
}

async fn a_delete_or_an_update_of_a_known_person_may_come_first(on: On) {
    let crm = Crm::new(on).await;
    let ignored = crm.send("deleted", Some("12:06"), json!({})).await;
    assert_eq!(ignored["status"], "ignored");
    crm.send("modified", Some("12:05"), json!({"name": "Rui Costa Lima"}))
        .await;
    crm.send("created", Some("12:00"), rui("Rui", FIRST)).await;
    assert_eq!(crm.deal().await, as_known("Rui Costa Lima", FIRST, "12:05"));
    assert_eq!(crm.messages().await, 1);
    // Another lead of the same person: its update names nobody, its create does.
    crm.post(&event("OXF0002", "modified", None, json!({"note": "Oi"})))
        .await;
    crm.post(&event("OXF0002", "created", None, rui("Rui", FIRST)))
        .await;
    let [one, two] = [crm.deals("OXF0001").await, crm.deals("OXF0002").await];
    assert_eq!(one[0]["person"]["id"], two[0]["person"]["id"]);
    let rows = crm.host.rows(&crm.declared, "conversations").await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["deal_id"], two[0]["deal"]["id"]);
}

async fn pairs_that_come_at_once_are_one_deal_each(on: On) {
    let crm = Crm::new(on).await;
    let address = crm.declared.address("crm");
    let mut all = Vec::new();
    for number in 100..140 {
        let id = format!("OXF{number}");
        let create = json!({"name": "Bia", "phone": format!("+5511900000{number}"), "email": format!("b{number}@example.com")});
        let events = [
            event(&id, "modified", Some("12:05"), json!({"name": "Bia Reis"})),
            event(&id, "created", Some("12:00"), create),
        ];
        for event in events {
            let ask = crm.host.post(&address).json(&event);
            all.push(tokio::spawn(async move { ask.send().await.expect(200) }));
        }
    }
    for sent in all {
        sent.await.expect("it is answered");
    }
    for number in 100..140 {
        let found = crm.deals(&format!("OXF{number}")).await;
        assert_eq!(found.len(), 1, "{number}");
        let person = &found[0]["person"];
        assert_eq!(person["name"], "Bia Reis");
        assert_eq!(person["phoneNumber"], format!("+5511900000{number}"));
        assert_eq!(person["email"], format!("b{number}@example.com"));
    }
    assert_eq!(crm.host.rows(&crm.declared, "contacts").await.len(), 40);
    assert_eq!(crm.messages().await, 40);
    let waiting = crm.host.with_status(DeliveryStatus::Queued).await;
    assert_eq!(waiting, Vec::new());
}
