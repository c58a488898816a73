//! Repairs: the replay, in the background, of all deliveries that a version converted. This file
//! has the helpers of the tests.
//!
//! A repair waits for a delivery that a host works on. So a test that needs a repair in its middle
//! holds one of its deliveries.

mod background;
mod receipt;
mod refusals;
mod split;
mod undo;

use std::time::Duration;

use leadhost_domain::id::{ContactId, DealId, DeliveryId};
use leadhost_domain::key::PlainKey;
use leadhost_domain::plugin::Digest;
use leadhost_domain::{contact, phone};
use leadhost_golden::append_custom;
use leadhost_store::{HeldDelivery, Write};
use leadhost_tests::components::component;
use leadhost_tests::{Answer, Ask, Declared, Host, Json as _, On, Options, until};
use serde_json::{Value, json};

/// Loses phones: the source calls them differently.
const WRONG: &str = r#"phones = "telefone""#;
const RIGHT: &str = r#"phones = "fone""#;

/// A host with leads that have lost their phones, and that now reads them. The version that converted the
/// leads is no longer active.
struct Repairing {
    host: Host,
    key: PlainKey,
    declared: Declared,
    wrong: Digest,
    /// Oldest first.
    leads: Vec<RepairedLead>,
}

struct RepairedLead {
    delivery: DeliveryId,
    deal: DealId,
    contact: ContactId,
}

impl Repairing {
    async fn new(on: On, leads: usize) -> Self {
        Self::with(Options::patient(on), leads).await
    }

    async fn with(options: Options, leads: usize) -> Self {
        let host = Host::working_with(options).await;
        let wrong = host.converter(wrong()).await;
        let declared = host.declare(&connection(WRONG)).await;
        let mut repairing = Self {
            key: host.admin_key().await,
            leads: Vec::new(),
            host,
            declared,
            wrong,
        };
        for number in 0..leads {
            let lead = repairing.tell(&lead(number)).await;
            repairing.leads.push(lead);
            repairing.host.advance(1).await;
        }
        repairing.configure(RIGHT).await;
        repairing.host.converter(right()).await;
        repairing
    }

    async fn tell(&self, lead: &Value) -> RepairedLead {
        let ask = self.host.post(&self.declared.address("site"));
        let answer = ask.json(lead).send().await.expect(200);
        let stored = self.host.delivery(&answer).await;
        RepairedLead {
            delivery: stored.summary.id,
            deal: stored.items[0].deal_id.expect("a deal"),
            contact: stored.items[0].contact_id.expect("a person"),
        }
    }

    async fn configure(&self, fields: &str) {
        self.host.declare(&connection(fields)).await;
    }

    /// The same, with an instance without a network.
    async fn declare_instance(&self, fields: &str) -> Declared {
        let instance = "[[instances]]\nname = \"voice\"\nnumber = \"+5511900000000\"\n\
            adapter = \"sandbox\"\n";
        let file = format!("{}{instance}", connection(fields));
        self.host.declare(&file).await
    }

    /// Notifies somebody through the instance. Returns the conversation.
    async fn notify(&self, declared: &Declared, phone: &str) -> String {
        let body = json!({
            "name": "Somebody", "phoneNumber": phone, "instanceId": declared.instance("voice"),
            "source": "site", "template": {"name": "welcome", "language": {"code": "pt_BR"}},
        });
        let ask = self.host.post("/send-notification").json(&body);
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        let answer = ask.send().await.expect(200).json();
        answer["conversationId"].text().to_owned()
    }

    async fn activate_wrong(&self) {
        self.host.converter(wrong()).await;
    }

    async fn activate_right(&self) {
        self.host.converter(right()).await;
    }

    async fn restart(self) -> Self {
        Self {
            host: self.host.restart().await,
            ..self
        }
    }

