//! Fetches: only allowed addresses are called, and no answer is lost when a
//! host stops or a version is swapped in between.

use std::time::Duration;

use leadhost_domain::connection::AllowedHost;
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::exchange::UrlScheme;
use leadhost_store::Job;
use leadhost_tests::graph::GraphDouble;
use leadhost_tests::guests::Variant;
use leadhost_tests::{Host, On, Options, eventually, has, until};

use super::meta::{Meta, PAGE, connection, double, send, webhook};

leadhost_tests::on_every_store! {
    a_host_off_the_allow_list_is_never_called_and_fails_the_item_alone,
    a_private_address_needs_its_own_permission,
    a_restart_continues_the_waiting_fetches,
    the_answer_is_stored_before_the_converter_reads_it,
    another_version_completes_the_fetch_of_an_earlier_one,
    a_converter_that_asks_for_one_fetch_after_another_is_stopped,
    a_delivery_is_stored_although_another_connection_cannot_be_decrypted,
}

/// A host on which the connection has this allow-list.
async fn allowed(on: On, list: &str) -> Meta {
    let host = Host::working(on).await;
    let double = double();
    host.activate("converter-meta-lead-ads").await;
    let file: String = connection("meta", &double, PAGE)
        .lines()
        .map(|line| match line.strip_prefix("allow") {
            Some(_) => format!(
                "allow = {}\n",
                list.replace("{}", &double.address().to_string())
            ),
            None => format!("{line}\n"),
        })
        .collect();
    let declared = host.declare(&file).await;
    Meta {
        host,
        declared,
        double,
    }
}

async fn a_host_off_the_allow_list_is_never_called_and_fails_the_item_alone(on: On) {
    let meta = allowed(on, "[]").await;
    let id = meta.announce(&["440000000000011"]).await;
    let done = until("the item failed", async || {
        let stored = meta.host.stored(id).await;
        let failed = stored
            .items
            .iter()
            .any(|item| item.status == ItemStatus::Failed);
        failed.then_some(stored)
    })
    .await;
    let address = meta.double.address();
    assert_eq!(
        done.items[0].message.as_deref(),
        Some(&*format!(
            "http://{address} is not on the allow-list (`allow`); add it there if the plugin may call it"
        ))
    );
    assert!(meta.double.requests().is_empty());
    let connection = meta.host.connection(&meta.declared.id("meta")).await;
    assert!(connection.paused.is_none());
}

async fn a_private_address_needs_its_own_permission(on: On) {
    let host = Host::working(on).await;
    let double = double();
    let fetch = format!("http://{}/leads", double.address());
    let variant = Variant::version("1.0.0").fetch(&fetch);
    host.converter(variant.component()).await;
    let file = pointer("harm", "fetch", &double);
    let without = file.replace(", private = true", "");
    let refused = host.try_declare(&without).await.err().expect("refused");
    has!(refused.to_string(), "not a public address");
    // Without the check at declaration, as with a name that later resolves to a
    // private address.
    let declared = host.declare(&file).await;
    let seeded = host
        .workspace_with("other", |plan| {
            let connection = &mut plan.connections[0];
            connection.plugin = "misbehave".to_owned();
            connection.config = r#"{"do": "fetch"}"#.to_owned();
            connection.allow = vec![AllowedHost {
                scheme: UrlScheme::Http,
                authority: double.address().to_string(),
                private: false,
            }];
        })
        .await;
    let address = format!("/ingest-lead/{}", seeded.connection);
    let answer = host.post(&address).send().await.expect(200);
    let id = host.delivery(&answer).await.summary.id;
    let reason = until("the connection is paused", async || {
        let connection = host.connection(&seeded.connection).await;
        connection.paused.map(|pause| pause.reason)
    })
    .await;
    has!(reason, "not a public address");
    assert!(double.requests().is_empty());
    assert_eq!(host.stored(id).await.summary.status, DeliveryStatus::Queued);
    let answer = host.deliver(&declared, "harm").await;
    let id = host.delivery(&answer).await.summary.id;
    host.becomes(id, DeliveryStatus::Ignored).await;
    assert_eq!(double.requests().len(), 1);
}

async fn a_restart_continues_the_waiting_fetches(on: On) {
    let meta = Meta::new(on).await;
    let id = meta.announce(&["440000000000003"]).await;
    meta.noted(id).await;
    let Meta {
        host,
        double,
        declared,
    } = meta;
    let host = host.restart().await;
    assert_eq!(host.stored(id).await.summary.status, DeliveryStatus::Queued);
    host.pass(3_600).await;
    host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(double.requests().len(), 2);
    assert_eq!(
        host.deals(&declared, "externalId=440000000000003")
            .await
            .len(),
        1
    );
}

