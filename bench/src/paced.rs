//! Load at a steady rate, an open loop: each request is due at its time, whether
//! or not earlier ones are answered, and its latency is measured from that time.
//! A closed loop would wait with the service and see less of a stall.
//!
//! One thread keeps the time and another handles all sockets: processor time that a
//! generator uses is missing for what it measures.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::http::{KeptConnection, text_after, write_request};
use crate::load::Running;
use crate::sample::Sample;
use crate::{Failure, lead};

/// After this time a request counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(15);
const HEADERS: &str = "user-agent: bench\r\ncontent-type: application/json\r\n";

#[derive(Clone, Debug)]
pub struct Paced {
    pub to: SocketAddr,
    /// The source address of the load; tenants do not share theirs.
    pub from: IpAddr,
    pub path: String,
    pub per_second: f64,
    pub during: Duration,
    /// Maximum requests in flight, each over its own kept connection. Above it, due requests
    /// are not sent.
    pub under_way: usize,
    pub body: PacedBody,
}

#[derive(Clone, Copy, Debug)]
pub enum PacedBody {
    Leads(u64),
    /// The same few bytes each time; the configuration decides the outcome.
    Same,
}

#[derive(Debug, Default)]
pub struct PacedOutcome {
    /// The time of each request from when it was due, answered or not.
    pub took: Vec<Duration>,
    /// The outcomes: the answer's status and its word, or the failure.
    pub ended: BTreeMap<String, u64>,
    pub during: Duration,
}

impl PacedOutcome {
    pub fn ok_per_second(&self) -> f64 {
        let ok = self.ended.iter().filter(|(how, _)| how.starts_with("200"));
        ok.map(|(_, times)| *times).sum::<u64>() as f64 / self.during.as_secs_f64()
    }

    pub fn latency(&self) -> Sample {
        Sample::from_durations(self.took.iter().copied())
    }
}

/// Starts the load. It ends after its duration, once all requests are answered or given up.
pub fn start(load: Paced) -> Running<PacedOutcome> {
    Running::start(|ended| run(load, ended))
}

async fn run(load: Paced, ended: Arc<AtomicBool>) -> Result<PacedOutcome, Failure> {
    let (due, mut dues) = mpsc::unbounded_channel();
    let clock = keep_time(&load, due, Arc::clone(&ended));
    let shared = Rc::new(Shared {
        idle: RefCell::default(),
        outcome: RefCell::new(PacedOutcome {
            during: load.during,
            ..PacedOutcome::default()
        }),
        load,
    });
    let mut tasks = Vec::new();
    let mut number = 0;
    while let Some(due) = dues.recv().await {
        // One reference belongs to the task itself.
        if Rc::strong_count(&shared) > shared.load.under_way {
            shared.end("not sent: too many are under way".to_owned(), due);
        } else {
            let one = one(Rc::clone(&shared), number, due);
            tasks.push(tokio::task::spawn_local(one));
        }
        number += 1;
        if tasks.len() > 1_024 {
            tasks.retain(|task| !task.is_finished());
        }
    }
    for task in tasks {
        task.await?;
    }
    ended.store(true, Ordering::Relaxed);
    clock.join().map_err(|_| "the clock of a load panicked")?;
    Ok(shared.outcome.take())
}

/// Sends each request's due time. The runtime's timers are a millisecond late, which is a
/// third of the measured values.
fn keep_time(
    load: &Paced,
    due: mpsc::UnboundedSender<Instant>,
    ended: Arc<AtomicBool>,
) -> JoinHandle<()> {
    let (per_second, during) = (load.per_second, load.during);
    std::thread::spawn(move || {
        let begin = Instant::now();
        for number in 0_u32.. {
            let at = Duration::from_secs_f64(f64::from(number) / per_second);
            if at >= during || ended.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(at.saturating_sub(begin.elapsed()));
            if due.send(begin + at).is_err() {
                return;
            }
        }
    })
}

struct Shared {
    load: Paced,
    idle: RefCell<Vec<KeptConnection>>,
    outcome: RefCell<PacedOutcome>,
}

impl Shared {
    fn end(&self, how: String, due: Instant) {
        let mut outcome = self.outcome.borrow_mut();
        outcome.took.push(due.elapsed());
        *outcome.ended.entry(how).or_default() += 1;
    }
}

async fn one(shared: Rc<Shared>, number: u64, due: Instant) {
    match tokio::time::timeout(PATIENCE, ask(&shared, number)).await {
        Ok(Ok((how, connection))) => {
            shared.end(how, due);
            shared.idle.borrow_mut().extend(connection);
        }
        Ok(Err(how)) => shared.end(how, due),
        Err(_) => shared.end("no answer".to_owned(), due),
    }
}

/// Returns the outcome of the request, and the connection if it is kept.
async fn ask(shared: &Shared, number: u64) -> Result<(String, Option<KeptConnection>), String> {
    let load = &shared.load;
    let idle = shared.idle.borrow_mut().pop();
    let mut connection = match idle {
        Some(connection) => connection,
        None => KeptConnection::connect(load.from, load.to).await?,
    };
    let (mut body, mut request) = (Vec::new(), Vec::new());
    match load.body {
        PacedBody::Leads(first) => lead::write(first + number, &mut body),
        PacedBody::Same => body.extend_from_slice(b"{}"),
    }
    write_request(&mut request, load.to, ["POST", &load.path], HEADERS, &body);
    let (head, body) = connection.ask(&request).await?;
    let how = match text_after(body, "\"status\":\"") {
        Some(word) => format!("{} {word}", head.status),
        None => head.status.to_string(),
    };
    Ok((how, head.kept.then_some(connection)))
}
