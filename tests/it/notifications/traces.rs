//! Traces of messages, as a receiver of OTLP gets them: from the request of the partner to the
//! outcome of the send, without personal data.

use leadhost_tests::otlp::{OtlpReceiver, ReceivedSpan, TraceGaps};
use leadhost_tests::{On, Options};
use serde_json::json;

use super::Bot;

leadhost_tests::on_every_store! {
    a_message_is_a_trace_from_its_request_to_its_outcome,
    the_steps_of_a_message_leave_no_gap,
    the_steps_of_a_message_that_waited_leave_no_gap,
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
    let spans = receiver
        .trace(&bot.host, &trace, "POST /send-notification")
        .await;
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

async fn the_steps_of_a_message_leave_no_gap(on: On) {
    let (bot, receiver) = traced(on).await;
    let mut gaps = TraceGaps::default();
    for _ in 0..TraceGaps::TRACES {
        let answer = bot.send(&bot.body()).await.expect(200);
        let trace = answer.header("x-message-id").replace('-', "");
        let request = "POST /send-notification";
        let spans = receiver.trace(&bot.host, &trace, request).await;
        if gaps.add(&spans, request) {
            return;
        }
    }
    gaps.assert_narrow();
}

async fn the_steps_of_a_message_that_waited_leave_no_gap(on: On) {
    let (bot, receiver) = traced(on).await;
    let mut gaps = TraceGaps::default();
    for _ in 0..TraceGaps::TRACES {
        bot.pause("the provider is down").await;
        let answer = bot.send(&bot.body()).await.expect(200);
        bot.resume().await;
        bot.host.app.pipeline.wake();
        let trace = answer.header("x-message-id").replace('-', "");
        let job = "send waiting message";
        let spans = receiver.trace(&bot.host, &trace, job).await;
        let sending = spans.iter().find(|span| span.name == job).expect("a job");
        let claim = spans.iter().find(|span| span.name == "claim job");
        let claim = claim.expect("the claim of the job");
        assert_eq!((&claim.parent, claim.began), (&sending.id, sending.began));
        let finds = |span: &ReceivedSpan| span.name == "find instance" && span.parent == sending.id;
        assert!(spans.iter().any(finds), "{spans:?}");
        if gaps.add(&spans, job) {
            return;
        }
    }
    gaps.assert_narrow();
}
