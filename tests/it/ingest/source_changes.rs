//! Sources that change their payloads unannounced, and versions that read less of the same ones.

use std::ops::Range;
use std::time::Duration;

use leadhost_domain::connection::{ChangeCause, SourceChange};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::ConnectionId;
use leadhost_tests::graph::GraphDouble;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Declared, Host, Json, Log, On, fields, has, lacks, until};
use serde_json::{Value, json};

use super::fetches::pointer;
use super::meta::double;
use super::{form, harm};

leadhost_tests::on_every_store! {
    a_portal_that_stops_sending_phones_is_reported_with_before_and_after,
    a_version_that_reads_less_of_the_same_bodies_is_named,
    a_restart_keeps_the_baseline,
    a_version_that_fails_where_the_previous_one_does_not_is_named_until_a_rollback,
    a_version_that_cannot_read_fetched_leads_is_named,
    deliveries_of_a_change_that_is_over_are_named_until_they_are_replayed,
}

/// Enough deliveries for a baseline, with those that wait for the next look.
const USUAL: Range<usize> = 0..225;

/// A window, and some more.
const CHANGED: Range<usize> = 225..285;

fn with_phone(number: usize) -> Value {
    let mut body = without_phone(number);
    body["telefone"] = json!("11 98888-0001");
    body
}

fn without_phone(number: usize) -> Value {
    json!({"id": format!("f-{number}"), "nome": "Lia", "email": "lia@example.com"})
}

async fn send(host: &Host, address: &str, numbers: Range<usize>, body: impl Fn(usize) -> Value) {
    for number in numbers {
        let ask = host.post(address).json(&body(number));
        ask.send().await.expect(200);
    }
}

async fn reported_change(host: &Host, id: &ConnectionId) -> SourceChange {
    until("the change is reported", async || {
        let mut shapes = host.store().source_shapes().await.unwrap();
        shapes.remove(id)?.change
    })
    .await
}

/// Stops the host, and waits until the sketch of this many deliveries is stored.
async fn stop(host: &Host, id: &ConnectionId, deliveries: u64) {
    host.stop(Duration::from_secs(60)).await;
    until("the sketch is stored", async || {
        let row = host.store().connection_sketch(id).await.unwrap()?;
        let of = |counts: &Value| counts["deliveries"].as_u64().unwrap();
        let halves = row.sketch["halves"].list();
        let stored = of(&row.sketch["baseline"]) + halves.iter().map(of).sum::<u64>();
        (stored == deliveries).then_some(())
    })
    .await;
}

async fn a_portal_that_stops_sending_phones_is_reported_with_before_and_after(on: On) {
    let log = Log::capture();
    let (host, declared) = form(on).await;
    let address = declared.address("form");
    send(&host, &address, USUAL, with_phone).await;
    send(&host, &address, CHANGED, without_phone).await;
    let change = reported_change(&host, &declared.id("form")).await;
    let what = "leads with a phone, path telefone: the source changed";
    assert_eq!(change.what, what);
    assert_eq!(change.before, "100 %, 100 %");
    assert_eq!(change.after, "0 %, 0 %");

    let key = host.admin_key().await;
    let list = host.admin("GET", "/admin/v1/connections").bearer(&key);
    let list = list.send().await.expect(200).json();
    fields!(&list["connections"][0]["sourceChange"], {"what": what, "since": change.since});
    until("the change is counted", async || {
        let metrics = host.admin("GET", "/metrics").send().await.expect(200);
        let mut lines = metrics.text().lines();
        let line = lines.find(|line| line.starts_with("leadhost_source_changes_total{"))?;
        assert!(line.ends_with(" 1"), "{line}");
        Some(())
    })
    .await;
    let log = log.take();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("source changed workspace"))
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    has!(lines[0], what);
    lacks!(lines[0], "98888");
}

