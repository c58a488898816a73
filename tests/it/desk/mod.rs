//! The desk API for the people who take over from the assistant: tickets over
//! HTTP, opened by timeouts and by partners.

mod flows;
mod later_deals;
mod listing;
mod refusals;

use leadhost_domain::id::{PartnerId, WorkspaceId};
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, guests, until};
use serde_json::{Value, json};

/// An instance `voice` of the sandbox, a form, and owners.
const FILE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "2h"
[[connections]]
name = "form"
partner = "acme"
instance = "voice"
plugin = "example-form"
[[owners]]
name = "Nilda Prado"
email = "nilda@example.com"
"#;

/// A contact's phone, as partners write it and as it is stored.
const PHONE: &str = "(11) 98765-0101";
const E164: &str = "+5511987650101";

struct Desk {
    host: Host,
    declared: Declared,
    token: PlainKey,
}

impl Desk {
    async fn new(on: On) -> Self {
        let host = Host::working(on).await;
        host.converter(guests::sandbox()).await;
        host.converter(guests::example_form()).await;
        let declared = host.declare(FILE).await;
        let (workspace, partner) = Self::acme(&declared);
        let token = host.key(KeyKind::AccessToken, Some(workspace), Some(partner));
        let token = token.await.0;
        Self {
            host,
            declared,
            token,
        }
    }

    fn acme(declared: &Declared) -> (WorkspaceId, PartnerId) {
        let report = &declared.report;
        (report.workspace_id, report.partners["acme"])
    }

    // ---- requests of the desk

    fn ask(&self, method: &str, target: &str) -> Ask {
        self.host.ask(method, target).bearer(&self.token)
    }

    async fn get(&self, target: &str) -> Value {
        let ask = self.ask("GET", target);
        ask.send().await.expect(200).json()
    }

    /// Returns a page of tickets for this query.
    async fn tickets(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("/tickets?{query}")).await;
        let tickets = page["tickets"].list().clone();
        assert_eq!(page["count"], tickets.len());
        tickets
    }

    /// Returns the only ticket, as soon as it exists.
    async fn ticket(&self) -> Value {
        let found = until("a ticket is open", async || {
            let tickets = self.tickets("").await;
            (!tickets.is_empty()).then_some(tickets)
        });
        let mut found = found.await;
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    async fn patch(&self, ticket: &Value, body: &Value) -> Answer {
        let id = ticket["id"].text();
        let ask = self.ask("PATCH", &format!("/tickets/{id}"));
        ask.json(body).send().await
    }

    async fn changed(&self, ticket: &Value, body: &Value) -> Value {
        let changed = self.patch(ticket, body).await.expect(200).json();
        let id = ticket["id"].text();
        assert_eq!(changed, self.get(&format!("/tickets/{id}")).await);
        changed
    }

    // ---- events around it

    /// Sends a lead of the form. Returns its deal.
    async fn lead(&self, id: &str, phone: &str) -> String {
        let lead = json!({"id": id, "nome": "Ilda Prates", "telefone": phone});
        let ask = self.host.post(&self.declared.address("form")).json(&lead);
        let answer = ask.send().await.expect(200).json();
        text(&answer["leads"][0]["dealId"])
    }

    /// Sends a notification with these additional fields. Returns its
    /// conversation.
    async fn notify(&self, more: Value) -> String {
        let mut body = json!({
            "name": "Ilda Prates", "phoneNumber": PHONE,
            "instanceId": self.declared.instance("voice"), "source": "site",
            "template": {"name": "welcome", "language": {"code": "pt_BR"}},
        });
        let body_fields = body.as_object_mut().expect("an object");
        body_fields.extend(more.as_object().expect("an object").clone());
        let ask = self.host.post("/send-notification").json(&body);
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        text(&ask.send().await.expect(200).json()["conversationId"])
    }

    async fn contact_writes(&self, words: &str) {
        let event = json!({"inbound": {"from": E164, "text": words}});
        let ask = self.host.post(&self.declared.webhook("voice"));
        let ask = ask.json(&json!({"events": [event]}));
        ask.send().await.expect(200);
    }

    async fn transfer(&self, deal: &str) {
        self.stage(deal, "transferred").await;
    }

    async fn stage(&self, deal: &str, stage: &str) {
        let ask = self.host.ask("PATCH", &format!("/deal/{deal}"));
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        let ask = ask.json(&json!({"stageCode": stage}));
        ask.send().await.expect(202);
    }

    /// Returns the exported conversations, oldest first.
    async fn conversations(&self) -> Vec<Value> {
        let mut rows = self.host.rows(&self.declared, "conversations").await;
        rows.sort_by_key(|row| text(&row["created_at"]));
        rows
    }

    async fn conversation(&self, id: &str) -> Value {
        self.host.row(&self.declared, "conversations", id).await
    }
}

fn text(value: &Value) -> String {
    value.text().to_owned()
}
