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

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;

use crate::http::read_answer;
pub use crate::load::join;
use crate::load::on_thread;
use crate::sample::Sample;
use crate::{Failure, lead};

/// After this time a request counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(15);

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

    /// Returns the times from when each request was due, including those of requests without an
    /// answer.
    pub fn latency(&self) -> Sample {
        Sample::from_durations(self.took.iter().copied())
    }
}

/// Starts the load. It ends after its duration, once all requests are answered or given up.
pub fn start(load: Paced) -> JoinHandle<Result<PacedOutcome, Failure>> {
    start_until(load, Arc::default())
}

/// Like [`start`], and no more requests are due once the flag is set.
pub fn start_until(
    load: Paced,
    ended: Arc<AtomicBool>,
) -> JoinHandle<Result<PacedOutcome, Failure>> {
    on_thread(move || run(load, ended))
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
            shared.end("not sent: too many are under way", due);
        } else {
            tasks.push(tokio::task::spawn_local(one(
                Rc::clone(&shared),
                number,
                due,
            )));
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
    fn end(&self, how: &str, due: Instant) {
        let mut outcome = self.outcome.borrow_mut();
        outcome.took.push(due.elapsed());
        match outcome.ended.get_mut(how) {
            Some(times) => *times += 1,
            None => {
                outcome.ended.insert(how.to_owned(), 1);
            }
        }
    }
}

struct KeptConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

async fn one(shared: Rc<Shared>, number: u64, due: Instant) {
    let asked = tokio::time::timeout(PATIENCE, ask(&shared, number)).await;
    match asked {
        Ok(Ok((how, connection))) => {
            shared.end(&how, due);
            shared.idle.borrow_mut().extend(connection);
        }
        Ok(Err(how)) => shared.end(&how, due),
        Err(_) => shared.end("no answer", due),
    }
}

/// Returns the outcome of the request, and the connection if it is kept.
async fn ask(shared: &Shared, number: u64) -> Result<(String, Option<KeptConnection>), String> {
    let load = &shared.load;
    let idle = shared.idle.borrow_mut().pop();
    let mut connection = match idle {
        Some(connection) => connection,
        None => connect(load)
            .await
            .map_err(|error| format!("connecting: {}", error.kind()))?,
    };
    let mut body = Vec::new();
    match load.body {
        PacedBody::Leads(first) => lead::write(first + number, &mut body),
        PacedBody::Same => body.extend_from_slice(b"{}"),
    }
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        load.path,
        load.to,
        body.len()
    );
    let mut request = head.into_bytes();
    request.extend_from_slice(&body);
    connection
        .stream
        .write_all(&request)
        .await
        .map_err(|error| format!("sending: {}", error.kind()))?;
    let (head, body) = read_answer(&mut connection.stream, &mut connection.buffer).await?;
    let how = match word(body) {
        Some(word) => format!("{} {word}", head.status),
        None => head.status.to_string(),
    };
    Ok((how, head.kept.then_some(connection)))
}

async fn connect(load: &Paced) -> std::io::Result<KeptConnection> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(load.from, 0))?;
    let stream = socket.connect(load.to).await?;
    stream.set_nodelay(true)?;
    Ok(KeptConnection {
        stream,
        buffer: Vec::with_capacity(4 << 10),
    })
}

/// Returns the delivery's outcome from an answer.
fn word(body: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b"\"status\":\"";
    let begin = body
        .windows(BEFORE.len())
        .position(|window| window == BEFORE)?
        + BEFORE.len();
    let length = body[begin..].iter().position(|byte| *byte == b'"')?;
    let word = std::str::from_utf8(&body[begin..begin + length]).ok()?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_it_ended() {
        let answer = b"{\"success\":true,\"status\":\"queued\",\"a\":1}";
        assert_eq!(word(answer).as_deref(), Some("queued"));
    }
}
