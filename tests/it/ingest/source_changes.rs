//! Sources that change their payloads unannounced, and versions that read less of the same ones.

use std::ops::Range;
use std::time::Duration;

use leadhost::domain::connection::SourceChange;
use leadhost::domain::id::ConnectionId;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, Log, On, until};
use serde_json::{Value, json};

use super::{form, harm};

leadhost_tests::on_every_store! {
    a_portal_that_stops_sending_phones_is_reported_with_before_and_after,
    a_version_that_reads_less_of_the_same_bodies_is_named,
    a_connection_with_few_deliveries_is_silent,
    a_restart_keeps_the_baseline,
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
        let halves = row.sketch["halves"].as_array().unwrap();
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
    let shown = &list["connections"][0]["sourceChange"];
    assert_eq!(shown["what"], what);
    assert_eq!(shown["since"], json!(change.since));
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
        .filter(|line| line.contains("source changed connection"))
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(what) && !lines[0].contains("98888"));
}

async fn a_version_that_reads_less_of_the_same_bodies_is_named(on: On) {
    let host = Host::working(on).await;
    host.converter(Variant::default().component()).await;
    let declared = host.declare(&harm("portal", "name", 10)).await;
    let (address, body) = (declared.address("portal"), |_| json!({"name": "Lia"}));
    send(&host, &address, USUAL, body).await;
    let second = Variant {
        version: "1.1.0",
        mended: "name",
        ..Variant::default()
    };
    let second = host.converter(second.component()).await;
    send(&host, &address, CHANGED, body).await;
    let change = reported_change(&host, &declared.id("portal")).await;
    let by = format!("new in 1.1.0 ({})", second.short());
    let what = format!("leads with a name, leads with a phone: {by}");
    assert_eq!(change.what, what);
    assert_eq!(change.before, "100 %, 100 %");
    assert_eq!(change.after, "0 %, 0 %");
}

async fn a_connection_with_few_deliveries_is_silent(on: On) {
    let (host, declared) = form(on).await;
    let address = declared.address("form");
    send(&host, &address, 0..150, with_phone).await;
    send(&host, &address, 150..210, without_phone).await;
    stop(&host, &declared.id("form"), 210).await;
    let shapes = host.store().source_shapes().await.unwrap();
    let shape = &shapes[&declared.id("form")];
    assert_eq!(shape.change, None);
    // 150 of 210 leads had a phone.
    let fields = shape.fields.as_ref().unwrap();
    assert_eq!((fields.leads, fields.phone, fields.email), (210, 71, 100));
    assert_eq!(fields.listing, 0);
}

async fn a_restart_keeps_the_baseline(on: On) {
    let (host, declared) = form(on).await;
    let (id, address) = (declared.id("form"), declared.address("form"));
    send(&host, &address, USUAL, with_phone).await;
    stop(&host, &id, 225).await;
    let host = host.restart().await;
    send(&host, &address, CHANGED, without_phone).await;
    let change = reported_change(&host, &id).await;
    assert!(change.what.contains("path telefone"), "{}", change.what);
}
