//! An open-loop load of three times the host's capacity: the host accepts as many leads
//! as before, asks the others to retry, and afterwards everything is as before.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leadhost_tests::load::{Caller, Load, Targets, What};
use leadhost_tests::program::binary;
use leadhost_tests::service::memory_of;
use leadhost_tests::{Hosts, On, figures};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_host_withstands_three_times_its_capacity,
}

/// The first number of senders that each wait for their answers.
const FEWEST: usize = 16;

/// Seconds of a run next to other tests, which only checks correctness.
const SHORT: usize = 2;

/// If doubling the senders raises the throughput by less than this factor, there are enough.
const HARDLY_MORE: f64 = 1.1;

/// The offered load, as a multiple of the capacity.
const TIMES: usize = 3;

/// After this time a sender gives its lead up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval at which leads are sent.
const TICK: Duration = Duration::from_millis(5);

/// The source addresses: a single one would reach the limit of an address.
const ADDRESSES: usize = 8;

/// The files that this process opens besides the sockets of its senders, and the most in
/// total. Half of the sockets are connections that wait for their next lead.
const OWN_FILES: u64 = 500;
const MOST_FILES: u64 = 65_536;

/// A sender that starts this much too late was delayed by this machine.
const LATE: Duration = Duration::from_secs(1);

/// If more than this percentage of leads was late, the run measures nothing.
const TOO_MANY_LATE: usize = 10;

/// This many consecutive leads with normal latency mean that the host has recovered.
const WELL: usize = 20;

/// On a machine with other load, only the recovery itself can be checked.
const LATEST_RECOVERY: Duration = Duration::from_secs(60);

#[expect(
    clippy::print_stderr,
    reason = "`cargo xtask faults` reads why there is no figure"
)]
async fn a_host_withstands_three_times_its_capacity(on: On) {
    let seconds = figures::size("LEADHOST_OVERLOAD_SECONDS", SHORT, SHORT);
    let lasts = match on {
        On::Sqlite => seconds,
        // The second store gets a share of the run.
        On::Postgres(_) => seconds.div_ceil(3),
    };
    let lasts = Duration::from_secs(lasts as u64);
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the limit cannot be raised, more of the senders find no connection.
    let _ = setrlimit(Resource::Nofile, limit);
    let files = getrlimit(Resource::Nofile).current.unwrap_or(MOST_FILES);
    let sockets = usize::try_from(files.min(MOST_FILES).saturating_sub(OWN_FILES) / 2);
    let sockets = Arc::new(Semaphore::new(sockets.unwrap_or_default()));
    let hosts = Hosts::portal(on).apply().await;
    let (program, own) = apart(seconds);
    let service = hosts.start_as(0, program, &[]).await;
    let to = service.address("gateway");
    let path = hosts.ingest("portal");
    let senders = OpenLoopSenders {
        to,
        what: Arc::new(What::Leads(path.clone())),
        idle: Arc::new((0..ADDRESSES).map(|_| Mutex::default()).collect()),
        sockets,
    };
    let process = service.process();
    let measured = on_processor(own, async move {
        let mut acknowledged = BTreeSet::new();
        let each = (lasts / 20).max(Duration::from_secs(2));
        let calm = capacity(to, &path, each, &mut acknowledged).await;
        let idle = memory_of(process);
        let each_second = calm.each_second * TIMES as f64;
        let (mut storm, most) = crowd(&senders, each_second, lasts, || memory_of(process)).await;
        // Next to other tests, an answer takes as long as their work lets it.
        let normal = own.map_or(PATIENCE, |_| {
            (calm.slow * 3).max(Duration::from_millis(100))
        });
        let recovery = recovery(to, &path, normal).await;
        acknowledged.append(&mut storm.acknowledged);
        (calm, storm, recovery, idle, most, acknowledged)
    });
    let (calm, storm, recovery, idle, most, acknowledged) = measured.await;
    hosts.assert_each_once(&service, &acknowledged).await;
    assert_eq!(storm.wrong, [""; 0], "answers that break the interface");
    assert!(
        recovery < LATEST_RECOVERY,
        "answers are normal only {recovery:?} after the end"
    );
    // Without senders that keep their pace, there is no figure.
    if storm.late * 100 > storm.offered * TOO_MANY_LATE {
        eprintln!(
            "LEFT OUT: this machine's processors cannot run the senders next to the service: {} of {} leads could not be sent in time",
            storm.late, storm.offered
        );
        return;
    }

    let goodput = storm.taken as f64 / lasts.as_secs_f64() / calm.each_second * 100.0;
    let figure = format!(
        "capacity {:.0} leads/s of {} senders that wait, then {:.0}/s offered for {} s: goodput {goodput:.0} % of the capacity, {} asked to retry, {} gave up after {} s, {} without a connection or an answer; normal answers {:.1} s after the end; memory {} MiB at most, {} MiB before; {}",
        calm.each_second,
        calm.senders,
        storm.offered as f64 / lasts.as_secs_f64(),
        lasts.as_secs(),
        storm.refused,
        storm.given_up,
        PATIENCE.as_secs(),
        storm.unanswered,
        recovery.as_secs_f64(),
        most >> 20,
        idle >> 20,
        match own {
            Some(_) => "the senders have one processor, the service the others",
            None => "the senders run on the same processor",
        }
    );
    figures::record("overload", Some(&hosts.on), None, &figure);
    // Next to other tests, the first answers may come after the load.
    assert!(own.is_none() || storm.taken > 0, "{figure}");
}

