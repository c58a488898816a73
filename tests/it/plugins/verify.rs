//! Verification: a version and the one that serves convert the same stored deliveries. What
//! differs is reported, and nothing else changes.

use leadhost_tests::guests::Variant;
use leadhost_tests::{Ask, Host, On, Options};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    equal_versions_differ_in_nothing,
    a_changed_and_a_lost_field_are_counted_with_masked_examples,
    a_version_that_traps_refuses_or_grows_is_found_out,
    a_version_that_loops_is_found_out,
    a_version_that_mends_a_failure_is_shown_and_failed_deliveries_come_first,
    a_rare_connection_is_covered_beside_a_busy_one,
    a_verification_leaves_nothing_behind,
    without_a_serving_version_or_deliveries_the_answer_says_so,
    bounds_and_unknown_versions_are_refused,
}

/// A host with an operator's key.
struct Operator {
    host: Host,
    key: leadhost::domain::key::PlainKey,
}

impl Operator {
    async fn new(on: On) -> Self {
        Self::start(Options::patient(on)).await
    }

    async fn start(options: Options) -> Self {
        let host = Host::start(options).await;
        let key = host.admin_key().await;
        Self { host, key }
    }

    fn ask(&self, path: &str) -> Ask {
        self.host
            .admin("POST", &format!("/admin/v1{path}"))
            .bearer(&self.key)
    }

    /// Verifies a component that is not stored.
    async fn verify(&self, candidate: Variant<'_>, query: &str) -> Value {
        let ask = self.ask(&format!("/plugins/verify{query}"));
        let answer = ask.body(candidate.component()).send().await;
        answer.expect(200).json()
    }
}

/// A version without a sender check, so that tests need no signatures.
fn version(version: &str) -> Variant<'_> {
    Variant {
        version,
        check: "",
        ..Variant::default()
    }
}

fn connection(name: &str, config: &str) -> String {
    format!(
        "\n[[connections]]\nname = \"{name}\"\npartner = \"acme\"\nplugin = \"misbehave\"\nconfig = {config}\n"
    )
}

/// Serves version 1 and sends this many deliveries to a connection with this configuration.
async fn served(on: On, config: &str, deliveries: usize) -> Operator {
    let operator = Operator::new(on).await;
    operator.host.converter(version("1.0.0").component()).await;
    let declared = operator.host.declare(&connection("odd", config)).await;
    send(&operator.host, &declared.address("odd"), deliveries).await;
    operator
}

async fn send(host: &Host, address: &str, deliveries: usize) {
    for _ in 0..deliveries {
        host.post(address).body("{}").send().await.expect(200);
    }
}

fn field<'a>(verified: &'a Value, name: &str, change: &str) -> &'a Value {
    let fields = verified["fields"].as_array().expect("a list");
    let found = fields
        .iter()
        .find(|one| one["field"] == name && one["change"] == change);
    found.unwrap_or_else(|| panic!("{name} {change}: {verified:#}"))
}

async fn equal_versions_differ_in_nothing(on: On) {
    let operator = served(on, "{}", 3).await;
    let verified = operator.verify(version("1.1.0"), "").await;
    assert_eq!(verified["serving"]["version"], "1.0.0");
    assert_eq!(verified["version"], "1.1.0");
    for (name, count) in [
        ("chosen", 3),
        ("compared", 3),
        ("same", 3),
        ("leads", 3),
        ("candidateLeads", 3),
        ("connections", 1),
        ("notReached", 0),
    ] {
        assert_eq!(verified[name], count, "{name}: {verified:#}");
    }
    assert_eq!(verified["fields"], json!([]));
}

async fn a_changed_and_a_lost_field_are_counted_with_masked_examples(on: On) {
    // Version 1 reads a phone, and the candidate reads none.
    let operator = Operator::new(on).await;
    let serving = Variant {
        always: "phones",
        ..version("1.0.0")
    };
    operator.host.converter(serving.component()).await;
    let declared = operator
        .host
        .declare(&connection("odd", "{ size = 1 }"))
        .await;
    send(&operator.host, &declared.address("odd"), 4).await;
    let verified = operator.verify(version("1.1.0"), "").await;
    assert_eq!(verified["same"], 0);
    let lost = field(&verified, "phone", "lost");
    assert_eq!(lost["count"], 4);
    let examples = lost["examples"].as_array().expect("a list");
    assert_eq!(examples.len(), 3);
    let before = examples[0]["before"].as_str().expect("a masked value");
    assert!(
        before.starts_with("+*") && !before.contains("119"),
        "{before}"
    );
    assert!(examples[0]["after"].is_null());

    let prefixed = Variant {
        prefix: "new ",
        ..version("1.2.0")
    };
    operator.host.converter(version("1.1.0").component()).await;
    let verified = operator.verify(prefixed, "").await;
    let changed = field(&verified, "message", "changed");
    assert_eq!(changed["count"], 4);
    assert_eq!(verified["newlyFailing"]["count"], 0);
}

async fn a_version_that_traps_refuses_or_grows_is_found_out(on: On) {
    let operator = served(on, "{}", 2).await;
    for word in ["trap", "refuse", "grow"] {
        let candidate = Variant {
            always: word,
            ..version("2.0.0")
        };
        let verified = operator.verify(candidate, "").await;
        let failing = &verified["newlyFailing"];
        assert_eq!(failing["count"], 2, "{word}: {verified:#}");
        assert_eq!(verified["compared"], 2);
        assert!(failing["examples"][0]["after"].is_string(), "{word}");
    }
    // The serving version is not harmed by it.
    let verified = operator.verify(version("1.1.0"), "").await;
    assert_eq!(verified["same"], 2);
}

