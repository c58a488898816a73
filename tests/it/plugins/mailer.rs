//! An instance whose adapter misbehaves, and a remote server for its messages. The remote server refuses each
//! request with the same answer, which the adapter takes for an acceptance.

use std::net::SocketAddr;

use leadhost_domain::key::PlainKey;
use leadhost_domain::plugin::Digest;
use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::guests::AdapterVariant;
use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, Options, until};
use serde_json::{Value, json};

use crate::notifications::welcomed;

pub struct Mailer {
    pub host: Host,
    pub key: PlainKey,
    pub declared: Declared,
    pub double: GraphDouble,
    /// The address of sends.
    pub url: String,
}

impl Mailer {
    /// Serves version 1, which does nothing wrong.
    pub async fn new(on: On) -> Self {
        Self::start(Options::patient(on)).await
    }

    pub async fn start(options: Options) -> Self {
        let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
        let address = double.address();
        Self::sending_to(options, double, address).await
    }

    /// With a rollout of a version that does this in a function.
    pub async fn begun(on: On, always: &str, order: Value) -> Self {
        let mailer = Self::new(on).await;
        let candidate = mailer.keep("1.1.0", always).await;
        mailer.begin(&candidate, order).await;
        mailer
    }

    /// The same with another remote server, at this address.
    pub async fn sending_to(options: Options, double: GraphDouble, address: SocketAddr) -> Self {
        let host = Host::working_with(options).await;
        let url = format!("http://{address}/v1/messages");
        let first = AdapterVariant::default().sends(&url).check("");
        host.converter(first.component()).await;
        let declared = host
            .declare(&format!(
                r#"
[[instances]]
name = "bot"
adapter = "misbehave-adapter"
config = {{}}
allow = [{{ url = "http://{address}", private = true }}]
"#
            ))
            .await;
        Self {
            key: host.admin_key().await,
            host,
            declared,
            double,
            url,
        }
    }

    /// Another version, which does this in a function, such as `send:trap`.
    pub fn version(&self, version: &str, always: &str) -> Vec<u8> {
        AdapterVariant::version(version)
            .always(always)
            .sends(&self.url)
            .check("")
            .component()
    }

    /// Sends this many messages, each to a contact of its own. Returns the answers.
    pub async fn send(&self, from: usize, messages: usize) -> Vec<Answer> {
        let answers = self.send_any(from, messages).await;
        answers
            .into_iter()
            .map(|answer| answer.expect(200))
            .collect()
    }

    /// The same, whatever the answers are.
    pub async fn send_any(&self, from: usize, messages: usize) -> Vec<Answer> {
        let mut answers = Vec::new();
        for number in from..from + messages {
            let mut body = welcomed(self.declared.instance("bot"));
            body["phoneNumber"] = json!(format!("+55 11 98765-{number:04}"));
            body["template"]["components"] = json!([]);
            let ask = self.host.post("/send-notification");
            let ask = ask.header("x-service-api-key", &self.declared.key("partner"));
            answers.push(ask.json(&body).send().await);
        }
        answers
    }

    /// The same. Each must be accepted.
    pub async fn deliver(&self, from: usize, messages: usize) {
        for answer in self.send(from, messages).await {
            let status = answer.header("x-message-status");
            assert_eq!(status, "accepted", "{}", answer.text());
        }
    }

    pub fn ask(&self, method: &str, path: &str) -> Ask {
        let path = format!("/admin/v1/plugins{path}");
        self.host.admin(method, &path).bearer(&self.key)
    }

    pub async fn keep(&self, version: &str, always: &str) -> Digest {
        self.host.keep_version(self.version(version, always)).await
    }

    pub async fn begin(&self, candidate: &Digest, mut order: Value) -> Value {
        order["digest"] = json!(candidate.0);
        let ask = self.ask("POST", ROLLOUT).json(&order);
        ask.send().await.expect(201).json()
    }

    pub async fn change(&self, change: &str) -> Value {
        let ask = self.ask("PATCH", ROLLOUT);
        let ask = ask.json(&json!({ "change": change }));
        ask.send().await.expect(200).json()
    }

    pub async fn shown(&self) -> Value {
        let ask = self.ask("GET", ROLLOUT);
        ask.send().await.expect(200).json()
    }

    pub async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(what, async || {
            let shown = self.shown().await;
            is_so(&shown).then_some(shown)
        })
        .await
    }
}

const ROLLOUT: &str = "/misbehave-adapter/rollout";

#[track_caller]
pub fn field<'a>(sends: &'a Value, name: &str) -> &'a Value {
    let fields = sends["fields"].list();
    let found = fields.iter().find(|one| one["field"] == name);
    found.unwrap_or_else(|| panic!("{name}: {sends:#}"))
}
