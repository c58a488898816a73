//! The load: a closed loop of keep-alive connections on a separate thread.
//! Each connection sends a request, waits for the whole answer, and sends the
//! next. Requests are written and answers read on raw sockets, so that the
//! generator uses as little as possible of the shared machine; its own use is
//! measured too.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::LocalSet;

use crate::http::{KeptConnection, text_after, write_request};
use crate::sample::Sample;
use crate::{Failure, lead};

/// Connections of every figure that sends leads.
pub const CONNECTIONS: u64 = 64;
/// For a load that is ended by hand, long before.
pub const UNTIL_ENDED: Duration = Duration::from_secs(600);
const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Those of a portal.
const HEADERS: &str =
    "user-agent: olx-group-api\r\naccept: */*\r\ncontent-type: application/json\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBody {
    /// A lead that was not sent before.
    Lead,
    /// A body of the same size without a lead: only the delivery is stored.
    Nothing,
}

#[derive(Clone, Debug)]
pub struct Load {
    pub to: SocketAddr,
    pub path: String,
    pub body: LoadBody,
    pub during: Duration,
    /// The number of the first lead; a round takes millions of numbers.
    pub first: u64,
    pub connections: u64,
}

impl Load {
    /// Leads from the first number on, over the usual connections; the duration is not set yet.
    pub fn new(to: SocketAddr, path: String) -> Self {
        Self {
            to,
            path,
            body: LoadBody::Lead,
            during: Duration::ZERO,
            first: 0,
            connections: CONNECTIONS,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// When the request was sent and when the answer's last byte arrived.
    pub sent: Instant,
    pub took: Duration,
    pub delivery: [u8; 36],
}

#[derive(Debug, Default)]
pub struct LoadOutcome {
    pub answers: Vec<Answer>,
    /// Counts of answers other than 200 with `converted` or `ignored`, by kind.
    pub failures: BTreeMap<String, u64>,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// Processor time of the generator's thread.
    pub processor: Duration,
}

impl LoadOutcome {
    pub fn per_second(&self) -> f64 {
        self.answers.len() as f64 / self.elapsed.as_secs_f64()
    }

    fn fail(&mut self, what: String) {
        *self.failures.entry(what).or_default() += 1;
    }

    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        for (what, times) in other.failures {
            *self.failures.entry(what).or_default() += times;
        }
        self.elapsed = self.elapsed.max(other.elapsed);
        self.processor += other.processor;
    }

    pub fn latency(&self) -> Sample {
        Sample::from_durations(self.answers.iter().map(|answer| answer.took))
    }
}

/// A load on a thread of its own, with all its sockets.
pub struct Running<T> {
    thread: JoinHandle<Result<T, Failure>>,
    stop: Arc<AtomicBool>,
}

impl<T: Send + 'static> Running<T> {
    /// Starts a load, which ends early when the flag is set.
    pub fn start<F: Future<Output = Result<T, Failure>>>(
        run: impl FnOnce(Arc<AtomicBool>) -> F + Send + 'static,
    ) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            LocalSet::new().block_on(&runtime, run(stopped))
        });
        Self { thread, stop }
    }

    pub fn join(self) -> Result<T, Failure> {
        let joined = self.thread.join();
        joined.map_err(|_| "the load generator panicked")?
    }

    pub fn end(self) -> Result<T, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.join()
    }
}

pub fn start(load: Load) -> Running<LoadOutcome> {
    Running::start(|stop| run(load, stop))
}

async fn run(load: Load, stop: Arc<AtomicBool>) -> Result<LoadOutcome, Failure> {
    let outcome = Rc::new(RefCell::new(LoadOutcome::default()));
    let mut connections = Vec::new();
    for _ in 0..load.connections {
        connections.push(KeptConnection::connect(ANY, load.to).await?);
    }
    let begin = Instant::now();
    let processor = processor_time();
    let ends = begin + load.during;
    let tasks: Vec<_> = connections
        .into_iter()
        .enumerate()
        .map(|(index, kept)| {
            let connection = LoadConnection {
                kept,
                next: load.first + index as u64,
                load: load.clone(),
                stop: Arc::clone(&stop),
                outcome: Rc::clone(&outcome),
            };
            tokio::task::spawn_local(connection.run(ends))
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let mut outcome = outcome.take();
    outcome.elapsed = begin.elapsed();
    outcome.processor = processor_time().saturating_sub(processor);
    Ok(outcome)
}

struct LoadConnection {
    kept: KeptConnection,
    /// The number of its next lead; the connections take turns.
    next: u64,
    load: Load,
    stop: Arc<AtomicBool>,
    outcome: Rc<RefCell<LoadOutcome>>,
}

impl LoadConnection {
    async fn run(mut self, ends: Instant) -> Result<(), Failure> {
        let mut body = Vec::with_capacity(lead::BYTES);
        let mut request = Vec::with_capacity(lead::BYTES + 512);
        while Instant::now() < ends && !self.stop.load(Ordering::Relaxed) {
            let Load { to, path, .. } = &self.load;
            match self.load.body {
                LoadBody::Lead => lead::write(self.next, &mut body),
                LoadBody::Nothing => lead::write_nothing(&mut body),
            }
            self.next += self.load.connections;
            write_request(&mut request, *to, ["POST", path], HEADERS, &body);
            let sent = Instant::now();
            match self.answer(&request).await {
                Ok(delivery) => self.outcome.borrow_mut().answers.push(Answer {
                    sent,
                    took: sent.elapsed(),
                    delivery,
                }),
                Err(what) => {
                    self.outcome.borrow_mut().fail(what);
                    self.kept = KeptConnection::connect(ANY, self.load.to).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the id of the request's delivery.
    async fn answer(&mut self, request: &[u8]) -> Result<[u8; 36], String> {
        let (head, body) = self.kept.ask(request).await?;
        if head.status != 200 {
            return Err(format!("status {}", head.status));
        }
        let wanted = match self.load.body {
            LoadBody::Lead => "converted",
            LoadBody::Nothing => "ignored",
        };
        let odd = |what: &str| {
            let text = String::from_utf8_lossy(body);
            format!("{what}: {text:.300}")
        };
        if text_after(body, "\"status\":\"") != Some(wanted) {
            return Err(odd("an unexpected answer"));
        }
        let id = text_after(body, "\"deliveryId\":\"");
        id.and_then(|id| id.as_bytes().try_into().ok())
            .ok_or_else(|| odd("an answer without a delivery"))
    }
}

/// This thread's processor time, which excludes other work of the machine.
pub fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
