//! Template messages that partners send, over HTTP, on the channel that needs
//! no network.

mod answers;
mod classes;
mod faults;
mod repeats;
mod templates;
mod traces;
mod validation;

use std::time::Duration;

use leadhost_domain::connection::ConnectionPause;
use leadhost_store::{ClaimTurns, OutboxFilter, OutboxMessage};
use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, Options, eventually, fields, guests};
use serde_json::{Value, json};

use crate::gateway::path;

/// A host with an instance `bot` on a sandbox, and one without a channel.
struct Bot {
    host: Host,
    declared: Declared,
}

impl Bot {
    /// With this configuration of the sandbox, and a known list of templates.
    async fn new(on: On, config: Value) -> Self {
        Self::with(Options::patient(on), config).await
    }

    async fn with(options: Options, config: Value) -> Self {
        let bot = Self::unasked(options, config).await;
        bot.host.list_templates(&bot.declared.channel("bot")).await;
        bot
    }

    /// The sandbox has not been asked for its templates yet.
    async fn unasked(options: Options, config: Value) -> Self {
        let host = Host::working_with(options).await;
        host.converter(guests::rust_component("adapter-sandbox"))
            .await;
        let declared = host.declare(&instance("bot", &config)).await;
        Self { host, declared }
    }

    /// Declares the instances again; the keys of the first declaration stay.
    async fn declare(&mut self, file: &str) {
        let report = self.host.declare(file).await.report;
        self.declared.report.instances = report.instances;
        self.declared.report.partners = report.partners;
    }

    async fn configure(&mut self, config: Value) {
        self.declare(&instance("bot", &config)).await;
    }

    fn instance(&self, name: &str) -> i64 {
        self.declared.instance(name)
    }

    fn body(&self) -> Value {
        let mut body = welcomed(self.instance("bot"));
        body["email"] = json!("ana@example.com");
        body
    }

    fn ask(&self) -> Ask {
        self.host
            .post("/send-notification")
            .header("x-service-api-key", &self.declared.key("partner"))
    }

    async fn send(&self, body: &Value) -> Answer {
        self.ask().json(body).send().await
    }

    /// Returns the exported message with this id.
    async fn message(&self, id: &str) -> Value {
        self.host.row(&self.declared, "messages", id).await
    }

    /// Returns the answer's message, without the data API, which has a rate
    /// limit.
    async fn stored(&self, answer: &Answer) -> OutboxMessage {
        let filter = OutboxFilter {
            limit: 1_000,
            ..OutboxFilter::default()
        };
        let messages = self.host.store().outbox(&filter).await.expect("a store");
        let id = answer.header("x-message-id");
        let found = messages.into_iter().find(|one| one.id.to_string() == id);
        found.expect("the message is stored")
    }

    /// Returns the state of the answer's message.
    async fn status(&self, answer: &Answer) -> String {
        self.stored(answer).await.metadata.status
    }

    async fn becomes(&self, answer: &Answer, status: &str) {
        eventually(&format!("the message is {status}"), async || {
            self.status(answer).await == status
        })
        .await;
    }

    /// Checks that the message has this state, and that nothing is due.
    async fn stays(&self, answer: &Answer, status: &str) {
        let now = self.host.now();
        let (turns, until) = (ClaimTurns::new(10), now.plus(Duration::from_secs(60)));
        let due = self.host.store().claim(&turns, now, until).await;
        let due = due.expect("a store");
        assert!(due.is_empty(), "{due:?}");
        assert_eq!(self.status(answer).await, status);
    }

    /// Waits until due work was tried and waits for a later time.
    async fn waits_again(&self, answer: &Answer) {
        eventually("the message waits again", async || {
            let message = self.stored(answer).await;
            let waits = message.metadata.status == "waiting";
            waits && message.next_attempt_at > Some(self.host.now())
        })
        .await;
    }

    async fn paused(&self) -> Option<String> {
        let channel = self.declared.channel("bot");
        let connection = self.host.connection(&channel).await;
        connection.paused.map(|pause| pause.reason)
    }

    async fn pause(&self, reason: &str) {
        let pause = ConnectionPause {
            since: self.host.now(),
            reason: reason.to_owned(),
        };
        let channel = self.declared.channel("bot");
        let paused = self.host.store().pause_connection(&channel, Some(&pause));
        paused.await.expect("a store");
        self.host.app.pipeline.connections.forget();
    }

    async fn resume(&self) {
        self.host.resume(&self.declared.channel("bot")).await;
        self.host.app.pipeline.connections.forget();
    }

    async fn conversation(&self, answer: &Answer) -> Value {
        let body = answer.json();
        let id = body["conversationId"].text();
        self.host.row(&self.declared, "conversations", id).await
    }
}

/// Ana, whom a template greets through this instance.
pub fn welcomed(instance: i64) -> Value {
    let parameters = json!([{"type": "text", "text": "Ana"}]);
    let components = json!([{"type": "body", "parameters": parameters}]);
    let language = json!({"code": "pt_BR"});
    let template = json!({"name": "welcome", "language": language, "components": components});
    json!({
        "name": "Ana Prado", "phoneNumber": "+55 11 98765-4321", "instanceId": instance,
        "source": "landing-page", "template": template,
    })
}

/// An instance on a sandbox with this configuration, for a workspace file.
pub fn instance(name: &str, config: &Value) -> String {
    instance_of("sandbox", name, config)
}

fn instance_of(adapter: &str, name: &str, config: &Value) -> String {
    let value: toml::Value = serde_json::from_value(config.clone()).expect("no nulls");
    let table = toml::Table::from_iter([(
        "instances".to_owned(),
        toml::Value::Array(vec![toml::Value::Table(toml::Table::from_iter([
            ("name".to_owned(), name.into()),
            ("adapter".to_owned(), adapter.into()),
            ("config".to_owned(), value),
        ]))]),
    )]);
    toml::to_string(&table).expect("TOML")
}

/// Returns the message of an error of this endpoint, which has this status.
#[track_caller]
fn refusal(answer: &Answer, status: u16) -> String {
    let body = answer.json();
    assert_eq!(answer.status, status, "{body}");
    fields!(body, {"success": false, "statusCode": status});
    let fields = body.as_object().expect("an object").len();
    assert!(body["code"].is_string(), "{body}");
    assert_eq!(fields, 4, "{body}");
    body["message"].text().to_owned()
}

/// Returns the issues of a 400, each as its code, its path and its message.
#[track_caller]
fn issues(answer: &Answer) -> Vec<(String, String, String)> {
    let message = refusal(answer, 400);
    let issues: Vec<Value> = serde_json::from_str(&message).expect("a list of issues");
    let text = |value: &Value| value.text().to_owned();
    let places = issues.iter();
    let places = places.map(|one| (text(&one["code"]), path(one), text(&one["message"])));
    places.collect()
}
