//! The rule of two persons: a version with further permissions than the one before it is activated or rolled
//! out when two admin keys have accepted that.

use leadhost_domain::accept::AcceptWord;
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{self, AcceptedWords, DeployError};
use leadhost_tests::guests::Variant;
use leadhost_tests::{Answer, Ask, Host, On, Options};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    a_version_that_may_do_more_is_activated_by_the_second_of_two_keys,
    the_same_key_and_another_one_with_its_label_are_no_second_key,
    without_a_key_there_is_neither_a_first_nor_a_second_person,
    the_acceptance_of_a_revoked_key_does_not_count,
    an_acceptance_waits_a_day_and_no_longer,
    a_concern_that_the_first_key_did_not_accept_needs_two_other_keys,
    an_acceptance_counts_once,
    a_canary_needs_two_keys_too,
    a_version_that_may_do_no_more_needs_one_key,
    without_the_rule_one_key_is_enough,
}

/// A host, and the key with which the others are made.
struct Guarded {
    host: Host,
    root: PlainKey,
}

/// An operator's key of the role admin.
struct OperatorKey {
    id: String,
    text: PlainKey,
}

impl Guarded {
    async fn new(on: On) -> Self {
        Self::start(Options::patient(on).with("plugins.two_person", true)).await
    }

    /// Serves a version whose senders prove that they know a secret.
    async fn start(options: Options) -> Self {
        let host = Host::working_with(options).await;
        let root = host.admin_key().await;
        let guarded = Self { host, root };
        let first = Variant::default().component();
        let ask = guarded.ask(&guarded.root, "POST", "/plugins?activate=true");
        ask.body(first).send().await.expect(201);
        guarded
    }

    fn ask(&self, key: &PlainKey, method: &str, path: &str) -> Ask {
        self.host
            .admin(method, &format!("/admin/v1{path}"))
            .bearer(key)
    }

    async fn key(&self, label: &str) -> OperatorKey {
        let key = json!({"kind": "admin", "label": label});
        let ask = self.ask(&self.root, "POST", "/keys").json(&key);
        let made = ask.send().await.expect(201).json();
        let text = made["key"].as_str().expect("a key");
        OperatorKey {
            id: made["id"].as_str().expect("an id").to_owned(),
            text: PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key"),
        }
    }

    /// Stores a version.
    async fn keep(&self, version: Variant<'_>) -> Digest {
        let wasm = version.component();
        let digest = Digest::compute(&wasm);
        let ask = self.ask(&self.root, "POST", "/plugins").body(wasm);
        ask.send().await.expect(201);
        digest
    }

    async fn activate(&self, key: &OperatorKey, digest: &Digest, accept: &[&str]) -> Answer {
        let body = json!({"digest": digest.0, "accept": accept});
        let ask = self.ask(&key.text, "POST", "/plugins/misbehave/activate");
        ask.json(&body).send().await
    }

    /// Activates a version, and accepts that it checks its senders less.
    async fn accept(&self, key: &OperatorKey, digest: &Digest) -> Answer {
        self.activate(key, digest, &["weaker-checks"]).await
    }

    fn serves(&self) -> Digest {
        let active = self.host.app.core.plugins.active("misbehave");
        active.expect("it serves").digest.clone()
    }

    /// Returns the rows of the audit about activations by this key, newest first.
    async fn audited(&self, label: &str, act: &str) -> Vec<Value> {
        let path = format!("/audit?actor={label}&act={act}");
        let audit = self.ask(&self.root, "GET", &path).send().await;
        let audit = audit.expect(200).json();
        audit["rows"].as_array().expect("a list").clone()
    }
}

fn detail(row: &Value) -> Value {
    let text = row["detail"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON")
}

/// Checks that another key has to accept it too.
fn waits(answer: Answer) -> Value {
    let refused = answer.expect(409).json();
    assert_eq!(
        refused["secondKey"]["accept"],
        json!(["weaker-checks"]),
        "{refused:#}"
    );
    refused
}

/// A version without a sender check.
fn unchecked(version: &str) -> Variant<'_> {
    Variant {
        version,
        check: "",
        ..Variant::default()
    }
}

