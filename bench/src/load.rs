//! The load: a closed loop of keep-alive connections on a separate thread.
//! Each connection sends a request, waits for the whole answer, and sends the
//! next. Requests are written and answers read on raw sockets, so that the
//! generator uses as little as possible of the shared machine; its own use is
//! measured too.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::Failure;
use crate::http::read_answer;
use crate::lead::{self, Leads};
use crate::sample::Sample;

/// Connections of every figure that sends leads.
pub const CONNECTIONS: u64 = 64;

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

    /// Returns the times between the requests and the last bytes of their answers.
    pub fn latency(&self) -> Sample {
        Sample::from_durations(self.answers.iter().map(|answer| answer.took))
    }
}

/// Runs the load on a separate thread; returns its outcome.
pub fn start(load: Load) -> JoinHandle<Result<LoadOutcome, Failure>> {
    start_until(load, Arc::default())
}

/// Like [`start`], and ends it early when the flag is set.
pub fn start_until(load: Load, stop: Arc<AtomicBool>) -> JoinHandle<Result<LoadOutcome, Failure>> {
    on_thread(move || run(load, stop))
}

/// Runs a load on a thread of its own, with all its sockets.
pub fn on_thread<T: Send + 'static, F: Future<Output = Result<T, Failure>>>(
    run: impl FnOnce() -> F + Send + 'static,
) -> JoinHandle<Result<T, Failure>> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        LocalSet::new().block_on(&runtime, run())
    })
}

pub fn finish(load: Load) -> Result<LoadOutcome, Failure> {
    join(start(load))
}

pub fn join<T>(thread: JoinHandle<Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "the load generator panicked")?
}

async fn run(load: Load, stop: Arc<AtomicBool>) -> Result<LoadOutcome, Failure> {
    let outcome = Rc::new(RefCell::new(LoadOutcome::default()));
    let mut streams = Vec::new();
    for _ in 0..load.connections {
        let stream = TcpStream::connect(load.to).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let begin = Instant::now();
    let processor = processor_time();
    let ends = begin + load.during;
    let tasks: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(index, stream)| {
            let leads = Leads::new(load.first + index as u64, load.connections);
            let connection = LoadConnection {
                stream,
                leads,
                load: load.clone(),
                stop: Arc::clone(&stop),
                received: Vec::with_capacity(4096),
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
    stream: TcpStream,
    leads: Leads,
    load: Load,
    stop: Arc<AtomicBool>,
    received: Vec<u8>,
    outcome: Rc<RefCell<LoadOutcome>>,
}

impl LoadConnection {
    async fn run(mut self, ends: Instant) -> Result<(), Failure> {
        let mut body = Vec::with_capacity(lead::BYTES);
        let mut request = Vec::with_capacity(lead::BYTES + 512);
        while Instant::now() < ends && !self.stop.load(Ordering::Relaxed) {
            match self.load.body {
                LoadBody::Lead => self.leads.write(&mut body),
                LoadBody::Nothing => lead::write_nothing(&mut body),
            }
            write_request(&mut request, &self.load, &body);
            let sent = Instant::now();
            if let Err(error) = self.stream.write_all(&request).await {
                self.fail(format!("sending: {error}"));
                self.reconnect().await?;
                continue;
            }
            match self.answer().await {
                Ok((200, delivery)) => self.outcome.borrow_mut().answers.push(Answer {
                    sent,
                    took: sent.elapsed(),
                    delivery,
                }),
                Ok((status, _)) => self.fail(format!("status {status}")),
                Err(what) => {
                    self.fail(what);
                    self.reconnect().await?;
                }
            }
        }
        Ok(())
    }

    fn fail(&self, what: String) {
        *self.outcome.borrow_mut().failures.entry(what).or_default() += 1;
    }

    async fn reconnect(&mut self) -> Result<(), Failure> {
        self.stream = TcpStream::connect(self.load.to).await?;
        self.stream.set_nodelay(true)?;
        self.received.clear();
        Ok(())
    }

    /// Reads one whole answer; returns its status and its delivery's id.
    async fn answer(&mut self) -> Result<(u16, [u8; 36]), String> {
        let (head, body) = read_answer(&mut self.stream, &mut self.received).await?;
        if head.status != 200 {
            return Ok((head.status, [0; 36]));
        }
        let wanted: &[u8] = match self.load.body {
            LoadBody::Lead => b"\"status\":\"converted\"",
            LoadBody::Nothing => b"\"status\":\"ignored\"",
        };
        if find(body, wanted).is_none() {
            return Err(format!("an unexpected answer: {}", text(body)));
        }
        let at = find(body, b"\"deliveryId\":\"").map(|at| at + 14);
        let id = at
            .and_then(|at| body.get(at..at + 36))
            .and_then(|id| id.try_into().ok());
        id.map(|id| (head.status, id))
            .ok_or_else(|| format!("an answer without a delivery: {}", text(body)))
    }
}

fn write_request(request: &mut Vec<u8>, load: &Load, body: &[u8]) {
    use std::io::Write as _;
    request.clear();
    write!(
        request,
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: olx-group-api\r\naccept: */*\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        load.path,
        load.to,
        body.len()
    )
    .expect("writing to a Vec does not fail");
    request.extend_from_slice(body);
}

fn find(within: &[u8], what: &[u8]) -> Option<usize> {
    within.windows(what.len()).position(|window| window == what)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(300).collect()
}

/// This thread's processor time, which excludes other work of the machine.
pub fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
