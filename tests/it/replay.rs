//! A replay of fetched leads: they are completed from the stored answers, and their
//! source is not called.

use std::sync::Arc;

use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::id::DeliveryId;
use leadhost_pipeline::connections::Live;
use leadhost_pipeline::replay::{self, ReplayError, ReplayOptions};
use leadhost_pipeline::routing::CapturedLive;
use leadhost_pipeline::verify::{self, CapturedDelivery};
use leadhost_store::DeliveryOutcome;
use leadhost_tests::components::component;
use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::guests::Variant;
use leadhost_tests::{Declared, Host, Json, On, has, lacks};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    a_replay_of_a_fetched_lead_shows_the_differences_and_apply_writes_them,
    a_lead_behind_two_fetches_is_replayed_the_same_way,
    an_answer_is_kept_without_the_secrets_that_it_repeats,
    a_converter_that_fails_at_a_kept_answer_changes_nothing,
    a_version_that_asks_for_something_else_leaves_the_lead_as_it_is,
    leads_that_another_version_finds_in_a_kept_answer_are_created,
    a_fetched_lead_is_captured_with_its_answers_and_converted_outside_of_the_service,
    a_deal_returns_to_its_person_and_no_contact_is_left_over,
}

/// A token of the senders that the double's answers contain too.
const TOKEN: &str = "OAuthException";

fn double() -> GraphDouble {
    GraphDouble::start(GraphOptions::default()).expect("a free port")
}

/// A lead that was fetched from the double; for this test a refusal of the double is
/// an answer too.
struct Fetched {
    host: Host,
    declared: Declared,
    double: GraphDouble,
    delivery: DeliveryId,
    /// The exported rows at that time.
    rows: Vec<Value>,
}

impl Fetched {
    async fn by(on: On, word: &str) -> Self {
        let host = Host::working(on).await;
        let double = double();
        host.converter(version("1.0.0", &double, "")).await;
        let declared = host.declare(&pointer(word, &double)).await;
        let delivery = send(&host, &declared).await;
        host.becomes(delivery, DeliveryStatus::Converted).await;
        let rows = host.rows(&declared, "deals").await;
        Self {
            host,
            declared,
            double,
            delivery,
            rows,
        }
    }

    async fn replay(&self, apply: bool) -> Result<DeliveryOutcome, ReplayError> {
        let options = ReplayOptions {
            apply,
            release: false,
            ..ReplayOptions::default()
        };
        replay::one(&self.host.app.pipeline, self.delivery, options).await
    }

    async fn rows(&self) -> Vec<Value> {
        self.host.rows(&self.declared, "deals").await
    }
}

async fn send(host: &Host, declared: &Declared) -> DeliveryId {
    let address = declared.address("pointer");
    let ask = host.post(&format!("{address}?token={TOKEN}"));
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    host.delivery(&answer).await.summary.id
}

fn version(version: &str, double: &GraphDouble, prefix: &str) -> Vec<u8> {
    let fetch = format!("http://{}/leads", double.address());
    Variant::version(version)
        .fetch(&fetch)
        .prefix(prefix)
        .component()
}

fn pointer(word: &str, double: &GraphDouble) -> String {
    format!(
        r#"
[[connections]]
name = "pointer"
partner = "acme"
plugin = "misbehave"
config = {{ do = "{word}" }}
allow = [{{ url = "http://{}", private = true }}]
secrets = {{ token = "{TOKEN}" }}
[[connections.checks]]
secret = "token"
scheme = "equals"
proof = {{ place = "query", name = "token" }}
"#,
        double.address()
    )
}

