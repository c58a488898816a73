//! Senders that post numbered leads or notifications and record every answer, and
//! the check afterwards: every acknowledged lead is in the export exactly once.
//!
//! A sender has one keep-alive connection and sends one lead at a time. A lead
//! without an answer is uncertain; the test decides what the sender does then.
//! The comments here about leads also hold for notifications.

mod export;
mod follower;
mod notification;

pub use export::{assert_each_once, export, exported, stamps};
pub use follower::Follower;
pub use notification::Notifications;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::service::Service;

/// After this time a request without an answer is given up.
const HOPELESS: Duration = Duration::from_secs(300);

/// The pause between a refusal and the next attempt. It is short on purpose.
const IMPATIENCE: Duration = Duration::from_millis(20);

/// The interval for polling the senders' progress.
const LOOK: Duration = Duration::from_millis(2);

/// The number of people who send leads: so few that leads of one person meet.
const PEOPLE: u64 = 20_000;

/// The addresses that leads go to. Hosts come and go during a load.
#[derive(Clone, Default)]
pub struct Targets(Arc<RwLock<Vec<SocketAddr>>>);

impl Targets {
    pub fn new(hosts: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self(Arc::new(RwLock::new(hosts.into_iter().collect())))
    }

    /// The addresses at which these hosts accept leads and notifications.
    pub fn gateways(hosts: &[&Service]) -> Self {
        Self::new(hosts.iter().map(|host| host.address("gateway")))
    }

    pub fn replace(&self, place: usize, host: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner)[place] = host;
    }

    pub fn pick(&self, turn: usize) -> SocketAddr {
        let hosts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        hosts[turn % hosts.len()]
    }
}

/// The reaction of a sender to a lead that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unacknowledged {
    End,
    /// The sender sends it again, to the next host, until it is acknowledged.
    Again,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A portal's leads, to the connection with this path: `/ingest-lead/...`
    Leads(String),
    Notifications(Notifications),
}

/// The requests of a load, and the number of senders.
pub struct LoadPlan {
    pub targets: Targets,
    pub what: What,
    /// The prefix of this load's ids.
    pub name: String,
    pub senders: usize,
    pub unacknowledged: Unacknowledged,
    /// Earlier leads to send first, one by each sender.
    pub first: Vec<String>,
}

/// One request, answered or not.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub id: String,
    /// `None`: no answer.
    pub status: Option<u16>,
    pub began: Instant,
    pub took: Duration,
}

#[derive(Default)]
pub struct LoadResult {
    pub acknowledged: BTreeSet<String>,
    /// Never acknowledged, but possibly stored.
    pub unsure: Vec<String>,
    /// In the order in which they ended, for each sender.
    pub attempts: Vec<Attempt>,
    /// Answers that violate the interface.
    pub wrong: Vec<String>,
    /// The message of each acknowledged notification.
    pub messages: BTreeMap<String, String>,
}

pub struct Load {
    ended: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    senders: Vec<JoinHandle<LoadResult>>,
}

