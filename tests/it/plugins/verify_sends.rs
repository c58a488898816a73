//! Verification of an adapter: both versions make the request of the same kept sends, and read the
//! same answers of the provider. Nothing is sent.

use leadhost_tests::guests::AdapterVariant;
use leadhost_tests::{On, Options};
use serde_json::{Value, json};

use super::mailer::{Mailer, field};

leadhost_tests::on_every_store! {
    equal_versions_of_an_adapter_make_the_same_requests,
    another_request_is_shown_by_its_parts_with_masked_examples_and_refuses_nothing,
    a_policy_may_refuse_other_requests,
    a_version_that_makes_no_request_is_refused,
    a_version_that_reads_answers_otherwise_is_refused,
    a_verification_detects_a_version_that_cannot_read_an_answer,
    a_verification_detects_a_request_that_may_not_be_sent,
    a_verification_sends_nothing,
    only_sends_that_are_asked_for_are_compared,
}

async fn equal_versions_of_an_adapter_make_the_same_requests(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 3).await;
    let verified = mailer.verify(mailer.version("1.1.0", ""), "").await;
    let sends = &verified["sends"];
    for (key, expect) in [
        ("chosen", 3),
        ("compared", 3),
        ("same", 3),
        ("changed", 0),
        ("notReached", 0),
    ] {
        assert_eq!(sends[key], expect, "{key}: {verified:#}");
    }
    assert_eq!(verified["drift"], json!([]));
}

async fn another_request_is_shown_by_its_parts_with_masked_examples_and_refuses_nothing(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 3).await;
    let wasm = mailer.version("1.1.0", "send:other");
    let verified = mailer.verify(wasm.clone(), "").await;
    let sends = &verified["sends"];
    assert_eq!(sends["changed"], 3, "{verified:#}");
    let name = field(sends, "body.name");
    assert_eq!(
        (&name["change"], &name["count"]),
        (&json!("changed"), &json!(3))
    );
    let example = &name["examples"][0];
    assert_eq!(example["before"], "w******", "{example}");
    assert!(example["deliveryId"].is_null() && example["messageId"].is_string());
    assert_eq!(field(sends, "query.other")["change"], "gained");
    assert_eq!(verified["drift"], json!([]));
    let activated = activate(&mailer, wasm).await.expect(201).json();
    assert_eq!(activated["verification"]["sends"]["changed"], 3);
}

async fn activate(mailer: &Mailer, wasm: Vec<u8>) -> leadhost_tests::Answer {
    let ask = mailer.ask("POST", "?activate=true").body(wasm);
    ask.send().await
}

async fn a_policy_may_refuse_other_requests(on: On) {
    let options = Options::patient(on).with("verify.changed_sends_per_mille", 0);
    let mailer = Mailer::start(options).await;
    mailer.deliver(0, 2).await;
    let wasm = mailer.version("1.1.0", "send:other");
    let refused = activate(&mailer, wasm).await.expect(409).json();
    assert_eq!(refused["accept"], json!(["drift"]), "{refused:#}");
    assert!(error(&refused).contains("2 of 2 sends have another request"));
}

fn error(refused: &Value) -> &str {
    refused["error"].as_str().expect("a text")
}

async fn a_version_that_makes_no_request_is_refused(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 2).await;
    for word in ["send:trap", "send:refuse", "send:unknown"] {
        let wasm = mailer.version("1.1.0", word);
        let refused = activate(&mailer, wasm).await.expect(409).json();
        let sends = &refused["verification"]["sends"];
        assert_eq!(sends["newlyFailing"]["count"], 2, "{word}: {refused:#}");
        let why = "2 of 2 sends fail only with it, for example in message";
        assert!(error(&refused).contains(why), "{word}: {refused:#}");
    }
    // It says that it has sent the message, without a request.
    let wasm = mailer.version("1.1.0", "send:accept");
    let refused = activate(&mailer, wasm).await.expect(409).json();
    assert!(
        error(&refused).contains("lose their request"),
        "{refused:#}"
    );
}

async fn a_version_that_reads_answers_otherwise_is_refused(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 2).await;
    for (word, result) in [
        ("read-answer:unknown", "unknown"),
        ("read-answer:refuse", "failed"),
    ] {
        let wasm = mailer.version("1.1.0", word);
        let refused = activate(&mailer, wasm).await.expect(409).json();
        let sends = &refused["verification"]["sends"];
        let read = &field(sends, "answer.result")["examples"][0];
        assert_eq!(
            (&read["before"], &read["after"]),
            (&json!("accepted"), &json!(result))
        );
        assert_eq!(sends["changed"], 0, "{refused:#}");
        assert!(error(&refused).contains("answers to sends are read differently"));
    }
}

async fn a_verification_detects_a_version_that_cannot_read_an_answer(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 2).await;
    let wasm = mailer.version("1.1.0", "read-answer:trap");
    let verified = mailer.verify(wasm, "").await;
    let failing = &verified["sends"]["newlyFailing"];
    assert_eq!(failing["count"], 2, "{verified:#}");
    let why = failing["examples"][0]["after"].as_str().expect("a reason");
    assert!(why.contains("cannot read the provider's answer"), "{why}");
}

async fn a_verification_detects_a_request_that_may_not_be_sent(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 2).await;
    // Its host is not on the allow-list.
    let elsewhere = AdapterVariant {
        version: "1.1.0",
        check: "",
        ..AdapterVariant::default()
    };
    let verified = mailer.verify(elsewhere.component(), "").await;
    let failing = &verified["sends"]["newlyFailing"];
    assert_eq!(failing["count"], 2, "{verified:#}");
    let why = failing["examples"][0]["after"].as_str().expect("a reason");
    assert!(why.contains("is not on the allow-list"), "{why}");
}

async fn a_verification_sends_nothing(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 3).await;
    let requests = mailer.double.requests();
    let messages = async || mailer.host.count("select count(*) from messages").await;
    let before = messages().await;
    for word in ["", "send:other", "send:trap"] {
        let verified = mailer.verify(mailer.version("1.1.0", word), "").await;
        assert_eq!(verified["sends"]["compared"], 3, "{verified:#}");
    }
    assert_eq!(mailer.double.requests(), requests);
    assert_eq!(messages().await, before);
}

async fn only_sends_that_are_asked_for_are_compared(on: On) {
    let mailer = Mailer::new(on).await;
    mailer.deliver(0, 3).await;
    let wasm = || mailer.version("1.1.0", "");
    let verified = mailer.verify(wasm(), "?last=2").await;
    assert_eq!(verified["sends"]["chosen"], 2, "{verified:#}");
    // All of them were accepted.
    let verified = mailer.verify(wasm(), "?failed=true").await;
    assert_eq!(verified["sends"]["chosen"], 0, "{verified:#}");
    mailer.host.advance(60).await;
    let since = format!("?since={}", mailer.host.now().text());
    let verified = mailer.verify(wasm(), &since).await;
    assert_eq!(verified["sends"]["chosen"], 0, "{verified:#}");
}