    fn ask(&self, method: &str, path: &str) -> Ask {
        let path = format!("/admin/v1{path}");
        self.host.admin(method, &path).bearer(&self.key)
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path).send().await.expect(200).json()
    }

    /// Asks for a repair of what the wrong version converted, unless the order says otherwise.
    async fn order(&self, mut order: Value) -> Answer {
        if order["convertedBy"].is_null() {
            order["convertedBy"] = json!(self.wrong.0);
        }
        self.ask("POST", "/repairs").json(&order).send().await
    }

    async fn begin(&self, order: Value) -> String {
        id(&self.order(order).await.expect(201).json())
    }

    async fn repaired(&self, order: Value) -> Value {
        let id = self.begin(order).await;
        let ended = self.ended(&id).await;
        assert_eq!(ended["state"], "done", "{ended:#}");
        ended
    }

    async fn shown(&self, id: &str) -> Value {
        self.get(&format!("/repairs/{id}")).await
    }

    /// Waits until the repair is shown like this.
    async fn until(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(what, async || {
            let shown = self.shown(id).await;
            is_so(&shown).then_some(shown)
        })
        .await
    }

    async fn ended(&self, id: &str) -> Value {
        let has_ended = |shown: &Value| !shown["endedAt"].is_null();
        self.until(id, "the repair has ended", has_ended).await
    }

    async fn has_replayed(&self, id: &str, count: usize) {
        let has = |shown: &Value| shown["deliveries"]["replayed"] == json!(count);
        self.until(id, &format!("{count} are replayed"), has).await;
    }

    async fn changes(&self, id: &str) -> Vec<Value> {
        let mut changes = Vec::new();
        let mut after = 0;
        loop {
            let page = format!("/repairs/{id}/changes?after={after}&limit=4");
            let page = self.get(&page).await;
            changes.extend_from_slice(page["changes"].list());
            match page["next"].as_i64() {
                Some(next) => after = next,
                None => return changes,
            }
        }
    }

    async fn act(&self, id: &str, act: &str) -> Answer {
        let path = format!("/repairs/{id}/{act}");
        self.ask("POST", &path).json(&json!({})).send().await
    }

    async fn undone(&self, id: &str) -> Value {
        self.act(id, "undo").await.expect(200);
        let ended = self.ended(id).await;
        assert_eq!(ended["state"], "undone", "{ended:#}");
        ended
    }

    /// Claims the delivery of a lead, as a host does that works on it.
    async fn hold(&self, lead: usize) -> HeldDelivery {
        let now = self.host.now();
        let until = now.plus(Duration::from_hours(1));
        let delivery = self.leads[lead].delivery;
        let held = self.host.store().claim_delivery(delivery, now, until).await;
        held.expect("a store").expect("the delivery is free")
    }

    async fn free(&self, held: HeldDelivery) {
        let release = Write::Release {
            delivery: held.delivery.id,
            lease: held.lease,
        };
        let freed = self.host.store().commit(&[release]).await;
        freed.expect("a store");
    }

    /// Everything that a repair may change of rows.
    async fn rows(&self) -> Vec<Value> {
        let mut rows = self.host.rows(&self.declared, "contacts").await;
        rows.extend(self.host.rows(&self.declared, "deals").await);
        rows
    }

    async fn phones(&self) -> Vec<Value> {
        let contacts = self.host.rows(&self.declared, "contacts").await;
        let of = |lead: &RepairedLead| {
            let id = json!(lead.contact.to_string());
            let row = contacts.iter().find(|row| row["id"] == id);
            row.expect("the contact is exported")["phone_number"].clone()
        };
        self.leads.iter().map(of).collect()
    }

    /// Checks that each lead has its phone again, and that the receipt has each change once.
    async fn check_whole(&self, id: &str) {
        let phones = (0..self.leads.len()).map(|number| json!(phone(number)));
        let phones: Vec<Value> = phones.collect();
        assert_eq!(self.phones().await, phones);
        let expect = self.leads.iter().enumerate();
        let expect = expect.flat_map(|(number, lead)| changes_of(number, lead));
        let expect: Vec<Change> = expect.collect();
        let changes = self.changes(id).await;
        let changes: Vec<Change> = changes.iter().map(change).collect();
        assert_eq!(changes, expect);
    }
}

/// A change: delivery, kind, row, field, value before and value after.
type Change = [Value; 6];

fn change(view: &Value) -> Change {
    ["deliveryId", "kind", "rowId", "field", "before", "after"].map(|name| view[name].clone())
}

fn changes_of(number: usize, lead: &RepairedLead) -> [Change; 3] {
    let name = format!("Person {number}");
    let said = json!({"name": name, "emails": [email(number)]});
    let mut whole = said.clone();
    whole["phones"] = json!([phone(number)]);
    let of = |kind: &str, row: String, field: &str, before: Value, after: Value| {
        let delivery = json!(lead.delivery.to_string());
        [
            delivery,
            json!(kind),
            json!(row),
            json!(field),
            before,
            after,
        ]
    };
    let (deal, contact) = (lead.deal.to_string(), lead.contact.to_string());
    let key = phone::normalise(&phone(number), "").match_key;
    let keys = json!([contact::phone_key(&key.expect("a key"))]);
    [
        of("contact", contact.clone(), "contact.keys", json!([]), keys),
        of("deal", deal, "deal.props.contact", said, whole),
        of(
            "contact",
            contact,
            "contact.phone_number",
            Value::Null,
            json!(phone(number)),
        ),
    ]
}

/// The rows without the times at which they were changed.
fn content(mut rows: Vec<Value>) -> Vec<Value> {
    for row in &mut rows {
        let row = row.as_object_mut().expect("a row");
        for time in ["cursor_at", "updated_at"] {
            row.remove(time);
        }
    }
    rows.sort_by_key(|row| row["id"].to_string());
    rows
}

fn id(repair: &Value) -> String {
    repair["id"].text().to_owned()
}

/// The mapping converter in another file: another version that does the same.
fn wrong() -> Vec<u8> {
    append_custom(&right(), "variant", b"wrong").unwrap()
}

fn right() -> Vec<u8> {
    component("plugins/converter-mapping.wasm")
}

fn phone(number: usize) -> String {
    format!("+551198765{number:04}")
}

fn email(number: usize) -> String {
    format!("person-{number}@example.com")
}

fn lead(number: usize) -> Value {
    json!({
        "id": format!("lead-{number}"),
        "nome": format!("Person {number}"),
        "fone": phone(number),
        "outro": phone(number + 500),
        "email": email(number),
        "frase": format!("text {number}"),
        "imovel": "AP-1",
    })
}

/// A connection that reads leads, and these fields of them.
fn connection(fields: &str) -> String {
    format!(
        r#"
[[products]]
external_id = "AP-1"
name = "Garden flat"
[[products]]
external_id = "AP-2"
name = "Corner shop"
[[connections]]
name = "site"
partner = "acme"
plugin = "mapping"
config = {{ fields = {{ externalId = "id", name = "nome", emails = "email", listings = "imovel", {fields} }}, attributes = "none" }}
"#
    )
}