impl Load {
    pub fn start(plan: LoadPlan) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let refused = Arc::new(AtomicUsize::new(0));
        let plan = Arc::new(plan);
        let mut senders = Vec::new();
        for number in 0..plan.senders {
            senders.push(tokio::spawn(
                Sender {
                    number,
                    turn: number,
                    plan: Arc::clone(&plan),
                    ended: Arc::clone(&ended),
                    acknowledged: Arc::clone(&acknowledged),
                    refused: Arc::clone(&refused),
                    connection: None,
                    sent: LoadResult::default(),
                }
                .run(),
            ));
        }
        Self {
            ended,
            acknowledged,
            refused,
            senders,
        }
    }

    /// Starts senders that send each lead again until it is acknowledged.
    pub fn until_acknowledged(name: &str, targets: &Targets, senders: usize, what: What) -> Self {
        Self::start(LoadPlan {
            targets: targets.clone(),
            what,
            name: name.to_owned(),
            senders,
            unacknowledged: Unacknowledged::Again,
            first: Vec::new(),
        })
    }

    pub fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Returns how many requests got another answer so far.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    pub async fn reaches(&self, count: usize) {
        self.sees("acknowledged leads", count, || self.acknowledged())
            .await;
    }

    pub async fn goes_on(&self, by: usize) {
        self.reaches(self.acknowledged() + by).await;
    }

    pub async fn is_refused(&self, count: usize) {
        self.sees("refused requests", count, || self.refused())
            .await;
    }

    async fn sees(&self, what: &str, count: usize, now: impl Fn() -> usize) {
        let end = Instant::now() + HOPELESS;
        while now() < count {
            assert!(
                Instant::now() < end,
                "still waiting for {count} {what}, there are {}",
                now()
            );
            assert!(
                !self.senders.iter().all(JoinHandle::is_finished),
                "the senders gave up"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Lets the senders finish their current requests, and returns all that they
    /// saw.
    pub async fn stop(self) -> LoadResult {
        self.ended.store(true, Ordering::Relaxed);
        let mut all = LoadResult::default();
        for sender in self.senders {
            all = all.with(sender.await.expect("a sender ends by itself"));
        }
        all
    }
}

impl LoadResult {
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.acknowledged.extend(other.acknowledged);
        self.unsure.extend(other.unsure);
        self.attempts.extend(other.attempts);
        self.wrong.extend(other.wrong);
        self.messages.extend(other.messages);
        self
    }

    pub fn count(&self, status: u16) -> usize {
        let attempts = self.attempts.iter();
        attempts
            .filter(|attempt| attempt.status == Some(status))
            .count()
    }

    pub fn slowest(&self) -> Duration {
        let attempts = self.attempts.iter();
        attempts
            .map(|attempt| attempt.took)
            .max()
            .unwrap_or_default()
    }

    /// Returns the latency of acknowledged requests at this percentile.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut took: Vec<_> = self
            .attempts
            .iter()
            .filter(|attempt| attempt.status == Some(200))
            .map(|attempt| attempt.took)
            .collect();
        took.sort_unstable();
        let place = (took.len() * percent / 100).min(took.len().saturating_sub(1));
        took.get(place).copied().unwrap_or_default()
    }

    /// Returns when the first lead was acknowledged that was sent after this moment.
    pub fn first_acknowledged_after(&self, moment: Instant) -> Option<Instant> {
        let attempts = self.attempts.iter();
        attempts
            .filter(|attempt| attempt.status == Some(200) && attempt.began >= moment)
            .map(|attempt| attempt.began + attempt.took)
            .min()
    }

    pub fn longest_pause(&self) -> Duration {
        let attempts = self.attempts.iter();
        let mut ends: Vec<_> = attempts
            .filter(|attempt| attempt.status == Some(200))
            .map(|attempt| attempt.began + attempt.took)
            .collect();
        ends.sort_unstable();
        let pauses = ends.windows(2).map(|pair| pair[1] - pair[0]);
        pauses.max().unwrap_or_default()
    }

    #[track_caller]
    pub fn assert_well_formed(&self) {
        let first = self.wrong.iter().take(5).collect::<Vec<_>>();
        assert!(
            self.wrong.is_empty(),
            "{} wrong answers of {}: {first:#?}",
            self.wrong.len(),
            self.attempts.len()
        );
    }
}

struct Sender {
    number: usize,
    turn: usize,
    plan: Arc<LoadPlan>,
    ended: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    connection: Option<SendRequest<Full<Bytes>>>,
    sent: LoadResult,
}

impl Sender {
    async fn run(mut self) -> LoadResult {
        let plan = Arc::clone(&self.plan);
        let again = plan.first.get(self.number).cloned();
        let number = self.number;
        let fresh = (0..).map(|n| format!("{}-{number}-{n}", plan.name));
        for id in again.into_iter().chain(fresh) {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            if self.lead(&id).await {
                if plan.what.is_sent_twice(&id) {
                    self.attempt(&id).await;
                }
            } else {
                self.sent.unsure.push(id);
                if plan.unacknowledged == Unacknowledged::End {
                    break;
                }
            }
        }
        self.sent
    }

    /// Whether the lead is acknowledged in the end.
    async fn lead(&mut self, id: &str) -> bool {
        loop {
            if self.attempt(id).await {
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
                self.sent.acknowledged.insert(id.to_owned());
                return true;
            }
            if self.plan.unacknowledged == Unacknowledged::End {
                return false;
            }
            self.turn += 1;
            self.connection = None;
            tokio::time::sleep(IMPATIENCE).await;
            if !self.plan.what.may_be_repeated(id) || self.ended.load(Ordering::Relaxed) {
                return false;
            }
        }
    }

    async fn attempt(&mut self, id: &str) -> bool {
        let began = Instant::now();
        let to = self.plan.targets.pick(self.turn);
        let asked = ask(&mut self.connection, to, self.plan.what.request(id));
        let answer = match tokio::time::timeout(HOPELESS, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                self.sent.wrong.push(format!("{id}: no answer at all"));
                None
            }
        };
        let took = began.elapsed();
        let status = answer.as_ref().map(|answer| answer.status);
        self.sent.attempts.push(Attempt {
            id: id.to_owned(),
            status,
            began,
            took,
        });
        match answer {
            None => {
                self.connection = None;
                false
            }
            Some(answer) if self.plan.what.acknowledged(&answer) => {
                self.remember(id, &answer);
                true
            }
            Some(answer) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                if let Err(why) = self.plan.what.refused(&answer) {
                    self.sent.wrong.push(format!("{id}: {why}: {answer:?}"));
                }
                false
            }
        }
    }

    /// Checks that one notification has one message, however often it is answered.
    fn remember(&mut self, id: &str, answer: &LoadAnswer) {
        let Some(message) = notification::message_of(answer) else {
            return;
        };
        let before = self.sent.messages.entry(id.to_owned());
        if before.or_insert_with(|| message.clone()) != &message {
            let why = "it was another message before";
            self.sent.wrong.push(format!("{id}: {why}: {answer:?}"));
        }
    }
}

