//! Traces of messages, as a receiver of OTLP gets them: from the request of the partner to the
//! outcome of the send, without personal data.

use leadhost_tests::otlp::OtlpReceiver;
use leadhost_tests::{On, Options};
use serde_json::json;

use super::Bot;

leadhost_tests::on_every_store! {
    a_message_is_a_trace_from_its_request_to_its_outcome,
}

async fn traced(on: On) -> (Bot, OtlpReceiver) {
    let receiver = OtlpReceiver::start().await;
    let options = Options::patient(on)
        .with("telemetry.otlp_endpoint", receiver.url())
        .with("telemetry.traces_per_mille", 1_000);
    (Bot::with(options, json!({})).await, receiver)
}

async fn a_message_is_a_trace_from_its_request_to_its_outcome(on: On) {
    let (bot, receiver) = traced(on).await;
    let answer = bot.send(&bot.body()).await.expect(200);
    let message = answer.header("x-message-id").to_owned();
    let trace = message.replace('-', "");
    let spans = receiver.trace(&bot.host, &trace, "POST /send-notification");
    let spans = spans.await;
    let found = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:?}"))
    };
    let request = found("POST /send-notification");
    assert_eq!(request.parent, "");
    assert_eq!(request.attribute("http.route"), "/send-notification");
    for step in ["check key", "read body", "find recipient"] {
        assert_eq!(found(step).parent, request.id, "{step}");
    }
    let checked = found("check key").attribute("leadhost.check.outcome");
    assert_eq!(checked, "passed");
    let accepted = found("accept message");
    assert_eq!((accepted.kind, &accepted.parent), (4, &request.id));
    assert_eq!(accepted.id, trace[16..], "later jobs find it");
    assert_eq!(found("compose message").parent, request.id);
    let sent = found("send message");
    assert_eq!((sent.kind, &sent.parent), (4, &accepted.id));
    assert_eq!(sent.attribute("leadhost.send.outcome"), "accepted");
    for span in [accepted, sent] {
        assert_eq!(span.attribute("messaging.system"), "sandbox");
        assert_eq!(span.attribute("messaging.destination.name"), "bot");
        assert_eq!(span.attribute("messaging.message.id"), message);
    }
    assert!(
        spans
            .iter()
            .any(|span| span.name == "call plugin" && span.parent == sent.id)
    );
    // The message, and then its outcome.
    let commits = spans.iter().filter(|span| span.name == "COMMIT");
    assert!(commits.count() >= 2, "{spans:?}");
    for personal in ["Ana", "Prado", "98765", "ana@example.com", "landing-page"] {
        assert!(!receiver.holds(personal), "{personal} was exported");
    }
}
