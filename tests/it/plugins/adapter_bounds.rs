//! Bounds on an adapter's answers: excess is refused or cut, bad events are
//! marked, and no character passes that cannot be stored.

use leadhost_tests::{has, lacks};
use std::fmt::Debug;
use std::time::Duration;

use leadhost_domain::channel::{Category, EventBody, SendAnswer, SendStep};
use leadhost_plugin::CallError;

use super::adapters::Adapters;

#[track_caller]
fn rule<T: Debug>(answer: Result<T, CallError>, named: &str) {
    let error = answer.unwrap_err();
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
    has!(error.to_string(), named);
}

#[tokio::test]
async fn an_answer_that_breaks_a_rule_is_refused_and_the_rule_named() {
    let adapters = Adapters::new(&[]).await;
    // A slot that the host does not know.
    rule(adapters.send("slot", 0).await, "rot13");
    rule(adapters.list_templates("slot", 0).await, "rot13");
    rule(adapters.read_templates("slot", 0).await, "rot13");
    rule(adapters.routes("many", 33).await, "33 fields");
    rule(adapters.routes("long", 513).await, "513 bytes");
    // A reply or a check that is not the plugin's to give.
    rule(adapters.read_webhook("redirect", 0).await, "302");
    let unnamed = adapters.sender_checks("unnamed").await;
    rule(unnamed, "without the name of a secret");
    let events = adapters.read_webhook("events", 10_001).await;
    rule(events, "10001 events");
    let most = adapters.read_webhook("events", 10_000).await;
    assert_eq!(most.unwrap().unwrap().events.len(), 10_000);
}

#[tokio::test]
async fn ids_of_a_message_are_bounded_in_number_and_length() {
    let adapters = Adapters::new(&[]).await;
    for (size, named) in [(17, "17 ids"), (513, "513 bytes")] {
        rule(adapters.read_answer("accept", size).await, named);
        rule(adapters.send("accept", size).await, named);
    }
    for (size, count) in [(0, 0), (16, 16), (512, 1)] {
        let answer = adapters.read_answer("accept", size).await;
        let SendAnswer::Accepted(accepted) = answer.unwrap() else {
            panic!("accepted");
        };
        assert_eq!(accepted.external_ids.len(), count);
        assert_eq!(accepted.status, "sent\u{fffd}");
    }
}

#[tokio::test]
async fn a_refusal_is_cut_to_its_bounds_and_an_unknown_category_counts_as_request() {
    let adapters = Adapters::new(&[]).await;
    let answer = adapters.read_answer("refuse", 10_000).await;
    let SendAnswer::Refused(refused) = answer.unwrap() else {
        panic!("refused");
    };
    assert_eq!(refused.category, Category::Request);
    assert!(refused.code.starts_with("1\u{fffd}x") && refused.code.len() <= 128);
    assert!(refused.text.starts_with("as\u{fffd} asked") && refused.text.len() <= 4_096);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));

    // `expired` is reserved for the host.
    let step = adapters.send("refuse", 1).await.unwrap();
    let SendStep::Answer(SendAnswer::Refused(refused)) = step else {
        panic!("refused");
    };
    assert_eq!(refused.category, Category::Request);
    let step = adapters.send("unknown", 0).await.unwrap();
    let unknown = SendAnswer::Unknown("as\u{fffd} asked".to_owned());
    assert_eq!(step, SendStep::Answer(unknown));
    let refused = adapters.read_templates("refuse", 0).await;
    assert_eq!(refused.unwrap().unwrap_err().category, Category::Request);
}

#[tokio::test]
async fn a_bad_event_is_invalid_with_its_place_and_the_others_stand() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters.read_webhook("bad", 513).await;
    let mut events = webhook.unwrap().unwrap().events;
    let good = events.pop().unwrap();
    assert!(matches!(good.body, EventBody::Status(_)));
    assert_eq!(good.route, [("number".to_owned(), "1".to_owned())]);

    let own = events.pop().unwrap();
    let EventBody::Invalid(problem) = own.body else {
        panic!("invalid");
    };
    assert_eq!((&*problem.message, &*problem.path), ("as asked", "entry.0"));

    let places = [
        "events.0.status.external-id",
        "events.1.status.external-id",
        "events.2.status.recipient-id",
        "events.3.inbound.external-id",
        "events.4.inbound.sender-id",
        "events.5.inbound.reply-to",
        "events.6.inbound.attributes",
        "events.7.template.name",
        "events.8.contact.value",
        "events.9.route",
    ];
    assert_eq!(events.len(), places.len());
    for (event, place) in events.into_iter().zip(places) {
        let EventBody::Invalid(problem) = event.body else {
            panic!("{place}: {:?}", event.body);
        };
        let why = &problem.message;
        assert!(why.starts_with("the adapter gave "), "{place}: {why}");
        assert_eq!(problem.path, place);
    }
}

#[tokio::test]
async fn texts_of_events_are_cut_and_errors_counted() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters.read_webhook("long", 100_000).await;
    let events = webhook.unwrap().unwrap().events;
    let EventBody::Status(status) = &events[0].body else {
        panic!("a status");
    };
    assert_eq!(status.status.len(), 128);
    assert_eq!(status.message_id, None, "it cannot be ours");
    let error = &status.errors[0];
    let texts = [
        &error.code,
        &error.title,
        &error.description,
        &error.details,
    ];
    assert_eq!(texts.map(String::len), [128, 4_096, 4_096, 4_096]);
    let EventBody::Inbound(message) = &events[1].body else {
        panic!("a message");
    };
    assert_eq!(message.content.as_ref().map(String::len), Some(65_536));
    assert_eq!(message.sender_name.as_ref().map(String::len), Some(4_096));

    let webhook = adapters.read_webhook("errors", 40).await;
    let events = webhook.unwrap().unwrap().events;
    let EventBody::Status(status) = &events[0].body else {
        panic!("a status");
    };
    assert_eq!(status.errors.len(), 16);
    assert_eq!(status.errors[0].category, Category::Request);
}

#[tokio::test]
async fn the_character_zero_is_replaced_in_every_text() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters.read_webhook("zero", 0).await;
    let events = webhook.unwrap().unwrap().events;
    assert_eq!(events.len(), 6);
    let shown = format!("{events:?}");
    lacks!(shown, '\0', "\\0", "u{0}", "u0000");
    assert_eq!(shown.matches('\u{fffd}').count(), 21, "{shown}");
    let routes = adapters.routes("zero", 0).await;
    assert_eq!(routes.unwrap().unwrap()[0].1, "1\u{fffd}");
}

#[tokio::test]
async fn a_page_of_templates_is_bounded_and_each_of_them_whole() {
    let adapters = Adapters::new(&[]).await;
    for (word, size, named) in [
        ("many", 2_001, "2001 templates"),
        ("unnamed", 0, "a template's name that is empty"),
        ("not-json", 0, "`welcome` with components that are not JSON"),
        ("large", 300_000, "`welcome` with text and components of"),
        ("placeholders", 257, "257 placeholders"),
    ] {
        rule(adapters.read_templates(word, size).await, named);
        rule(adapters.list_templates(word, size).await, named);
    }
    let components = async |word: &str| {
        let page = adapters.read_templates(word, 0).await;
        page.unwrap().unwrap().templates[0].components.clone()
    };
    assert_eq!(components("no-components").await, "[]");
    has!(components("zero-components").await, "a\u{fffd}b", "1.50");
}