async fn shows_and_writes(on: On, word: &str, calls: usize) {
    let fetched = Fetched::by(on, word).await;
    let counted = async || {
        let ask = fetched.host.admin("GET", "/metrics");
        let metrics = ask.send().await.expect(200);
        let lines = metrics.text().lines().map(str::to_owned);
        let mut lines = lines.collect::<Vec<_>>();
        lines.retain(|line| line.starts_with("leadhost_leads_total{"));
        lines
    };
    let before = counted().await;
    let is_so = before.len() == 1 && before[0].ends_with("} 2");
    assert!(is_so, "{before:?}");
    assert_eq!(fetched.double.requests().len(), calls);
    assert_eq!(fetched.rows.len(), 2);
    // The same version finds the same.
    for apply in [false, true] {
        let same = fetched.replay(apply).await.expect("it is replayed");
        assert_eq!(same.items.len(), 2);
        assert!(same.items.iter().all(|item| item.diff.is_empty()));
    }
    let newer = version("1.1.0", &fetched.double, "now ");
    let digest = fetched.host.converter(newer).await;

    let shown = fetched.replay(false).await.expect("it is replayed");
    assert_eq!(shown.status, DeliveryStatus::Converted);
    assert_eq!(shown.items.len(), 2);
    for item in &shown.items {
        assert_eq!(item.status, ItemStatus::Converted);
        let [difference] = &item.diff[..] else {
            panic!("one field differs: {item:?}");
        };
        assert_eq!(difference.field, "deal.props.message");
        let before = difference.before.as_str().expect("text");
        assert_eq!(difference.after, json!(format!("now {before}")));
        assert!(!difference.applied);
    }
    assert_eq!(fetched.rows().await, fetched.rows, "nothing was written");

    let applied = fetched.replay(true).await.expect("it is replayed");
    let rows = fetched.rows().await;
    assert_eq!(rows.len(), 2, "nothing was added");
    for item in &applied.items {
        assert!(item.diff[0].applied);
        let deal = json!(item.deal_id.expect("a deal"));
        let row = rows.iter().find(|row| row["id"] == deal);
        assert_eq!(
            row.expect("it is exported")["props"]["message"],
            item.diff[0].after
        );
        let before = fetched.rows.iter().find(|row| row["id"] == deal);
        assert!(before.is_some(), "it is the same deal as before");
    }
    let stored = fetched.host.stored(fetched.delivery).await;
    assert_eq!(stored.summary.ran.expect("it ran").digest, digest);
    let nothing = fetched.replay(true).await.expect("it is replayed");
    assert!(nothing.items.iter().all(|item| item.diff.is_empty()));
    assert_eq!(
        fetched.double.requests().len(),
        calls,
        "the source was called again"
    );
    // A replay is not counted: the delivery was counted when it came in.
    assert_eq!(counted().await, before);
}

async fn a_replay_of_a_fetched_lead_shows_the_differences_and_apply_writes_them(on: On) {
    Box::pin(shows_and_writes(on, "fetch-leads", 1)).await;
}

async fn a_lead_behind_two_fetches_is_replayed_the_same_way(on: On) {
    Box::pin(shows_and_writes(on, "fetch-twice", 2)).await;
}