impl What {
    fn request(&self, id: &str) -> Request<Full<Bytes>> {
        match self {
            Self::Leads(path) => Request::post(path)
                .header("host", "leadhost.test")
                .header("content-type", "application/json")
                .body(Full::new(Bytes::from(lead(id).to_string())))
                .expect("a request"),
            Self::Notifications(notifications) => notifications.request(id),
        }
    }

    fn acknowledged(&self, answer: &LoadAnswer) -> bool {
        match self {
            Self::Leads(_) => answer.acknowledges(),
            Self::Notifications(_) => notification::is_taken(answer),
        }
    }

    /// Whether the answer is a temporary refusal in the error format of the gateway.
    fn refused(&self, answer: &LoadAnswer) -> Result<(), &'static str> {
        match self {
            Self::Leads(_) => answer.is_a_refusal(),
            Self::Notifications(_) => notification::is_a_refusal(answer),
        }
    }

    /// Whether a repeat is recognised as one.
    fn may_be_repeated(&self, id: &str) -> bool {
        match self {
            Self::Leads(_) => true,
            Self::Notifications(_) => notification::is_keyed(id),
        }
    }

    /// Whether it is sent again although it was acknowledged.
    fn is_sent_twice(&self, id: &str) -> bool {
        match self {
            Self::Leads(_) => false,
            Self::Notifications(_) => notification::is_sent_twice(id),
        }
    }
}

#[derive(Debug)]
struct LoadAnswer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl LoadAnswer {
    fn acknowledges(&self) -> bool {
        self.status == 200
            && ["converted", "duplicate", "queued"]
                .iter()
                .any(|status| self.body["status"] == *status)
    }

    fn is_a_refusal(&self) -> Result<(), &'static str> {
        if self.status != 503 {
            return Err("not a refusal for now");
        }
        self.says_when()?;
        if self.body["statusCode"] != 503
            || !self.body["message"].is_string()
            || self.body["error"] != "Service Unavailable"
        {
            return Err("not the gateway's shape");
        }
        Ok(())
    }

    fn says_when(&self) -> Result<(), &'static str> {
        let seconds = self.header(RETRY_AFTER.as_str()).map(str::parse::<u32>);
        match seconds {
            Some(Ok(1..)) => Ok(()),
            _ => Err("no Retry-After in seconds"),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

async fn ask(
    connection: &mut Option<SendRequest<Full<Bytes>>>,
    to: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Option<LoadAnswer> {
    if connection.is_none() {
        *connection = Some(served(TcpStream::connect(to).await.ok()?).await?);
    }
    let sender = connection.as_mut()?;
    sender.ready().await.ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let status = answer.status().as_u16();
    let headers = answer.headers().clone();
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    Some(LoadAnswer {
        status,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

async fn served(stream: TcpStream) -> Option<SendRequest<Full<Bytes>>> {
    let (sender, driver) = handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(driver);
    Some(sender)
}

/// One keep-alive connection from its own address.
pub struct Caller {
    from: IpAddr,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Caller {
    /// Returns a caller without a connection, whose later ones come from this address.
    pub fn from(from: IpAddr) -> Self {
        Self {
            from,
            connection: None,
        }
    }

    /// Sends the request once. Returns whether it was acknowledged, or what is wrong
    /// with the answer; `None` without an answer.
    pub async fn send(
        &mut self,
        to: SocketAddr,
        what: &What,
        id: &str,
    ) -> Option<Result<bool, String>> {
        if self.connection.as_ref().is_none_or(SendRequest::is_closed) {
            let socket = TcpSocket::new_v4().ok()?;
            socket.bind(SocketAddr::new(self.from, 0)).ok()?;
            self.connection = Some(served(socket.connect(to).await.ok()?).await?);
        }
        let answer = ask(&mut self.connection, to, what.request(id)).await?;
        if what.acknowledged(&answer) {
            return Some(Ok(true));
        }
        let refused = what.refused(&answer).map(|()| false);
        Some(refused.map_err(|why| format!("{id}: {why}: {answer:?}")))
    }
}

/// One of some thousand people, always the same one for an id.
fn person(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() % PEOPLE
}

pub fn lead(id: &str) -> Value {
    let person = person(id);
    json!({
        "leadOrigin": "Portal", "timestamp": "2030-01-15T12:00:00.000Z", "originLeadId": id, "clientListingId": "AP-7",
        "name": "Rita Moura", "email": format!("rita.{person}@example.com"), "ddd": "11",
        "phone": format!("9876{person:05}"), "message": "Posso visitar?",
    })
}

/// Sends one lead on a keep-alive connection. Returns whether it was acknowledged;
/// `None` without an answer.
pub async fn post(
    connection: &mut Option<SendRequest<Full<Bytes>>>,
    to: SocketAddr,
    path: &str,
    id: &str,
) -> Option<bool> {
    let request = What::Leads(path.to_owned()).request(id);
    Some(ask(connection, to, request).await?.acknowledges())
}