pub fn pointer(name: &str, word: &str, double: &GraphDouble) -> String {
    format!(
        r#"
[[connections]]
name = "{name}"
partner = "acme"
plugin = "misbehave"
config = {{ do = "{word}" }}
allow = [{{ url = "http://{}", private = true }}]
"#,
        double.address()
    )
}

async fn the_answer_is_stored_before_the_converter_reads_it(on: On) {
    let host = Host::working(on).await;
    let double = double();
    let fetch = format!("http://{}/leads", double.address());
    let variant = Variant::version("1.0.0").fetch(&fetch);
    host.converter(variant.component()).await;
    let declared = host
        .declare(&pointer("harm", "fetch-and-loop", &double))
        .await;
    let answer = host.deliver(&declared, "harm").await;
    assert_eq!(answer.json()["status"], "queued");
    // The converter is running, and never ends by itself.
    eventually("the answer is in the store", async || {
        let kept = host
            .count("select count(*) from fetches where response_head is not null")
            .await;
        kept == 1
    })
    .await;
    let taken = until("another host takes it over", async || {
        // This host's worker may be faster; its call does not end either.
        host.advance(61).await;
        let now = host.app.core.clock.now();
        let jobs = host
            .store()
            .claim(
                &leadhost_store::ClaimTurns::new(1),
                now,
                now.plus(Duration::from_secs(60)),
            )
            .await;
        jobs.expect("a store").pop()
    })
    .await;
    let Job::Fetch(held) = taken else {
        panic!("a fetch waits");
    };
    assert!(held.response.is_some(), "it needs no second call");
    assert_eq!(double.requests().len(), 1);
    drop(answer);
}

async fn another_version_completes_the_fetch_of_an_earlier_one(on: On) {
    let host = Host::start(Options::patient(on)).await;
    let (old, new) = (double(), double());
    let fetch = |double: &GraphDouble| format!("http://{}/leads", double.address());
    let [first, second] = [("1.0.0", &old), ("1.1.0", &new)]
        .map(|(version, double)| Variant::version(version).fetch(&fetch(double)).component());
    host.converter(first).await;
    let declared = host.declare(&pointer("harm", "fetch", &new)).await;
    let answer = host.deliver(&declared, "harm").await;
    let id = host.delivery(&answer).await.summary.id;
    let digest = host.converter(second).await;
    host.work();
    let done = host.becomes(id, DeliveryStatus::Ignored).await;
    assert_eq!(done.summary.ran.expect("it ran").digest, digest);
    let is_so = old.requests().is_empty();
    assert!(is_so, "the new version fetches from another address");
    assert_eq!(new.requests().len(), 1);
}

async fn a_converter_that_asks_for_one_fetch_after_another_is_stopped(on: On) {
    let host = Host::working(on).await;
    let double = double();
    let fetch = format!("http://{}/leads", double.address());
    host.converter(Variant::version("1.0.0").fetch(&fetch).component())
        .await;
    let declared = host
        .declare(&pointer("harm", "fetch-for-ever", &double))
        .await;
    let answer = host.deliver(&declared, "harm").await;
    let delivery = host.delivery(&answer).await.summary.id;
    host.becomes(delivery, DeliveryStatus::Rejected).await;
    let stored = host.stored(delivery).await;
    has!(
        stored.items[0].message.as_deref().unwrap_or_default(),
        "asked for more than 4 fetches in a row"
    );
    assert_eq!(double.requests().len(), 4);
}

async fn a_delivery_is_stored_although_another_connection_cannot_be_decrypted(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-meta-lead-ads").await;
    let seeded = host
        .workspace_with("demo", |plan| {
            let connection = &mut plan.connections[0];
            connection.plugin = "meta-lead-ads".to_owned();
            let mut beside = connection.clone();
            beside.name = "beside".to_owned();
            beside.sealed = b"sealed with a key that is lost".to_vec();
            plan.connections.push(beside);
        })
        .await;
    let address = format!("/ingest-lead/{}", seeded.connection);
    let answer = send(&host, &address, &webhook(PAGE, &["440000000000011"])).await;
    let answer = answer.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    let stored = host.delivery(&answer).await;
    has!(
        stored.summary.error.expect("it says why"),
        "cannot be opened"
    );
}
