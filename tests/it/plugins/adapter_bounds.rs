//! Bounds on an adapter's answers: excess is refused or cut, bad events are
//! marked, and no character passes that cannot be stored.

use std::time::Duration;

use leadhost_domain::channel::{Category, EventBody, SendAnswer, SendStep};
use leadhost_plugin::CallError;

use super::adapters::{Adapters, behaving};

fn rule(error: CallError, named: &str) {
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
    assert!(error.to_string().contains(named), "{error}");
}

#[tokio::test]
async fn a_request_with_a_slot_that_the_host_does_not_know_is_refused() {
    let adapters = Adapters::new(&[]).await;
    rule(
        adapters
            .send(&behaving("send", "slot", 0))
            .await
            .unwrap_err(),
        "rot13",
    );
    let listing = adapters
        .list_templates(&behaving("list-templates", "slot", 0))
        .await;
    rule(listing.unwrap_err(), "rot13");
    let page = adapters
        .read_templates(&behaving("read-templates", "slot", 0), 200)
        .await;
    rule(page.unwrap_err(), "rot13");
}

#[tokio::test]
async fn ids_of_a_message_are_bounded_in_number_and_length() {
    let adapters = Adapters::new(&[]).await;
    for (size, named) in [(17, "17 ids"), (513, "513 bytes")] {
        let answer = adapters
            .read_answer(&behaving("read-answer", "accept", size))
            .await;
        rule(answer.unwrap_err(), named);
        let answer = adapters.send(&behaving("send", "accept", size)).await;
        rule(answer.unwrap_err(), named);
    }
    for (size, count) in [(0, 0), (16, 16), (512, 1)] {
        let answer = adapters
            .read_answer(&behaving("read-answer", "accept", size))
            .await;
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
    let answer = adapters
        .read_answer(&behaving("read-answer", "refuse", 10_000))
        .await;
    let SendAnswer::Refused(refused) = answer.unwrap() else {
        panic!("refused");
    };
    assert_eq!(refused.category, Category::Request);
    assert!(refused.code.starts_with("1\u{fffd}x") && refused.code.len() <= 128);
    assert!(refused.text.starts_with("as\u{fffd} asked") && refused.text.len() <= 4_096);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));

    // `expired` is reserved for the host.
    let step = adapters.send(&behaving("send", "refuse", 1)).await.unwrap();
    let SendStep::Answer(SendAnswer::Refused(refused)) = step else {
        panic!("refused");
    };
    assert_eq!(refused.category, Category::Request);
    let step = adapters
        .send(&behaving("send", "unknown", 0))
        .await
        .unwrap();
    let unknown = SendAnswer::Unknown("as\u{fffd} asked".to_owned());
    assert_eq!(step, SendStep::Answer(unknown));
    let refused = adapters
        .read_templates(&behaving("read-templates", "refuse", 0), 200)
        .await;
    assert_eq!(refused.unwrap().unwrap_err().category, Category::Request);
}

#[tokio::test]
async fn a_bad_event_is_invalid_with_its_place_and_the_others_stand() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "bad", 513))
        .await;
    let mut events = webhook.unwrap().unwrap().events;
    let good = events.pop().unwrap();
    assert!(matches!(good.body, EventBody::Status(_)));
    assert_eq!(good.route, [("number".to_owned(), "1".to_owned())]);

    let own = events.pop().unwrap();
    let EventBody::Invalid(problem) = own.body else {
        panic!("invalid");
    };
    assert_eq!((&*problem.message, &*problem.path), ("as asked", "entry.0"));

    let paths: Vec<String> = events
        .into_iter()
        .map(|event| match event.body {
            EventBody::Invalid(problem) => {
                assert!(
                    problem.message.starts_with("the adapter gave "),
                    "{problem}"
                );
                problem.path
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        paths,
        [
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
        ]
    );
}

#[tokio::test]
async fn too_many_events_are_refused_and_the_most_that_are_taken_are_not() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "events", 10_001))
        .await;
    rule(webhook.unwrap_err(), "10001 events");
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "events", 10_000))
        .await;
    assert_eq!(webhook.unwrap().unwrap().events.len(), 10_000);
}

#[tokio::test]
async fn texts_of_events_are_cut_and_errors_counted() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "long", 100_000))
        .await;
    let events = webhook.unwrap().unwrap().events;
    let EventBody::Status(status) = &events[0].body else {
        panic!("a status");
    };
    assert_eq!(status.status.len(), 128);
    assert_eq!(status.message_id, None, "it cannot be ours");
    let error = &status.errors[0];
    assert_eq!(
        [
            error.code.len(),
            error.title.len(),
            error.description.len(),
            error.details.len()
        ],
        [128, 4_096, 4_096, 4_096]
    );
    let EventBody::Inbound(message) = &events[1].body else {
        panic!("a message");
    };
    assert_eq!(message.content.as_ref().map(String::len), Some(65_536));
    assert_eq!(message.sender_name.as_ref().map(String::len), Some(4_096));

    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "errors", 40))
        .await;
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
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "zero", 0))
        .await;
    let events = webhook.unwrap().unwrap().events;
    assert_eq!(events.len(), 6);
    let shown = format!("{events:?}");
    assert!(!shown.contains('\0') && !shown.contains("\\0"), "{shown}");
    assert!(
        !shown.contains("u{0}") && !shown.contains("u0000"),
        "{shown}"
    );
    assert_eq!(shown.matches('\u{fffd}').count(), 21, "{shown}");
    let routes = adapters.routes(&behaving("routes", "zero", 0)).await;
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
        let page = adapters
            .read_templates(&behaving("read-templates", word, size), 200)
            .await;
        rule(page.unwrap_err(), named);
        let page = adapters
            .list_templates(&behaving("list-templates", word, size))
            .await;
        rule(page.unwrap_err(), named);
    }
    let components = async |word: &str| {
        let page = adapters
            .read_templates(&behaving("read-templates", word, 0), 200)
            .await;
        page.unwrap().unwrap().templates[0].components.clone()
    };
    assert_eq!(components("no-components").await, "[]");
    let kept = components("zero-components").await;
    assert!(
        kept.contains("a\u{fffd}b") && kept.contains("1.50"),
        "{kept}"
    );
}

#[tokio::test]
async fn routes_are_bounded() {
    let adapters = Adapters::new(&[]).await;
    let many = adapters.routes(&behaving("routes", "many", 33)).await;
    rule(many.unwrap_err(), "33 fields");
    let long = adapters.routes(&behaving("routes", "long", 513)).await;
    rule(long.unwrap_err(), "513 bytes");
}

#[tokio::test]
async fn a_reply_or_a_check_that_is_not_the_plugins_to_give_is_refused() {
    let adapters = Adapters::new(&[]).await;
    let webhook = adapters
        .read_webhook(&behaving("read-webhook", "redirect", 0))
        .await;
    rule(webhook.unwrap_err(), "302");
    let checks = adapters
        .bench
        .plugins
        .sender_checks(
            &adapters.loaded,
            "lane",
            &behaving("sender-checks", "unnamed", 0),
            leadhost_plugin::CallBudget::Inline,
        )
        .await;
    rule(checks.unwrap_err(), "without the name of a secret");
}