/// The service, and a processor for the senders that the service does not use, as if they
/// were separate machines. `None` if there are too few processors, or if many tests run
/// at once.
fn apart(seconds: usize) -> (Command, Option<usize>) {
    let all = std::thread::available_parallelism().map_or(1, NonZero::get);
    let others = all.checked_sub(2).filter(|_| seconds > SHORT);
    let Some(others) = others else {
        return (Command::new(binary()), None);
    };
    let mut program = Command::new("taskset");
    program
        .args(["--cpu-list", &format!("0-{others}")])
        .arg(binary());
    (program, Some(all - 1))
}

/// Runs the work on its own thread, pinned to this processor.
async fn on_processor<T: Send + 'static>(
    processor: Option<usize>,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let thread = std::thread::spawn(move || {
        if let Some(processor) = processor {
            let mut own = CpuSet::new();
            own.set(processor);
            sched_setaffinity(None, &own).expect("one of its processors");
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(work)
    });
    let ended = tokio::task::spawn_blocking(|| thread.join());
    ended.await.expect("no panic").expect("no panic")
}

/// The throughput of senders that wait for their answers.
struct Calm {
    each_second: f64,
    senders: usize,
    /// The latency that one in a hundred answers exceeded.
    slow: Duration,
}

/// Doubles the number of senders until the throughput hardly grows.
async fn capacity(
    to: SocketAddr,
    path: &str,
    lasts: Duration,
    acknowledged: &mut BTreeSet<String>,
) -> Calm {
    let mut best: Option<Calm> = None;
    let mut senders = FEWEST;
    loop {
        let (name, targets) = (format!("calm-{senders}"), Targets::new([to]));
        let leads = What::Leads(path.to_owned());
        let load = Load::until_acknowledged(&name, &targets, senders, leads);
        // The first leads only warm the host up.
        load.reaches(500).await;
        let (before, begun) = (load.acknowledged(), Instant::now());
        tokio::time::sleep(lasts).await;
        let taken = load.acknowledged() - before;
        let each_second = taken as f64 / begun.elapsed().as_secs_f64();
        let sent = load.stop().await;
        sent.assert_well_formed();
        let now = Calm {
            each_second,
            senders,
            slow: sent.percentile(99),
        };
        acknowledged.extend(sent.acknowledged);
        match best {
            Some(best) if each_second < best.each_second * HARDLY_MORE => return best,
            _ => best = Some(now),
        }
        senders *= 2;
    }
}

/// The result of an open-loop load.
#[derive(Default)]
struct Storm {
    offered: usize,
    taken: usize,
    refused: usize,
    given_up: usize,
    unanswered: usize,
    late: usize,
    wrong: Vec<String>,
    acknowledged: BTreeSet<String>,
}