async fn a_version_that_may_do_more_is_activated_by_the_second_of_two_keys(on: On) {
    let guarded = Guarded::new(on).await;
    let bia = guarded.key("bia").await;
    let wasm = unchecked("2.0.0").component();
    let digest = Digest::compute(&wasm);
    let path = "/plugins?activate=true&accept=weaker-checks";
    let ask = guarded.ask(&guarded.root, "POST", path).body(wasm);
    let refused = waits(ask.send().await);
    let error = refused["error"].as_str().expect("a text");
    let command = format!(
        "`leadhost plugin activate misbehave@{} --accept weaker-checks` with another key",
        digest.short()
    );
    assert!(error.contains(&command), "{error}");
    assert!(error.contains("within 24 h"), "{error}");
    assert_ne!(guarded.serves(), digest);
    let rows = guarded.audited("test", "activate-plugin").await;
    assert_eq!(rows[0]["outcome"], "refused");
    let needed = &detail(&rows[0])["needsSecondKey"];
    assert_eq!(needed, &json!(["weaker-checks"]));

    // The command names the version, which is stored.
    let unaccepted = guarded.activate(&bia, &digest, &[]).await.expect(409);
    assert_eq!(unaccepted.json()["accept"], json!(["weaker-checks"]));
    guarded.accept(&bia, &digest).await.expect(200);
    assert_eq!(guarded.serves(), digest);
    let rows = guarded.audited("bia", "activate-plugin").await;
    assert_eq!(rows[0]["outcome"], "done");
    let first = &detail(&rows[0])["firstKey"];
    assert_eq!(first["label"], "test");
    assert!(first["id"].is_string(), "{first:#}");
}

async fn the_same_key_and_another_one_with_its_label_are_no_second_key(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, again) = (guarded.key("ana").await, guarded.key("ana").await);
    let digest = guarded.keep(unchecked("2.0.0")).await;
    for key in [&ana, &ana, &again, &ana] {
        waits(guarded.accept(key, &digest).await);
    }
    assert_ne!(guarded.serves(), digest);
}

async fn without_a_key_there_is_neither_a_first_nor_a_second_person(on: On) {
    let guarded = Guarded::new(on).await;
    let ana = guarded.key("ana").await;
    let digest = guarded.keep(unchecked("2.0.0")).await;
    let accept = AcceptedWords::from_iter([AcceptWord::WeakerChecks]);
    let keyless = async || {
        let pipeline = &guarded.host.app.pipeline;
        let tried = deploy::try_stored(pipeline, "misbehave", &digest).await;
        let tried = tried.expect("it is stored");
        let refused = deploy::activate(pipeline, tried, &accept).await;
        let error = refused.expect_err("two keys have to accept it");
        assert!(matches!(error, DeployError::NoKey { .. }), "{error}");
        error.to_string()
    };
    let error = keyless().await;
    let command = format!(
        "`leadhost plugin activate misbehave@{} --accept weaker-checks` with one key",
        digest.short()
    );
    assert!(error.contains(&command), "{error}");
    // The first key is still the first.
    waits(guarded.accept(&ana, &digest).await);
    keyless().await;
    assert_ne!(guarded.serves(), digest);
    let bia = guarded.key("bia").await;
    guarded.accept(&bia, &digest).await.expect(200);
    assert_eq!(guarded.serves(), digest);
}

async fn the_acceptance_of_a_revoked_key_does_not_count(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, bia) = (guarded.key("ana").await, guarded.key("bia").await);
    let digest = guarded.keep(unchecked("2.0.0")).await;
    waits(guarded.accept(&ana, &digest).await);
    let path = format!("/keys/{}", ana.id);
    let ask = guarded.ask(&guarded.root, "DELETE", &path);
    ask.send().await.expect(200);
    waits(guarded.accept(&bia, &digest).await);
    assert_ne!(guarded.serves(), digest);
    let carla = guarded.key("carla").await;
    guarded.accept(&carla, &digest).await.expect(200);
}

