//! Two connections, one of them with a large backlog: the other is not affected.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{Host, On, Options, eventually};

use super::fetches::pointer;
use super::harm;
use super::meta::double;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_fetched_lead_does_not_wait_for_the_loops_of_another_connection,
    a_sender_is_asked_to_retry_for_its_own_backlog_only,
    the_backlog_is_known_after_a_restart,
    a_conversion_that_takes_longer_than_its_lease_is_not_begun_again,
}

const LOOPS: usize = 24;

async fn a_fetched_lead_does_not_wait_for_the_loops_of_another_connection(on: On) {
    let options = Options::on(on)
        .with("plugins.inline_ms", 50)
        .with("plugins.deadline_ms", 500)
        .with("worker.concurrency", 4);
    let host = Host::start(options).await;
    let double = double();
    let fetch = format!("http://{}/leads", double.address());
    let variant = Variant::version("1.0.0").fetch(&fetch);
    host.converter(variant.component()).await;
    let bad = harm("bad", "loop", 0);
    let good = pointer("good", "fetch", &double);
    let declared = host.declare(&format!("{bad}{good}")).await;
    for _ in 0..LOOPS {
        let answer = host.deliver(&declared, "bad").await;
        assert_eq!(answer.json()["status"], "queued");
    }
    let lead = host.deliver(&declared, "good").await;
    let lead = host.delivery(&lead).await.summary.id;
    host.work();
    host.becomes(lead, DeliveryStatus::Ignored).await;
    let mut ended = 0;
    for id in host.with_status(DeliveryStatus::Failed).await {
        // A delivery that was put off without a call has not ended.
        ended += usize::from(host.stored(id).await.summary.attempts > 0);
    }
    assert!(ended <= LOOPS / 2, "{ended} of {LOOPS} loops came first");
}

async fn a_sender_is_asked_to_retry_for_its_own_backlog_only(on: On) {
    let options = Options::patient(on).with("intake.waiting", 4);
    let options = options.with("intake.waiting_of_connection", 3);
    let host = Host::start(options).await;
    host.converter(guests::misbehave()).await;
    let file = ["bad", "worse", "good"].map(|name| harm(name, "trap", 0));
    let declared = host.declare(&file.concat()).await;
    let send = async |name, status| {
        let ask = host.post(&declared.address(name));
        ask.send().await.expect(status)
    };
    send("bad", 200).await;
    send("bad", 200).await;
    send("bad", 200).await;
    let answer = send("bad", 503).await;
    assert_eq!(answer.header("retry-after"), "10");
    assert_eq!(answer.json()["statusCode"], 503);
    send("worse", 200).await;
    // The backlog is full now; a connection with less than an equal share may still
    // add to it.
    send("worse", 200).await;
    send("worse", 503).await;
    send("good", 200).await;
    send("bad", 503).await;
    // Those that were refused are not stored.
    assert_eq!(host.with_status(DeliveryStatus::Failed).await.len(), 6);
}

async fn the_backlog_is_known_after_a_restart(on: On) {
    let options = Options::patient(on).with("intake.waiting_of_connection", 2);
    let host = Host::start(options).await;
    host.converter(guests::misbehave()).await;
    let file = ["bad", "good"].map(|name| harm(name, "trap", 0));
    let declared = host.declare(&file.concat()).await;
    for _ in 0..2 {
        host.deliver(&declared, "bad").await;
    }
    let host = host.restart().await;
    // The clock stands, so that nothing is retried.
    eventually("the backlog is counted", async || {
        let answer = host.post(&declared.address("bad")).send().await;
        answer.status == 503
    })
    .await;
    host.deliver(&declared, "good").await;
}

const LEASE: &str = "select coalesce(max(lease), 0) from queue where lease_until_at is not null";

async fn a_conversion_that_takes_longer_than_its_lease_is_not_begun_again(on: On) {
    let options = Options::patient(on.clone()).with("plugins.inline_ms", 50);
    let options = options.with("worker.lease_seconds", 3);
    let host = Host::start(options).await;
    host.converter(guests::misbehave()).await;
    let declared = host.declare(&harm("slow", "loop", 0)).await;
    let slow = declared.address("slow");
    let answer = host.post(&slow).send().await.expect(200);
    assert_eq!(answer.json()["status"], "queued");
    host.work();
    eventually("it is claimed", async || host.count(LEASE).await > 0).await;
    let lease = host.count(LEASE).await;
    let lease_end = match on {
        On::Sqlite => "select max(lease_until_at) from queue",
        On::Postgres(_) => {
            "select (extract(epoch from max(lease_until_at)) * 1000000)::bigint from queue"
        }
    };
    for _ in 0..3 {
        let end = host.count(lease_end).await;
        host.advance(2).await;
        eventually("its lease is renewed", async || {
            host.count(lease_end).await > end
        })
        .await;
    }
    assert_eq!(host.count(LEASE).await, lease);
}