async fn a_version_that_loops_is_found_out(on: On) {
    let options = Options::on(on).with("plugins.deadline_ms", "1000");
    let operator = Operator::start(options).await;
    operator.host.converter(version("1.0.0").component()).await;
    let declared = operator.host.declare(&connection("odd", "{}")).await;
    send(&operator.host, &declared.address("odd"), 2).await;
    let candidate = Variant {
        always: "loop",
        ..version("2.0.0")
    };
    let verified = operator.verify(candidate, "").await;
    assert_eq!(verified["newlyFailing"]["count"], 2, "{verified:#}");
}

async fn a_version_that_mends_a_failure_is_shown_and_failed_deliveries_come_first(on: On) {
    let operator = Operator::new(on).await;
    operator.host.converter(version("1.0.0").component()).await;
    let both = connection("good", "{}") + &connection("bad", "{ do = \"trap\" }");
    let declared = operator.host.declare(&both).await;
    send(&operator.host, &declared.address("good"), 5).await;
    send(&operator.host, &declared.address("bad"), 2).await;
    let mended = Variant {
        mended: "trap",
        ..version("1.1.0")
    };
    let verified = operator.verify(mended, "?last=2").await;
    assert_eq!(verified["compared"], 2);
    assert_eq!(verified["noLongerFailing"]["count"], 2, "{verified:#}");
    let mended = Variant {
        mended: "trap",
        ..version("1.1.0")
    };
    let verified = operator.verify(mended, "?failed=true").await;
    assert_eq!(verified["chosen"], 2);
}

async fn a_rare_connection_is_covered_beside_a_busy_one(on: On) {
    let operator = Operator::new(on).await;
    operator.host.converter(version("1.0.0").component()).await;
    let both = connection("busy", "{}") + &connection("rare", "{ do = \"leads\", size = 2 }");
    let declared = operator.host.declare(&both).await;
    send(&operator.host, &declared.address("rare"), 1).await;
    send(&operator.host, &declared.address("busy"), 9).await;
    let candidate = Variant {
        mended: "leads",
        ..version("1.1.0")
    };
    let verified = operator.verify(candidate, "?last=4").await;
    assert_eq!(verified["compared"], 4);
    assert_eq!(verified["connections"], 2);
    // The rare connection's two leads become one.
    assert_eq!(verified["leads"], 5, "{verified:#}");
    assert_eq!(verified["candidateLeads"], 4);
    assert_eq!(verified["vanished"]["count"], 1);
}

async fn a_verification_leaves_nothing_behind(on: On) {
    let operator = served(on, "{}", 3).await;
    let host = &operator.host;
    let state = async || {
        (
            host.count("select count(*) from deals").await,
            host.count("select count(*) from contacts").await,
            host.count("select count(*) from deliveries where attempts > 0")
                .await,
            host.count("select count(*) from plugins").await,
        )
    };
    let before = state().await;
    let candidate = Variant {
        always: "trap",
        ..version("2.0.0")
    };
    operator.verify(candidate, "").await;
    assert_eq!(state().await, before);
    let serves = host
        .app
        .core
        .plugins
        .active("misbehave")
        .expect("it serves");
    assert_eq!(serves.description.version, "1.0.0");
    // The connection's circuit is closed: live deliveries are converted.
    let list = host.admin("GET", "/admin/v1/plugins").bearer(&operator.key);
    let list = list.send().await.expect(200).json();
    assert_eq!(list["plugins"][0]["circuits"], json!([]));
}

async fn without_a_serving_version_or_deliveries_the_answer_says_so(on: On) {
    let operator = Operator::new(on).await;
    let verified = operator.verify(version("1.0.0"), "").await;
    assert!(verified["serving"].is_null());
    assert_eq!(verified["chosen"], 0);
    let digest = operator.host.converter(version("1.0.0").component()).await;
    let stored = json!({ "digest": digest.0 });
    let ask = operator.ask("/plugins/misbehave/verify").json(&stored);
    let verified = ask.send().await.expect(200).json();
    assert_eq!(verified["serving"]["digest"], json!(digest.0));
    assert_eq!(verified["chosen"], 0);
}

async fn bounds_and_unknown_versions_are_refused(on: On) {
    let operator = served(on, "{}", 1).await;
    for query in [
        "last=0",
        "last=10001",
        "seconds=x",
        "since=yesterday",
        "failed=maybe",
    ] {
        let ask = operator.ask(&format!("/plugins/verify?{query}"));
        let refused = ask.body(version("2.0.0").component()).send().await;
        let refused = refused.expect(400).json();
        let name = query.split('=').next().expect("a name");
        assert!(
            refused["error"].as_str().expect("a text").contains(name),
            "{refused}"
        );
    }
    let ask = operator.ask("/plugins/verify").body("no component");
    ask.send().await.expect(422);
    let unknown = json!({ "digest": "0123456789abcdef" });
    let ask = operator.ask("/plugins/misbehave/verify").json(&unknown);
    ask.send().await.expect(404);
    let short = json!({ "digest": "01" });
    let ask = operator.ask("/plugins/misbehave/verify").json(&short);
    ask.send().await.expect(400);
}