async fn an_acceptance_waits_a_day_and_no_longer(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, bia) = (guarded.key("ana").await, guarded.key("bia").await);
    let digest = guarded.keep(unchecked("2.0.0")).await;
    waits(guarded.accept(&ana, &digest).await);
    guarded.host.advance(24 * 3_600).await;
    waits(guarded.accept(&bia, &digest).await);
    guarded.host.advance(24 * 3_600 - 1).await;
    guarded.accept(&ana, &digest).await.expect(200);
}

async fn a_concern_that_the_first_key_did_not_accept_needs_two_other_keys(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, bia) = (guarded.key("ana").await, guarded.key("bia").await);
    let digest = guarded.keep(unchecked("2.0.0")).await;
    waits(guarded.accept(&ana, &digest).await);
    // Meanwhile another version is active, whose senders prove that they know another secret.
    let other = Variant {
        version: "1.5.0",
        check: "another",
        ..Variant::default()
    };
    let other = guarded.keep(other).await;
    waits(guarded.accept(&ana, &other).await);
    guarded.accept(&bia, &other).await.expect(200);
    waits(guarded.accept(&bia, &digest).await);
    guarded.accept(&ana, &digest).await.expect(200);
}

async fn an_acceptance_counts_once(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, bia) = (guarded.key("ana").await, guarded.key("bia").await);
    let before = guarded.serves();
    let digest = guarded.keep(unchecked("2.0.0")).await;
    waits(guarded.accept(&ana, &digest).await);
    guarded.accept(&bia, &digest).await.expect(200);
    let back = guarded.activate(&bia, &before, &["older"]).await;
    back.expect(200);
    waits(guarded.accept(&bia, &digest).await);
}

async fn a_canary_needs_two_keys_too(on: On) {
    let guarded = Guarded::new(on).await;
    let (ana, bia) = (guarded.key("ana").await, guarded.key("bia").await);
    let digest = guarded.keep(unchecked("2.0.0")).await;
    let start = async |key: &OperatorKey| {
        let order = json!({"digest": digest.0, "mode": "canary", "accept": ["weaker-checks"]});
        let ask = guarded.ask(&key.text, "POST", "/plugins/misbehave/rollout");
        ask.json(&order).send().await
    };
    let refused = waits(start(&ana).await);
    let error = refused["error"].as_str().expect("a text");
    assert!(error.contains("`leadhost plugin rollout start"), "{error}");
    let not_started = "the rollout of misbehave 2.0.0 is not started yet";
    assert!(error.contains(not_started), "{error}");
    let begun = start(&bia).await.expect(201).json();
    assert_eq!(begun["stage"], "canary", "{begun:#}");
    let rows = guarded.audited("bia", "start-rollout").await;
    assert_eq!(detail(&rows[0])["firstKey"]["label"], "ana");
}

async fn a_version_that_may_do_no_more_needs_one_key(on: On) {
    let guarded = Guarded::new(on).await;
    let ana = guarded.key("ana").await;
    let newer = Variant {
        version: "1.1.0",
        ..Variant::default()
    };
    let newer = guarded.keep(newer).await;
    guarded.activate(&ana, &newer, &["all"]).await.expect(200);
    assert_eq!(guarded.serves(), newer);
}

async fn without_the_rule_one_key_is_enough(on: On) {
    let guarded = Guarded::start(Options::patient(on)).await;
    let ana = guarded.key("ana").await;
    let digest = guarded.keep(unchecked("2.0.0")).await;
    guarded.accept(&ana, &digest).await.expect(200);
    assert_eq!(guarded.serves(), digest);
}
