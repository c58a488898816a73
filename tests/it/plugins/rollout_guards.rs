//! Other reasons that end a rollout: other sender checks, far more memory. And the comparisons
//! besides the usual delivery: many leads at once, and the later answers of a lead that is fetched in steps.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::DeliveryId;
use leadhost_domain::plugin::Digest;
use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, Json, On, eventually, fields, has, until};
use serde_json::{Value, json};

use super::rollout::{LONG, Rolling, canary, connection, count, phones, version, why};

leadhost_tests::on_every_store! {
    a_candidate_that_would_refuse_senders_is_rolled_back_and_refuses_none,
    a_candidate_whose_other_checks_pass_goes_on,
    a_candidate_that_needs_far_more_memory_is_rolled_back,
    a_delivery_of_many_leads_is_compared_too,
    the_later_answers_of_a_fetched_lead_are_compared_too,
    a_candidate_that_fetches_from_elsewhere_waits_for_an_operator_and_is_rolled_back_if_its_fetches_fail,
    a_version_in_probation_whose_own_fetches_succeed_goes_on,
    the_previous_version_reads_the_answers_on_which_a_version_in_probation_crashes,
}

/// A connection whose stable version fetches its leads from a source.
struct Fetching {
    rolling: Rolling,
    leads: String,
    /// Another address of the source.
    other: String,
    _source: GraphDouble,
}

impl Fetching {
    async fn new(on: On) -> Self {
        let source = GraphDouble::start(GraphOptions::default()).expect("a free port");
        let [leads, other] =
            ["leads", "other"].map(|path| format!("http://{}/{path}", source.address()));
        let allow = format!(
            "allow = [{{ url = \"http://{}\", private = true }}]\n",
            source.address()
        );
        let connections = connection("odd", "{ size = 1 }") + &allow;
        let stable = fetching("1.0.0", &leads, "fetch-leads");
        let host = Host::working(on).await;
        Self {
            rolling: Rolling::with_stable(host, &connections, stable).await,
            leads,
            other,
            _source: source,
        }
    }

    /// Sends a delivery whose lead is fetched under this id.
    async fn send(&self, id: usize) -> DeliveryId {
        let host = &self.rolling.host;
        let address = self.rolling.declared.address("odd");
        let answer = host.post(&format!("{address}?id={id}")).send().await;
        host.delivery(&answer.expect(200)).await.summary.id
    }

    /// Makes this version the active one, in its probation.
    async fn promote(&self, candidate: Variant<'_>) -> Digest {
        let candidate = self.rolling.keep(candidate).await;
        self.rolling.begin(&candidate, canary(&[1], LONG)).await;
        let promoted = self.rolling.change("promote").await.expect(200).json();
        assert_eq!(promoted["stage"], "probation", "{promoted:#}");
        candidate
    }
}

fn fetching<'a>(version: &'a str, fetch: &'a str, always: &'a str) -> Variant<'a> {
    self::version(version).fetch(fetch).always(always)
}

/// The connection `odd`, which has the secret of the check that a version may declare.
fn with_secret() -> String {
    connection("odd", "{ size = 1 }") + "secrets = { key = \"made-up-key\" }\n"
}

async fn a_candidate_that_would_refuse_senders_is_rolled_back_and_refuses_none(on: On) {
    // A secret can be given to the connection only while a version uses it.
    let guarded = phones("0.9.0").check("key");
    let host = Host::working(on).await;
    let mut rolling = Rolling::with_stable(host, &with_secret(), guarded).await;
    rolling.stable = rolling.keep(phones("1.0.0")).await;
    let order = json!({"digest": rolling.stable.0, "accept": ["all"]});
    let activate = rolling.ask("POST", "/plugins/misbehave/activate");
    activate.json(&order).send().await.expect(200);
    let stricter = phones("1.1.0").check("key");
    let candidate = rolling.keep(stricter).await;
    // The guard needs no delivery of the candidate's share.
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    eventually("it is rolled back", async || {
        let versions = rolling.send("odd", 1).await;
        assert_eq!(versions.len(), 1, "the sender was not refused");
        rolling.shown().await["stage"] == "rolled-back"
    })
    .await;
    let ended = rolling.ended().await;
    has!(why(&ended), "fail only its sender checks");
    let checks = &ended["checks"];
    assert_eq!(checks["compared"], checks["refused"]["count"], "{ended:#}");
    let quarantined = rolling.host.with_status(DeliveryStatus::Quarantined).await;
    assert!(quarantined.is_empty());
}

