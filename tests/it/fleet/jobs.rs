//! A periodic job has one holder at a time.

use std::time::Duration;

use leadhost_domain::id::HostId;
use leadhost_domain::time::Micros;
use leadhost_pipeline::fleet::FleetJob;
use leadhost_store::Fence;
use leadhost_tests::{Host, On, eventually, until};

use super::fleet;

const MINUTE: Duration = Duration::from_mins(1);

leadhost_tests::on_every_store! {
    a_job_has_one_holder_and_its_fencing_token_grows_with_each_new_one,
}

async fn hold(host: &Host, name: &str, holder: HostId, time: Duration) -> Option<Fence> {
    host.store().hold_job(name, holder, time).await.unwrap()
}

async fn a_job_has_one_holder_and_its_fencing_token_grows_with_each_new_one(on: On) {
    let host = Host::new(on).await;
    let (one, two) = (HostId::new(Micros(0)), HostId::new(Micros(0)));
    let hold = async |name: &str, holder| hold(&host, name, holder, MINUTE).await;
    let first = hold("count", one).await.expect("the job is free");
    assert_eq!(hold("count", two).await, None);
    let again = hold("count", one).await;
    assert_eq!(again, Some(first), "renewing keeps the fencing token");
    assert!(hold("another", two).await.is_some(), "jobs are independent");

    let store = host.store();
    store.leave_job("count", two).await.unwrap();
    let still = hold("count", two).await;
    assert_eq!(still, None, "only its holder releases it");
    store.leave_job("count", one).await.unwrap();
    let second = hold("count", two).await;
    assert!(second.expect("it is free") > first);
}

#[tokio::test]
async fn a_job_whose_holder_falls_silent_is_taken_over() {
    let [host] = available!(fleet(["one"]));
    let (dead, alive) = (HostId::new(Micros(0)), HostId::new(Micros(0)));
    let first = hold(&host, "count", dead, Duration::from_secs(1)).await;
    let takes_over = async || hold(&host, "count", alive, MINUTE).await;
    let second = until("the job is free", takes_over).await;
    assert!(second > first.expect("the job was free"));
    assert_eq!(hold(&host, "count", dead, MINUTE).await, None);
}

#[tokio::test]
async fn a_host_that_stops_leaves_its_jobs_to_the_others_and_is_forgotten() {
    let [one, two] = available!(fleet(["one", "two"]));
    eventually("one of them sweeps", async || {
        let stranger = HostId::new(Micros(0));
        let held = hold(&one, "sweep", stranger, Duration::from_secs(1)).await;
        held.is_none()
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
    let sweeps = async || job.hold(&stays.app.pipeline).await.unwrap();
    until("the other one sweeps", sweeps).await;
    let hosts = until("the one that stopped is forgotten", async || {
        let hosts = stays.store().hosts().await.unwrap();
        (hosts.len() == 1).then_some(hosts)
    })
    .await;
    assert_eq!(hosts[0].id, stays.app.pipeline.fleet.host());
    assert!(hosts[0].alive);
}