async fn an_answer_is_kept_without_the_secrets_that_it_repeats(on: On) {
    let fetched = Fetched::by(on, "fetch-leads").await;
    has!(fetched.rows[0]["props"]["message"], r#""type":"***""#);
    assert!(!fetched.host.keeps(TOKEN).await);
}

async fn a_converter_that_fails_at_a_kept_answer_changes_nothing(on: On) {
    let fetched = Fetched::by(on, "fetch-leads").await;
    let before = fetched.host.stored(fetched.delivery).await;
    for (word, reason) in [
        ("fetch-and-fail", "the converter reports: as asked"),
        ("fetch-and-trap", "the plugin call failed"),
    ] {
        fetched.host.declare(&pointer(word, &fetched.double)).await;
        let error = fetched.replay(true).await.expect_err("it fails");
        assert!(matches!(error, ReplayError::Completion { .. }));
        let error = error.to_string();
        assert!(error.starts_with("item 0 of delivery"), "{error}");
        has!(error, reason);
        assert_eq!(fetched.rows().await, fetched.rows);
        let after = fetched.host.stored(fetched.delivery).await;
        assert_eq!(after.items, before.items);
        assert_eq!(after.summary.status, before.summary.status);
        assert_eq!(after.summary.error, None);
        assert_eq!(after.summary.ran, before.summary.ran);
    }
    // The delivery is free again at once.
    let mended = pointer("fetch-leads", &fetched.double);
    fetched.host.declare(&mended).await;
    fetched.replay(true).await.expect("it is replayed");
    assert_eq!(fetched.double.requests().len(), 1);
}

async fn a_version_that_asks_for_something_else_leaves_the_lead_as_it_is(on: On) {
    let fetched = Fetched::by(on, "fetch-leads").await;
    let elsewhere = double();
    let newer = version("1.1.0", &elsewhere, "now ");
    fetched.host.converter(newer).await;
    let outcome = fetched.replay(true).await.expect("it is replayed");
    assert_eq!(outcome.status, DeliveryStatus::Converted);
    assert!(outcome.items.iter().all(|item| item.diff.is_empty()));
    assert_eq!(fetched.rows().await, fetched.rows);
    assert_eq!(fetched.double.requests().len(), 1);
    assert!(elsewhere.requests().is_empty());
}

async fn leads_that_another_version_finds_in_a_kept_answer_are_created(on: On) {
    // The converter says that the answer contains no lead.
    let host = Host::working(on).await;
    let double = double();
    host.converter(version("1.0.0", &double, "")).await;
    let declared = host.declare(&pointer("fetch", &double)).await;
    let delivery = send(&host, &declared).await;
    host.becomes(delivery, DeliveryStatus::Ignored).await;
    host.declare(&pointer("fetch-leads", &double)).await;
    // Without `apply`, it only shows them.
    for (apply, deals) in [(false, 0), (true, 2)] {
        let options = ReplayOptions {
            apply,
            ..ReplayOptions::default()
        };
        let outcome = replay::one(&host.app.pipeline, delivery, options).await;
        let outcome = outcome.expect("it is replayed");
        assert_eq!(outcome.status, DeliveryStatus::Converted);
        assert_eq!(host.rows(&declared, "deals").await.len(), deals);
    }
    assert_eq!(double.requests().len(), 1);
}

async fn a_fetched_lead_is_captured_with_its_answers_and_converted_outside_of_the_service(on: On) {
    let fetched = Fetched::by(on, "fetch-twice").await;
    let key = fetched.host.admin_key().await;
    let ask = fetched
        .host
        .admin("POST", "/admin/v1/deliveries/captures")
        .bearer(&key)
        .json(&json!({"deliveries": [fetched.delivery]}));
    let captured = ask.send().await.expect(200).json();
    lacks!(captured.to_string(), TOKEN);
    let delivery = &captured["deliveries"][0];
    let answers = delivery["answers"].list();
    let hops: Vec<_> = answers.iter().map(|one| one["hop"].clone()).collect();
    assert_eq!(hops, [json!(1), json!(2)]);
    assert!(answers.iter().all(|one| one["stateBase64"].is_string()));
    let items = delivery["outcome"]["items"].list();
    let kinds: Vec<_> = items.iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(kinds, [json!("lead"), json!("lead")]);

    // An engine without the store gives the same result and makes no call.
    let pipeline = &fetched.host.app.pipeline;
    let id = fetched.declared.id("pointer");
    let live = pipeline.connections.get(&id).await.expect("a store");
    let live = live.expect("the connection");
    let plugins = &pipeline.core.plugins;
    let serving = plugins.active("misbehave").expect("it serves");
    let stored = async || fetched.host.stored(fetched.delivery).await;
    let capture = verify::capture(pipeline, &live, Some(&serving), stored().await, usize::MAX);
    let capture = capture.await.expect("a store");
    assert!(!capture.is_cut);
    let outside = Arc::new(Live::without_secrets(live.connection.clone()));
    let connections = [CapturedLive {
        live: Arc::clone(&outside),
        is_proven: true,
    }];
    let answers = capture.answers.into_iter().map(|one| one.answer);
    let taken = CapturedDelivery {
        request: capture.delivery.request,
        received_by: outside,
        answers: answers.collect(),
    };
    let outcome = verify::outcome_of(plugins, &serving, &taken, &connections).await;
    assert_eq!(Some(outcome.outcome), capture.outcome);
    assert!(outcome.log.is_empty(), "{:?}", outcome.log);
    assert_eq!(fetched.double.requests().len(), 2);

    // Without room, answers are left out, and that is said.
    let capture = verify::capture(pipeline, &live, Some(&serving), stored().await, 0);
    let capture = capture.await.expect("a store");
    assert!(capture.is_cut && capture.answers.is_empty());
}

async fn a_deal_returns_to_its_person_and_no_contact_is_left_over(on: On) {
    let host = Host::working(on).await;
    host.converter(component("plugins/converter-mapping.wasm"))
        .await;
    let connection = |phones: &str| {
        format!(
            r#"
[[connections]]
name = "site"
partner = "acme"
plugin = "mapping"
config = {{ fields = {{ externalId = "id", name = "nome", phones = "{phones}", emails = "email" }}, attributes = "none" }}
"#
        )
    };
    let send = async |declared: &Declared, lead: Value| {
        let ask = host.post(&declared.address("site")).json(&lead);
        let answer = ask.send().await.expect(200);
        host.delivery(&answer).await.summary.id
    };
    let rita = json!({"id": "1", "nome": "Rita", "fone": "(11) 90000-0001"});
    let declared = host.declare(&connection("fone")).await;
    send(&declared, rita).await;
    // A configuration that loses phones makes a new contact of a known person.
    host.declare(&connection("telefone")).await;
    let again =
        json!({"id": "2", "nome": "Rita", "fone": "(11) 90000-0001", "email": "rita@example.com"});
    let delivery = send(&declared, again).await;
    assert_eq!(host.rows(&declared, "contacts").await.len(), 2);

    host.declare(&connection("fone")).await;
    let options = ReplayOptions {
        apply: true,
        release: false,
        ..ReplayOptions::default()
    };
    let replayed = replay::one(&host.app.pipeline, delivery, options).await;
    let replayed = replayed.expect("it is replayed");
    let merged = replayed.items[0].diff.iter();
    let merged: Vec<_> = merged
        .filter(|diff| diff.field == "contact.merged" && diff.applied)
        .collect();
    let contacts = host.rows(&declared, "contacts").await;
    assert_eq!(contacts.len(), 1, "{contacts:?}");
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].after, contacts[0]["id"]);
    let deals = host.rows(&declared, "deals").await;
    assert_eq!(deals.len(), 2);
    for deal in deals {
        assert_eq!(deal["person_id"], contacts[0]["id"]);
    }
}