async fn a_candidate_whose_other_checks_pass_goes_on(on: On) {
    // The connection lacks the secret of the candidate's check, so it is skipped.
    let rolling = Rolling::new(on).await;
    let other = phones("1.1.0").check("key");
    let candidate = rolling.keep(other).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    let shown = until("checks are compared", async || {
        rolling.send("odd", 1).await;
        let shown = rolling.shown().await;
        (shown["checks"]["compared"].as_u64() >= Some(5)).then_some(shown)
    })
    .await;
    fields!(shown, {"checks.refused.count": 0, "stage": "canary"});
}

async fn a_candidate_that_needs_far_more_memory_is_rolled_back(on: On) {
    let stable = version("1.0.0").mended("hold");
    let connections = connection("odd", "{ do = \"hold\", size = 40 }");
    let rolling = Rolling::with_stable(Host::working(on).await, &connections, stable).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    // It does the same, so its results are stored until enough of them were measured.
    rolling.send("odd", 60).await;
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "rolled-back", "{ended:#}");
    has!(why(&ended), "4 times the memory");
    let mean = |key: &str| ended[key].as_u64().expect("a mean");
    assert!(mean("candidateBytes") > mean("stableBytes") + (30 << 20));
    assert_eq!(rolling.serves(), rolling.stable);
}

