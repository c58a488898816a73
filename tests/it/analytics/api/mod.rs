//! The analytics API for a data client: parameters, counts, and conditional
//! requests. And the same counts for an operator.

mod copies;
mod operators;
mod parameters;
mod schemas;
mod story;

use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, Options, guests};
use serde_json::{Value, json};

/// An assistant, a person, and an internal agent.
const FILE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "2h"
[[instances]]
name = "people"
number = "+5511900000001"
adapter = "sandbox"
kind = "human"
[[instances]]
name = "audit"
number = "+5511900000002"
adapter = "sandbox"
internal = true
[[connections]]
name = "form"
partner = "acme"
instance = "voice"
plugin = "example-form"
[[keys]]
kind = "access-token"
label = "token"
partner = "acme"
"#;

const DAY: i64 = 86_400;

pub struct Board {
    pub host: Host,
    declared: Declared,
    /// The number of contacts so far.
    contacts: u32,
}

impl Board {
    /// Nothing runs in the background: the clock may move by years.
    pub async fn new(on: On) -> Self {
        Self::on(Host::start(Options::patient(on)).await).await
    }

    async fn on(host: Host) -> Self {
        host.converter(guests::sandbox()).await;
        host.converter(guests::example_form()).await;
        let declared = host.declare(FILE).await;
        Self {
            host,
            declared,
            contacts: 0,
        }
    }

    /// This many people write for the first time.
    pub async fn people_write(&mut self, instance: &str, count: u32) {
        let events: Vec<Value> = (0..count)
            .map(|number| {
                let from = format!("+55119{:08}", self.contacts + number);
                json!({"inbound": {"from": from, "text": "Oi"}})
            })
            .collect();
        self.contacts += count;
        self.events(instance, &events).await;
    }

    /// A partner sends a notification.
    async fn notify(&self, phone: &str, source: &str) {
        let body = json!({
            "name": "Ilda Prates",
            "phoneNumber": phone,
            "instanceId": self.declared.instance("voice"),
            "source": source,
            "template": {"name": "welcome", "language": {"code": "pt_BR"}},
        });
        let ask = self.host.post("/send-notification").json(&body);
        let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
        ask.send().await.expect(200);
    }

    pub async fn count(&self) {
        self.host.count_analytics().await;
    }

    /// Makes the first counted day unreadable.
    pub async fn break_days(&self) {
        let broken = "update rollup_days set cells = 'broken'";
        self.host.on.change(self.host.folder.path(), broken).await;
    }

    fn ask(&self, target: &str) -> Ask {
        let ask = self.host.get(&format!("/v1/analytics/{target}"));
        ask.header("authorization", &self.bearer())
    }

    /// What a data client of the workspace authenticates with.
    fn bearer(&self) -> String {
        format!("Bearer {}", self.declared.key("workspace"))
    }

    /// A delivery of a form. Returns the deal.
    async fn lead(&self, phone: &str) -> String {
        let lead = json!({"id": "L-1", "nome": "Ilda Prates", "telefone": phone});
        let ask = self.host.post(&self.declared.address("form")).json(&lead);
        let answer = ask.send().await.expect(200).json();
        answer["leads"][0]["dealId"].text().to_owned()
    }

    /// These events come to an instance.
    async fn events(&self, instance: &str, events: &[Value]) {
        let ask = self.host.post(&self.declared.webhook(instance));
        ask.json(&json!({"events": events}))
            .send()
            .await
            .expect(200);
    }

    async fn get(&self, target: &str) -> Answer {
        self.ask(target).send().await
    }

    /// Returns the answer, after checking its form.
    async fn page(&self, target: &str) -> Value {
        let answer = self.get(target).await.expect(200);
        let body = answer.json();
        let as_of = body["as_of"].as_str().unwrap_or_default();
        assert_eq!(answer.header("x-data-as-of"), as_of, "{target}");
        let rows = body["data"].list();
        assert_eq!(body["count"], rows.len(), "{target}");
        body
    }

    /// Returns its rows in short form: period and dimensions, then counts.
    async fn rows(&self, target: &str) -> Vec<String> {
        let body = self.page(target).await;
        let measures = measures(target);
        let dimensions: Vec<_> = body["group_by"].list().clone();
        let rows = body["data"].list().iter();
        let short = |row: &Value| {
            let keys = row.as_object().expect("an object").len();
            assert_eq!(keys, 1 + dimensions.len() + measures.len(), "{row}");
            let mut said = row["period"].text().to_owned();
            for name in &dimensions {
                said.push_str(&format!(" {}", row[name.as_str().expect("a name")]));
            }
            let counts: Vec<_> = measures.iter().map(|name| row[*name].to_string()).collect();
            format!("{said}: {}", counts.join(" ")).replace('"', "")
        };
        rows.map(short).collect()
    }

    async fn tag(&self, target: &str) -> String {
        let answer = self.get(target).await.expect(200);
        answer.header("etag").to_owned()
    }
}

pub fn measures(target: &str) -> &'static [&'static str] {
    if target.starts_with("tickets") {
        &["tickets_opened", "tickets_answered", "tickets_resolved"]
    } else {
        &[
            "conversations_started",
            "conversations_answered",
            "conversations_no_response",
            "appointments",
            "transferred",
        ]
    }
}