async fn a_version_that_reads_less_of_the_same_bodies_is_named(on: On) {
    let host = Host::working(on).await;
    let first = host.converter(Variant::default().component()).await;
    let declared = host.declare(&harm("portal", "name", 10)).await;
    let (address, body) = (declared.address("portal"), |_| json!({"name": "Lia"}));
    send(&host, &address, USUAL, body).await;
    let second = Variant::version("1.1.0").mended("name");
    let second = host.converter(second.component()).await;
    send(&host, &address, CHANGED, body).await;
    let change = reported_change(&host, &declared.id("portal")).await;
    assert_eq!(change.digest.as_ref(), Some(&second));
    let (first, second) = (first.short(), second.short());
    let what = format!(
        "leads with a name, leads with a phone: new in 1.1.0 ({second}): the previous version 1.0.0 ({first}) reads more in 5 of 5 of them"
    );
    assert_eq!(change.cause, ChangeCause::Version);
    assert_eq!(change.what, what);
    assert_eq!(change.before, "100 %, 100 %");
    assert_eq!(change.after, "0 %, 0 %");
}

async fn a_restart_keeps_the_baseline(on: On) {
    let (host, declared) = form(on).await;
    let (id, address) = (declared.id("form"), declared.address("form"));
    send(&host, &address, USUAL, with_phone).await;
    stop(&host, &id, 225).await;
    let host = host.restart().await;
    send(&host, &address, CHANGED, without_phone).await;
    let change = reported_change(&host, &id).await;
    has!(change.what, "path telefone");
}

/// A version on which the word does no harm.
fn mended<'a>(version: &'a str, word: &'a str) -> Variant<'a> {
    Variant::version(version).mended(word)
}

/// Waits until the report ends.
async fn report_ends(host: &Host, id: &ConnectionId) {
    until("the report ends", async || {
        let mut shapes = host.store().source_shapes().await.unwrap();
        shapes.remove(id)?.change.is_none().then_some(())
    })
    .await;
}

async fn a_version_that_fails_where_the_previous_one_does_not_is_named_until_a_rollback(on: On) {
    let log = Log::capture();
    let host = Host::working(on).await;
    let first = host.converter(mended("1.4.0", "trap").component()).await;
    let declared = host.declare(&harm("portal", "trap", 0)).await;
    let (id, address) = (declared.id("portal"), declared.address("portal"));
    let body = |_| json!({"name": "Lia"});
    send(&host, &address, 0..3, body).await;
    let second = host.converter(mended("1.4.1", "").component()).await;
    let mut last = None;
    for _ in 0..6 {
        let answer = host.post(&address).json(&body(0)).send().await.expect(200);
        last = Some(host.delivery(&answer).await.summary.id);
    }
    let change = reported_change(&host, &id).await;
    assert_eq!(change.digest.as_ref(), Some(&second));
    let (first, second) = (first.short(), second.short());
    let new = format!(
        "failing deliveries: new in 1.4.1 ({second}): the previous version 1.4.0 ({first}) converts"
    );
    assert!(change.what.starts_with(&new), "{change:?}");
    let is_so = change.failing && change.cause == ChangeCause::Version;
    assert!(is_so, "{change:?}");
    until("it is counted", async || {
        let metrics = host.admin("GET", "/metrics").send().await.expect(200);
        let text = metrics.text();
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("leadhost_source_changes_total{"))?;
        let is_so = line.contains("cause=\"version\"") && line.ends_with(" 1");
        assert!(is_so, "{line}");
        Some(())
    })
    .await;
    // The trials are no live calls of the previous version, and the deliveries are as they were.
    let kept = host.stored(last.expect("six came")).await.summary;
    assert_eq!(kept.status, DeliveryStatus::Failed);
    let log = log.take();
    let line = log
        .lines()
        .find(|line| line.contains("deliveries keep failing"));
    let line = line.expect("it is logged");
    has!(line, "leadhost plugin rollback misbehave");

    host.roll_back("misbehave").await.expect("it served before");
    host.becomes(last.expect("six came"), DeliveryStatus::Converted)
        .await;
    report_ends(&host, &id).await;
}

/// A connection whose deliveries have this word, and the address of its far end.
struct Fetching {
    host: Host,
    double: GraphDouble,
    declared: Declared,
}

impl Fetching {
    /// `mended`: whether the first version, 1.0.0, makes a lead without a fetch.
    async fn new(on: On, word: &str, mended: bool) -> Self {
        let (host, double) = (Host::working(on).await, double());
        let fetch = format!("http://{}/leads", double.address());
        let first = Variant::default().fetch(&fetch);
        let first = first.mended(if mended { word } else { "" });
        host.converter(first.component()).await;
        let declared = host.declare(&pointer("portal", word, &double)).await;
        Self {
            host,
            double,
            declared,
        }
    }

