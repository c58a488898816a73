//! A periodic job has one holder at a time.

use std::time::Duration;

use leadhost_domain::id::HostId;
use leadhost_domain::time::Micros;
use leadhost_pipeline::fleet::FleetJob;
use leadhost_tests::{Host, On, until};

use super::fleet;

const MINUTE: Duration = Duration::from_mins(1);

leadhost_tests::on_every_store! {
    a_job_has_one_holder_and_its_fencing_token_grows_with_each_new_one,
}

async fn a_job_has_one_holder_and_its_fencing_token_grows_with_each_new_one(on: On) {
    let host = Host::new(on).await;
    let store = host.store();
    let (one, two) = (HostId::new(Micros(0)), HostId::new(Micros(0)));
    let first = store.hold_job("count", one, MINUTE).await.unwrap();
    let first = first.expect("the job is free");
    assert_eq!(store.hold_job("count", two, MINUTE).await.unwrap(), None);
    let again = store.hold_job("count", one, MINUTE).await.unwrap();
    assert_eq!(again, Some(first), "renewing keeps the fencing token");
    let other = store.hold_job("another", two, MINUTE).await.unwrap();
    assert!(other.is_some(), "jobs are independent");

    store.leave_job("count", two).await.unwrap();
    assert_eq!(
        store.hold_job("count", two, MINUTE).await.unwrap(),
        None,
        "only its holder releases it"
    );
    store.leave_job("count", one).await.unwrap();
    let second = store.hold_job("count", two, MINUTE).await.unwrap();
    assert!(second.expect("it is free") > first);
}

#[tokio::test]
async fn a_job_whose_holder_falls_silent_is_taken_over() {
    let Some([host]) = fleet(["one"]).await else {
        return;
    };
    let store = host.store();
    let (dead, alive) = (HostId::new(Micros(0)), HostId::new(Micros(0)));
    let first = store
        .hold_job("count", dead, Duration::from_secs(1))
        .await
        .unwrap();
    let second = until("the job is free", async || {
        store.hold_job("count", alive, MINUTE).await.unwrap()
    })
    .await;
    assert!(second > first.expect("the job was free"));
    assert_eq!(store.hold_job("count", dead, MINUTE).await.unwrap(), None);
}

#[tokio::test]
async fn a_host_that_stops_leaves_its_jobs_to_the_others_and_is_forgotten() {
    let Some([one, two]) = fleet(["one", "two"]).await else {
        return;
    };
    until("one of them sweeps", async || {
        let stranger = HostId::new(Micros(0));
        let held = one
            .store()
            .hold_job("sweep", stranger, Duration::from_secs(1))
            .await
            .unwrap();
        held.is_none().then_some(())
    })
    .await;
    let mut job = FleetJob::new("sweep");
    // The host that does not hold the job gets it when the holder stops.
    let (stays, goes) = match job.hold(&one.app.pipeline).await.unwrap() {
        Some(_) => (&two, &one),
        None => (&one, &two),
    };
    goes.stop(Duration::from_secs(5)).await;
    let mut job = FleetJob::new("sweep");
    until("the other one sweeps", async || {
        job.hold(&stays.app.pipeline).await.unwrap()
    })
    .await;
    let hosts = until("the one that stopped is forgotten", async || {
        let hosts = stays.store().hosts().await.unwrap();
        (hosts.len() == 1).then_some(hosts)
    })
    .await;
    assert_eq!(hosts[0].id, stays.app.pipeline.fleet.host());
    assert!(hosts[0].alive);
}