/// Open-loop senders, and their resources.
#[derive(Clone)]
struct OpenLoopSenders {
    to: SocketAddr,
    what: Arc<What>,
    /// For each address, the connections that wait for their next lead.
    idle: Arc<Vec<Mutex<Vec<Caller>>>>,
    sockets: Arc<Semaphore>,
}

async fn crowd(
    senders: &OpenLoopSenders,
    each_second: f64,
    lasts: Duration,
    memory: impl Fn() -> u64,
) -> (Storm, u64) {
    let mut under_way = JoinSet::new();
    let mut storm = Storm::default();
    let mut most = 0;
    let begun = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    // A late tick sends everything that is due, at once.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    while begun.elapsed() < lasts {
        ticks.tick().await;
        let due = (begun.elapsed().as_secs_f64() * each_second) as usize;
        while storm.offered < due {
            let id = format!("storm-{}", storm.offered);
            let address = storm.offered % ADDRESSES;
            under_way.spawn(senders.clone().one(id, address, Instant::now()));
            storm.offered += 1;
            if storm.offered.is_multiple_of(1_000) {
                most = most.max(memory());
            }
        }
        while let Some(done) = under_way.try_join_next() {
            storm.count(done.expect("no panic"), begun.elapsed() <= lasts);
        }
    }
    while let Some(done) = under_way.join_next().await {
        storm.count(done.expect("no panic"), false);
    }
    (storm, most.max(memory()))
}

/// The outcome of one offered lead.
enum OfferOutcome {
    Taken(String),
    Refused,
    GaveUp,
    Nothing,
    /// Nothing was sent in time.
    Late,
    Wrong(String),
}

impl Storm {
    /// Only leads accepted during the load are goodput; later ones are stored too.
    fn count(&mut self, outcome: OfferOutcome, in_time: bool) {
        match outcome {
            OfferOutcome::Taken(id) => {
                self.taken += usize::from(in_time);
                self.acknowledged.insert(id);
            }
            OfferOutcome::Refused => self.refused += 1,
            OfferOutcome::GaveUp => self.given_up += 1,
            OfferOutcome::Nothing => self.unanswered += 1,
            OfferOutcome::Late => self.late += 1,
            OfferOutcome::Wrong(why) => self.wrong.push(why),
        }
    }
}

impl OpenLoopSenders {
    async fn one(self, id: String, address: usize, due: Instant) -> OfferOutcome {
        if due.elapsed() > LATE {
            return OfferOutcome::Late;
        }
        let Ok(_socket) = self.sockets.try_acquire() else {
            return OfferOutcome::Nothing;
        };
        let waiting = self.idle[address].lock().await.pop();
        let from = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + address as u8));
        let mut caller = waiting.unwrap_or_else(|| Caller::from(from));
        let sending = caller.send(self.to, &self.what, &id);
        match tokio::time::timeout(PATIENCE, sending).await {
            // Its connection is closed with it.
            Err(_) => OfferOutcome::GaveUp,
            Ok(None) => OfferOutcome::Nothing,
            Ok(Some(Err(why))) => OfferOutcome::Wrong(why),
            Ok(Some(Ok(taken))) => {
                self.idle[address].lock().await.push(caller);
                if taken {
                    OfferOutcome::Taken(id)
                } else {
                    OfferOutcome::Refused
                }
            }
        }
    }
}

/// Measures the time until sequential requests have normal latency again.
async fn recovery(to: SocketAddr, path: &str, normal: Duration) -> Duration {
    let what = What::Leads(path.to_owned());
    let over = Instant::now();
    let (mut well, mut since) = (0, over);
    let asked = AtomicUsize::new(0);
    let mut caller = Caller::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
    while well < WELL {
        let begun = Instant::now();
        let id = format!("after-{}", asked.fetch_add(1, Ordering::Relaxed));
        let answer = tokio::time::timeout(PATIENCE, caller.send(to, &what, &id)).await;
        if matches!(answer, Ok(Some(Ok(true)))) && begun.elapsed() < normal {
            since = if well == 0 { begun } else { since };
            well += 1;
        } else {
            well = 0;
            caller = Caller::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        assert!(over.elapsed() < 3 * LATEST_RECOVERY, "it does not recover");
    }
    since.duration_since(over)
}