    async fn activate_second(&self) {
        let fetch = format!("http://{}/leads", self.double.address());
        let second = Variant::version("1.1.0").fetch(&fetch);
        self.host.converter(second.component()).await;
    }

    /// Sends a delivery for each of these leads: one that is known is not fetched again.
    async fn send(&self, numbers: Range<usize>) {
        let address = self.declared.address("portal");
        for number in numbers {
            let ask = self.host.post(&format!("{address}?id={number}"));
            ask.json(&json!({})).send().await.expect(200);
            // A few deliveries a second are looked at.
            self.host.advance(1).await;
        }
    }

    async fn change(&self) -> SourceChange {
        reported_change(&self.host, &self.declared.id("portal")).await
    }
}

async fn a_version_that_cannot_read_fetched_leads_is_named(on: On) {
    let fetching = Fetching::new(on, "fetch-and-trap", true).await;
    fetching.send(0..3).await;
    fetching.activate_second().await;
    fetching.send(3..8).await;
    let change = fetching.change().await;
    assert_eq!(change.cause, ChangeCause::Version, "{}", change.what);
    assert!(change.failing);
    let what = &change.what;
    let begins = what.starts_with("failing deliveries: new in 1.1.0 (");
    assert!(begins && what.contains("1.0.0 ("), "{what}");
    let (better, of) = what
        .rsplit_once("converts ")
        .and_then(|(_, rest)| rest.strip_suffix(" of them")?.split_once(" of "))
        .expect("how many it converts");
    assert_eq!(better, of);
}

async fn deliveries_of_a_change_that_is_over_are_named_until_they_are_replayed(on: On) {
    let (host, declared) = form(on).await;
    let (id, address) = (declared.id("form"), declared.address("form"));
    let person = |number: usize| {
        let email = format!("lia{number}@example.com");
        json!({"id": format!("f-{number}"), "nome": "Lia", "email": email})
    };
    let with_phone = |number: usize| {
        let mut body = person(number);
        body["telefone"] = json!(format!("11 98888-{number:04}"));
        body
    };
    send(&host, &address, USUAL, with_phone).await;
    host.advance(60).await;
    for _ in 0..3 {
        host.post(&address).body("no lead").send().await.expect(400);
    }
    send(&host, &address, CHANGED, person).await;
    reported_change(&host, &id).await;
    let key = host.admin_key().await;
    let left = async |host: &Host| {
        let list = host.admin("GET", "/admin/v1/connections").bearer(&key);
        let list = list.send().await.expect(200).json();
        list["connections"][0]["leftDeliveries"].clone()
    };
    assert_eq!(left(&host).await, json!([]), "it is not over");
    host.advance(60).await;
    send(&host, &address, 285..360, with_phone).await;
    host.stop(Duration::from_secs(60)).await;
    report_ends(&host, &id).await;

    let host = host.restart().await;
    let named = left(&host).await;
    assert_eq!(named.as_array().expect("a list").len(), 1, "{named:#}");
    let one = &named[0];
    fields!(one, {
        "differences": ["leads with a phone: 100 % -> 0 %"], "refused": 3, "lacking": 60,
    });
    let (since, until) = (one["since"].text(), one["until"].text());
    let page =
        format!("/admin/v1/deliveries?connection=form&since={since}&until={until}&limit=500");
    let ask = host.admin("GET", &page).bearer(&key);
    let page = ask.send().await.expect(200);
    let page = page.json();
    let found = page["deliveries"].list();
    assert_eq!(found.len(), 63, "these and no others");
    let replay = async |delivery: &Value, apply: bool| {
        let id = delivery["id"].text();
        let replay = host.admin("POST", &format!("/admin/v1/deliveries/{id}/replay"));
        let replay = replay.bearer(&key).json(&json!({ "apply": apply }));
        replay.send().await.expect(200);
    };
    replay(&found[0], false).await;
    assert_eq!(left(&host).await[0]["lacking"], 60, "it was only shown");
    for delivery in found {
        replay(delivery, true).await;
    }
    assert_eq!(left(&host).await, json!([]));
}
