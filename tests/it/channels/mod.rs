//! The way back from channels, and the operators' actions: webhooks, greetings,
//! unanswered conversations, the failure report, the outbox.

mod conversations;
mod greetings;
mod operators;
mod reports;
mod routes;
mod webhooks;

use leadhost_tests::{Answer, Declared, Host, On, guests};
use serde_json::{Value, json};

/// An instance `voice` of the sandbox, with one template.
pub const VOICE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "2h"
[[instances.config.templates]]
name = "welcome"
language = "pt_BR"
text = "Olá {{1}}, podemos conversar sobre {{2}}?"
"#;

async fn voice(on: On) -> (Host, Declared) {
    let host = Host::working(on).await;
    let declared = with_voice(&host, "").await;
    (host, declared)
}

/// The same on an existing host, with more in the file.
async fn with_voice(host: &Host, more: &str) -> Declared {
    host.converter(guests::sandbox()).await;
    host.declare(&format!("{VOICE}{more}")).await
}

/// Sends events to the instance's webhook.
async fn events(host: &Host, declared: &Declared, events: &[Value]) -> Answer {
    let ask = host.post(&declared.webhook("voice"));
    ask.json(&json!({ "events": events })).send().await
}

fn inbound(from: &str, text: &str) -> Value {
    json!({ "inbound": { "from": from, "text": text } })
}

/// Requests the failure report, with more in the query.
async fn report(host: &Host, declared: &Declared, query: &str) -> Answer {
    let ask = host.get(&format!("/v1/reports/message_errors?{query}"));
    let key = format!("Bearer {}", declared.key("workspace"));
    ask.header("authorization", &key).send().await
}
