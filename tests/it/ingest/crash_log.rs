//! The log of a plugin before it failed: kept with the delivery without secrets, bounded, and removed
//! with it.
//!
//! The guest is built for `wasm32-wasip2`; without that target these tests print a message
//! and do nothing.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_store::DeliveryDetail;
use leadhost_tests::{Declared, Host, Json, On, guests, has, lacks};
use serde_json::{Value, json};

use super::{FORM, harm};

leadhost_tests::on_every_store! {
    a_crash_tells_the_operator_what_happened,
    a_secret_in_the_log_is_masked,
    a_failed_replay_adds_the_log_to_the_notes,
    an_erasure_removes_the_log,
}

const SECRET: &str = "made-up-form-key";

/// A connection of the misbehaving converter with WASI, which has a secret.
async fn crashing(on: On, word: &str, size: u64) -> (Host, Declared) {
    let guest = guests::misbehave_with_wasi();
    let host = Host::working(on).await;
    host.converter(guest).await;
    let checked = format!(
        r#"
secrets = {{ token = "{SECRET}" }}
[[connections.checks]]
secret = "token"
scheme = "equals"
proof = {{ place = "header", name = "x-token" }}
"#
    );
    let file = harm("log", word, size) + &checked;
    let declared = host.declare(&file).await;
    (host, declared)
}

async fn deliver(host: &Host, declared: &Declared, body: &str) -> DeliveryDetail {
    let ask = host.post(&declared.address("log"));
    let ask = ask.header("x-token", SECRET).body(body.to_owned());
    let answer = ask.send().await.expect(200);
    host.delivery(&answer).await
}

fn shows(delivery: &DeliveryDetail, part: &str) -> bool {
    delivery.notes.iter().any(|note| note.contains(part))
}

async fn a_crash_tells_the_operator_what_happened(on: On) {
    let (host, declared) = crashing(on, "confess", 1).await;
    let failed = deliver(&host, &declared, "no lead").await;
    assert_eq!(failed.summary.status, DeliveryStatus::Failed);
    let error = failed.summary.error.as_deref().expect("a reason");
    has!(error, "unreachable");
    lacks!(error, '\n');
    let key = host.admin_key().await;
    let target = format!("/admin/v1/deliveries/{}", failed.summary.id);
    let shown = host.admin("GET", &target).bearer(&key).send().await;
    let shown = shown.expect(200).json();
    let notes = shown["notes"].list();
    let at = |part: &str| {
        let found = notes
            .iter()
            .position(|note| note.as_str().is_some_and(|note| note.contains(part)));
        found.unwrap_or_else(|| panic!("{part}: {notes:?}"))
    };
    assert!(at("line 0") < at("read no lead"));
    assert!(at("read no lead") < at("misbehave/src/"));
    assert!(at("misbehave/src/") < at("the last words"));
    lacks!(shown["notes"].to_string(), "\\u001b");
}

async fn a_secret_in_the_log_is_masked(on: On) {
    let (host, declared) = crashing(on, "confess", 0).await;
    // The converter gets the body without the secret, and can still derive it.
    let backwards: String = SECRET.chars().rev().collect();
    let failed = deliver(&host, &declared, &format!("<{backwards}>")).await;
    assert!(shows(&failed, "backwards >***<"), "{:?}", failed.notes);
    assert!(!host.keeps(SECRET).await);
}

async fn a_failed_replay_adds_the_log_to_the_notes(on: On) {
    let guest = guests::misbehave_with_wasi();
    let host = Host::working(on).await;
    host.converter(guest).await;
    let declared = host.declare(&harm("log", "", 0)).await;
    let converted = deliver(&host, &declared, "no lead").await;
    assert_eq!(converted.summary.status, DeliveryStatus::Converted);
    host.declare(&harm("log", "confess", 0)).await;
    let key = host.admin_key().await;
    let target = format!("/admin/v1/deliveries/{}/replay", converted.summary.id);
    let replay = host.admin("POST", &target).bearer(&key).json(&json!({}));
    replay.send().await.expect(200);
    let stored = host.stored(converted.summary.id).await;
    // The lead exists: a failure now does not undo it.
    assert_eq!(stored.summary.status, DeliveryStatus::Converted);
    assert!(stored.summary.error.is_some());
    assert!(shows(&stored, "the last words"), "{:?}", stored.notes);
}

async fn an_erasure_removes_the_log(on: On) {
    let (host, _) = crashing(on, "confess", 0).await;
    host.converter(guests::example_form()).await;
    let file = harm("log", "confess", 0) + FORM;
    let declared = host.declare(&file).await;
    let lead = super::lead("L1", "Ana Prado", "11 98888-0001");
    let form = host.post(&declared.address("form")).json(&lead);
    form.send().await.expect(200);
    let failed = deliver(&host, &declared, &lead.to_string()).await;
    let id = failed.summary.id;
    assert!(shows(&failed, "11 98888-0001"), "{:?}", failed.notes);
    let key = host.admin_key().await;
    let erase = json!({"workspace": "demo", "phone": "11 98888-0001", "unconverted": true});
    let target = "/admin/v1/contacts/erase";
    let done = host.admin("POST", target).bearer(&key).json(&erase);
    let receipt: Value = done.send().await.expect(200).json();
    assert_eq!(receipt["erased"]["deliveries"], 2, "{receipt}");
    assert!(host.store().delivery(id).await.expect("a store").is_none());
}