async fn a_delivery_of_many_leads_is_compared_too(on: On) {
    const LEADS: u64 = 40;
    let host = Host::working(on).await;
    let connections = connection("many", "{ do = \"leads\", size = 40 }");
    let rolling = Rolling::with_stable(host, &connections, version("1.0.0")).await;
    let candidate = rolling.keep(version("1.1.0")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let ask = rolling.host.post(&rolling.declared.address("many"));
    let answer = ask.body("{}").send().await.expect(200);
    let delivery = rolling.host.delivery(&answer).await.summary.id;
    let host = &rolling.host;
    host.becomes(delivery, DeliveryStatus::Converted).await;
    let some = |shown: &Value| shown["compared"].as_u64() > Some(0);
    let shown = rolling.until("it is compared", some).await;
    let compared = shown["compared"].as_u64().expect("a count");
    fields!(shown, {"same": compared, "leads": compared * LEADS});
    let ran = host.stored(delivery).await.summary.ran;
    assert_eq!(count(&[ran.expect("it ran").digest], &candidate), 1);
}

async fn the_later_answers_of_a_fetched_lead_are_compared_too(on: On) {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let fetch = format!("http://{}/leads", double.address());
    let fetching = |number, prefix| version(number).fetch(&fetch).prefix(prefix);
    let allow = format!(
        "allow = [{{ url = \"http://{}\", private = true }}]\n",
        double.address()
    );
    let connections = connection("odd", "{ do = \"fetch-twice\" }") + &allow;
    let host = Host::working(on).await;
    let rolling = Rolling::with_stable(host, &connections, fetching("1.0.0", "")).await;
    // Only the leads, which come with the second answer, differ.
    let candidate = rolling.keep(fetching("1.1.0", "new ")).await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let ask = rolling.host.post(&rolling.declared.address("odd"));
    let answer = ask.send().await.expect(200);
    let delivery = rolling.host.delivery(&answer).await.summary.id;
    let stored = rolling.host.becomes(delivery, DeliveryStatus::Converted);
    let stored = stored.await;
    assert_eq!(stored.summary.ran.expect("it ran").digest, candidate);
    let all = |shown: &Value| shown["compared"] == 3;
    let shown = rolling.until("each step is compared", all).await;
    assert_eq!(shown["same"], 2, "{shown:#}");
    let fields = shown["fields"].list();
    let message = fields.iter().find(|one| one["field"] == "message");
    assert_eq!(message.expect("it differs")["count"], json!(2), "{shown:#}");
    assert_eq!(
        double.requests().len(),
        2,
        "the source was called once for each"
    );
}

async fn a_candidate_that_fetches_from_elsewhere_waits_for_an_operator_and_is_rolled_back_if_its_fetches_fail(
    on: On,
) {
    let world = Fetching::new(on).await;
    let rolling = &world.rolling;
    let host = &rolling.host;
    host.becomes(world.send(1).await, DeliveryStatus::Converted)
        .await;

    let candidate = rolling
        .keep(fetching("1.1.0", &world.other, "fetch-and-fail"))
        .await;
    let mut order = canary(&[50, 100], 1);
    order["accept"] = json!([]);
    let refused = rolling.order(&candidate, order).await.expect(409);
    let says = "1 of 1 deliveries fetch a lead by another request";
    has!(refused, says);

    rolling.begin(&candidate, canary(&[100], 1)).await;
    host.becomes(world.send(2).await, DeliveryStatus::Converted)
        .await;
    let waits = |shown: &Value| {
        let waits_for = shown["waitsFor"].as_str();
        waits_for.is_some_and(|what| what.contains("first result of the candidate"))
    };
    let shown = rolling.until("it waits for an operator", waits).await;
    assert_eq!((&shown["served"], &shown["saved"]), (&json!(0), &json!(1)));
    let words = shown["waitsFor"].text();
    let decides = "; an operator may promote it or roll it back";
    assert!(words.ends_with(decides), "{words}");

    rolling.promote().await;
    let mut failed = Vec::new();
    for id in 3..6 {
        failed.push(world.send(id).await);
    }
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "rolled-back", "{ended:#}");
    has!(why(&ended), "3 of ");
    assert_eq!(rolling.serves(), rolling.stable);
    for delivery in failed {
        host.becomes(delivery, DeliveryStatus::Converted).await;
    }
}

async fn a_version_in_probation_whose_own_fetches_succeed_goes_on(on: On) {
    let world = Fetching::new(on).await;
    let other = fetching("1.1.0", &world.other, "fetch-leads");
    let candidate = world.promote(other).await;
    let host = &world.rolling.host;
    for id in 0..4 {
        let delivery = world.send(id).await;
        let stored = host.becomes(delivery, DeliveryStatus::Converted).await;
        assert_eq!(stored.summary.ran.expect("it ran").digest, candidate);
    }
    let all = |shown: &Value| shown["compared"].as_u64() >= Some(4);
    let shown = world.rolling.until("all are compared", all).await;
    assert_eq!(shown["stage"], "probation", "{shown:#}");
    for harm in ["newlyFailing", "vanished", "appeared"] {
        assert_eq!(shown[harm]["count"], 0, "{harm}: {shown:#}");
    }
}

async fn the_previous_version_reads_the_answers_on_which_a_version_in_probation_crashes(on: On) {
    let world = Fetching::new(on).await;
    let crashing = fetching("1.1.0", &world.leads, "fetch-and-trap");
    world.promote(crashing).await;
    let (rolling, host) = (&world.rolling, &world.rolling.host);
    for id in 0..3 {
        let delivery = world.send(id).await;
        let stored = host.becomes(delivery, DeliveryStatus::Converted).await;
        assert_eq!(stored.summary.ran.expect("it ran").digest, rolling.stable);
    }
    fields!(rolling.ended().await, {"stage": "rolled-back", "newlyFailing.count": 3});
}
