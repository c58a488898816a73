//! No row is ever missed. Writers change rows one by one and by the thousand,
//! some batches roll back, some are cut off, transactions pause at their worst
//! places, the wall clock jumps back and forth, hosts stop and start; meanwhile
//! clients pull in every way that clients do, keeping nothing but the greatest
//! stamp that they have seen. In the end each of them knows every row as the
//! writers' plan has it.
//!
//! The plan follows from the seed alone, and both stores are checked against it:
//! the same seed gives the same rows on both. As a control, the same clients
//! read tables with wrong stampers, each of which looks right: they must detect
//! the lost rows, otherwise they prove nothing.
//!
//! `LEADHOST_FEED_CHANGES` sets the number of row changes on each store, and
//! `LEADHOST_FEED_SEED` the random seed.

mod client;
mod feed;
mod hosts;
mod plan;
mod stampers;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use leadhost_domain::clock::{Clock, SystemClock};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;
use leadhost_tests::size::given;
use leadhost_tests::{On, Random, sized};

use self::client::{FeedClient, StampPrecision};
use self::hosts::{Environment, RunningHosts};
use self::writer::PlanWriter;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    no_row_is_ever_missed,
}

/// Row changes of a run on each store, contacts and deals together.
fn changes() -> u64 {
    given("LEADHOST_FEED_CHANGES", sized(20_000, 200_000))
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// How often the hosts of a run stop and start again, plus one.
const LIVES: usize = 4;
const WRITERS: usize = 4;
const CLIENTS: usize = 2;
const FEEDS: [Entity; 2] = [Entity::Deals, Entity::Contacts];

/// The machine's clock with a shift.
#[derive(Default)]
struct Stepping {
    shift: AtomicI64,
    /// The greatest shift so far.
    greatest: AtomicI64,
    /// How far the database's clock is ahead of this one.
    ahead: AtomicI64,
}

impl Clock for Stepping {
    fn now(&self) -> Micros {
        Micros(SystemClock.now().0 + self.shift.load(Ordering::SeqCst))
    }
}

impl Stepping {
    fn step_to(&self, shift: i64) {
        self.greatest.fetch_max(shift, Ordering::SeqCst);
        self.shift.store(shift, Ordering::SeqCst);
    }

    /// Stamps have the time of a clock that is this far ahead of ours.
    fn is_behind(&self, other: i64) {
        self.ahead.store(other.max(0), Ordering::SeqCst);
    }

    /// The latest time that it can have shown to any reader so far.
    fn latest(&self) -> i64 {
        let greatest = self.greatest.load(Ordering::SeqCst);
        SystemClock.now().0 + greatest + self.ahead.load(Ordering::SeqCst)
    }
}

async fn no_row_is_ever_missed(on: On) {
    let changes = changes();
    let changes = usize::try_from(changes).unwrap();
    let seed = given("LEADHOST_FEED_SEED", SEED);
    let environment = Environment::new(on, seed).await;
    let mut writers: Vec<_> = (0..WRITERS).map(|at| PlanWriter::new(seed, at)).collect();
    let mut clients: Vec<_> = (0..FEEDS.len() * CLIENTS)
        .map(|at| {
            let keeps = match at % CLIENTS {
                0 => StampPrecision::All,
                _ => StampPrecision::Less,
            };
            FeedClient::new(Random::from_seed(!seed, at), keeps)
        })
        .collect();
    for number in 1..=LIVES {
        let hosts = Arc::new(RunningHosts::begin(&environment).await);
        let share = changes * number / LIVES / WRITERS;
        let done = Arc::new(AtomicBool::new(false));
        let is_last = number == LIVES;
        let reading = clients.drain(..).enumerate().map(|(at, mut client)| {
            let feeds = hosts.feeds(FEEDS[at / CLIENTS], at);
            let (hosts, done) = (Arc::clone(&hosts), Arc::clone(&done));
            tokio::spawn(async move {
                client.poll(&feeds, &done, is_last).await;
                drop(hosts);
                client
            })
        });
        let reading: Vec<_> = reading.collect();
        let writing = writers.drain(..).map(|mut writer| {
            let hosts = Arc::clone(&hosts);
            tokio::spawn(async move {
                writer.write(&hosts, share).await;
                if !is_last {
                    writer.is_killed(&hosts).await;
                }
                writer
            })
        });
        for writer in writing.collect::<Vec<_>>() {
            writers.push(writer.await.expect("a writer ends"));
        }
        done.store(true, Ordering::SeqCst);
        for client in reading {
            clients.push(client.await.expect("a client ends"));
        }
        if is_last {
            let plans: Vec<_> = writers.iter().map(PlanWriter::plan).collect();
            for (at, entity) in FEEDS.into_iter().enumerate() {
                let truth = hosts.truth(entity).await;
                plan::assert_is(&truth, entity, &plans, seed);
                for client in &clients[at * CLIENTS..(at + 1) * CLIENTS] {
                    client.assert_knows(&truth, seed);
                }
            }
        }
        let hosts = Arc::into_inner(hosts).expect("no host is left");
        hosts.end().await;
    }
    let pulls: usize = clients.iter().map(|client| client.pulls_ended).sum();
    assert!(
        pulls > 10 * clients.len(),
        "the clients hardly pulled: {pulls}"
    );
}
