//! Two hosts share the work. One of them is frozen past its leases and continues with work that the other has
//! done: it overwrites nothing.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leadhost_tests::eventually;
use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::load::{Follower, Targets};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::lead_form::{self, LeadForm};

/// The fetches that a host holds: half of `worker.concurrency` for one connection.
const IN_HAND: usize = 4;

/// A call that waits at the door is not given up: otherwise more calls would wait
/// than both hosts hold.
const FLAGS: [&str; 6] = [
    "--set",
    "worker.lease_seconds=3",
    "--set",
    "worker.concurrency=8",
    "--set",
    "worker.fetch_seconds=600",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_host_frozen_past_its_leases_overwrites_no_work_of_the_other() {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let door = Door::before(double.address()).await;
    let world = available!(lead_form::outage(door.address));
    let hosts = &world.hosts;
    let key = hosts.workspace_key();
    let sleeper = hosts.start_with(0, &FLAGS).await;
    let other = hosts.start_with(1, &FLAGS).await;
    let data = other.address("data");
    let gateways = Targets::gateways(&[&sleeper, &other]);
    let follower = Follower::start(gateways.clone(), key);
    let load = world.load(&gateways, 8);
    load.reaches(50).await;
    let form = LeadForm::new(&world);
    let announced = form.announce(other.address("gateway"), 20).await;
    let announced = BTreeSet::from_iter(announced);
    assert_eq!(announced.len(), 20);
    let are_busy = async || door.waiting() == 2 * IN_HAND;
    eventually("both hosts have their hands full", are_busy).await;

    sleeper.freeze();
    door.open();
    // The other host does all the work.
    lead_form::are_fetched(data, key, &announced).await;
    // The rows with their stamps.
    let rows = "select coalesce(bit_xor(hashtextextended(id::text || cursor_us, 0)), 0)
        from leadhost.deals where external_id like '44%'";
    let answers = "select count(*) from leadhost.answers";
    let before = hosts.count(rows).await;
    assert_eq!(hosts.count(answers).await, 20, "each was answered once");

    sleeper.thaw();
    let has_let_go = async || door.waiting() == 0;
    eventually("the sleeper has let go of its fetches", has_let_go).await;
    // It works again, and its late writes have been attempted.
    load.goes_on(300).await;
    let sent = load.stop().await;
    sent.assert_well_formed();
    let all: BTreeSet<_> = sent.acknowledged.union(&announced).cloned().collect();
    hosts.assert_each_once(&sleeper, &all).await;
    assert_eq!(hosts.count(rows).await, before, "no row was written again");
    assert_eq!(hosts.count(answers).await, 20, "no answer was kept twice");
    follower.assert_saw_all(data, key).await;
}

/// A door in front of a remote server: callers wait until it is opened.
struct Door {
    address: SocketAddr,
    opened: watch::Sender<bool>,
    waiting: Arc<AtomicUsize>,
}

impl Door {
    async fn before(remote_server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (opened, open) = watch::channel(false);
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Ok((mut visitor, _)) = listener.accept().await {
                let (mut open, waiting) = (open.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    waiting.fetch_add(1, Ordering::Relaxed);
                    let _ = open.wait_for(|open| *open).await;
                    if let Ok(mut inside) = TcpStream::connect(remote_server).await {
                        let _ = tokio::io::copy_bidirectional(&mut visitor, &mut inside).await;
                    }
                    waiting.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Self {
            address,
            opened,
            waiting,
        }
    }

    fn open(&self) {
        self.opened.send_replace(true);
    }

    /// Callers that are still waiting.
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}
