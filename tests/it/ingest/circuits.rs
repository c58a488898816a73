//! The circuit breaker: a version that fails several times in a row for a
//! connection is no longer called in requests; deliveries are stored and
//! answered at once.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{Host, Json, On, Options, fields, has, lacks, until};
use serde_json::Value;

use super::{harm, misbehaving};

leadhost_tests::on_every_store! {
    after_several_faults_a_delivery_is_kept_without_a_call,
    a_change_by_an_operator_closes_the_circuit,
    a_delivery_keeps_its_own_failure_while_the_circuit_is_open,
    another_version_converts_the_kept_deliveries,
    a_good_delivery_does_not_wait_behind_those_that_loop,
}

/// The number of plugin calls so far with this outcome.
async fn calls(host: &Host, outcome: &str) -> u64 {
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let outcome = format!(r#"outcome="{outcome}""#);
    let labels = [r#"plugin="misbehave""#, r#"purpose="live""#, &outcome];
    let counted = metrics
        .text()
        .lines()
        .find(|line| {
            line.starts_with("leadhost_plugin_calls_total")
                && labels.iter().all(|label| line.contains(label))
        })
        .and_then(|line| line.rsplit(' ').next()?.parse().ok());
    counted.unwrap_or(0)
}

async fn circuits(host: &Host) -> Vec<Value> {
    let key = host.admin_key().await;
    let asked = host.admin("GET", "/admin/v1/plugins").bearer(&key);
    let list = asked.send().await.expect(200).json();
    let plugin = &list["plugins"][0];
    plugin["circuits"].list().clone()
}

async fn after_several_faults_a_delivery_is_kept_without_a_call(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let file = [harm("trap", "trap", 0), harm("good", "", 0)].concat();
    let declared = host.declare(&file).await;
    for _ in 0..3 {
        host.deliver(&declared, "trap").await;
    }
    assert_eq!(calls(&host, "trapped").await, 3);

    let answer = host.deliver(&declared, "trap").await;
    assert_eq!(answer.json()["status"], "queued");
    assert_eq!(calls(&host, "trapped").await, 3);
    let kept = host.delivery(&answer).await.summary;
    assert_eq!(kept.status, DeliveryStatus::Failed);
    let error = kept.error.expect("a reason");
    has!(error, "circuit breaker is open for this connection");
    has!(error, "unreachable");

    let open = circuits(&host).await;
    assert_eq!(open.len(), 1, "{open:?}");
    fields!(open, {"0.function": "deliveries", "0.inlineOnly": false});
    let name = open[0]["name"].text();
    assert!(name.ends_with("/trap"), "{name}");
    // Another connection of the same version still works.
    let answer = host.post(&declared.address("good")).send().await;
    assert_eq!(answer.expect(200).json()["status"], "converted");
}

async fn a_change_by_an_operator_closes_the_circuit(on: On) {
    let (host, declared) = misbehaving(on, "one", "trap", 0).await;
    for _ in 0..3 {
        host.deliver(&declared, "one").await;
    }
    assert_eq!(circuits(&host).await.len(), 1);
    let declared = host.declare(&harm("one", "", 0)).await;
    assert!(circuits(&host).await.is_empty());
    let answer = host.post(&declared.address("one")).send().await;
    assert_eq!(answer.expect(200).json()["status"], "converted");
}

async fn a_delivery_keeps_its_own_failure_while_the_circuit_is_open(on: On) {
    const LEFT_OUT: &str = "the last attempt was left out: ";
    let (host, declared) = misbehaving(on, "source", "trap", 0).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        let ask = host.post(&declared.address("source"));
        answers.push(ask.send().await.expect(200));
    }
    // It came when the circuit was open: no version has run, and nobody's failure counts as its own.
    let last = answers.pop().expect("four came");
    let last = host.delivery(&last).await.summary;
    assert_eq!((last.attempts, &last.ran), (0, &None));
    let error = last.error.expect("a reason");
    has!(error, "not called", "other deliveries");
    // One of the four is called again, the others are not.
    host.pass(3_600).await;
    let left_out = until("two are left out", async || {
        let mut left_out = Vec::new();
        for answer in &answers {
            let kept = host.delivery(answer).await;
            if kept.notes.iter().any(|note| note.starts_with(LEFT_OUT)) {
                left_out.push(kept);
            }
        }
        (left_out.len() >= 2).then_some(left_out)
    })
    .await;
    for kept in left_out {
        assert!(kept.next_attempt_at.is_some());
        assert_eq!(kept.notes.len(), 1, "{:?}", kept.notes);
        let kept = kept.summary;
        assert_eq!((kept.status, kept.attempts), (DeliveryStatus::Failed, 1));
        assert!(kept.ran.is_some());
        let error = kept.error.expect("its own");
        has!(error, "unreachable");
        lacks!(error, "circuit");
    }
}

async fn another_version_converts_the_kept_deliveries(on: On) {
    let host = Host::working(on).await;
    let first = Variant::version("1.0.0");
    host.converter(first.component()).await;
    let declared = host.declare(&harm("trap", "trap", 0)).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let answer = host.deliver(&declared, "trap").await;
        ids.push(host.delivery(&answer).await.summary.id);
    }
    assert_eq!(host.with_status(DeliveryStatus::Failed).await.len(), 20);
    let mended = Variant::version("1.0.1").mended("trap");
    assert_eq!(circuits(&host).await.len(), 1);
    let digest = host.converter(mended.component()).await;
    assert!(circuits(&host).await.is_empty());
    // Without moving the clock: they do not wait for the next attempt.
    for id in ids {
        let done = host.becomes(id, DeliveryStatus::Converted).await;
        assert_eq!(done.summary.ran.expect("it ran").digest, digest);
    }
    let answer = host.deliver(&declared, "trap").await;
    assert_eq!(answer.json()["status"], "converted");
    assert_eq!(host.rows(&declared, "deals").await.len(), 21);
}

async fn a_good_delivery_does_not_wait_behind_those_that_loop(on: On) {
    let options = Options::patient(on).with("plugins.inline_ms", 100);
    let options = options.with("plugins.deadline_ms", 300);
    let host = Host::working_with(options).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("source", "phones-or-loop", 1)).await;
    let (good, looping) = (
        declared.address("source"),
        declared.address("source") + "?loop=1",
    );
    for _ in 0..3 {
        let answer = host.post(&looping).send().await.expect(200);
        let id = host.delivery(&answer).await.summary.id;
        host.becomes(id, DeliveryStatus::Failed).await;
    }
    let open = circuits(&host).await;
    assert_eq!(open[0]["inlineOnly"], false, "{open:?}");
    let mut leads = Vec::new();
    for _ in 0..12 {
        host.post(&looping).send().await.expect(200);
        let answer = host.post(&good).send().await.expect(200);
        leads.push(host.delivery(&answer).await.summary.id);
    }
    // Nobody waits for the pauses of those that fail, nor for their spread over a minute.
    host.advance(2).await;
    for lead in leads {
        host.becomes(lead, DeliveryStatus::Converted).await;
    }
    assert!(!circuits(&host).await.is_empty(), "the loops are contained");
}
