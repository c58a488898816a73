//! Senders that post numbered leads and remember every answer, and the reckoning
//! afterwards: what was acknowledged is in the export, each lead once.
//!
//! A sender is a portal's: one keep-alive connection, one lead at a time, and a
//! lead that got no answer is unsure. What it does then is the test's to say.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::Method;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::RETRY_AFTER;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::client::Ask;

/// A request that has no answer by then never gets one.
const HOPELESS: Duration = Duration::from_secs(120);

/// Between a refusal and the next try: a sender with little patience.
const IMPATIENCE: Duration = Duration::from_millis(20);

/// Between two looks at what the senders have done.
const LOOK: Duration = Duration::from_millis(2);

/// People who send leads: few enough that leads of one person meet.
const PEOPLE: u64 = 20_000;

/// Where leads go: hosts come and go while they are sent.
#[derive(Clone, Default)]
pub struct Targets(Arc<RwLock<Vec<SocketAddr>>>);

impl Targets {
    pub fn new(hosts: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self(Arc::new(RwLock::new(hosts.into_iter().collect())))
    }

    /// A host is somewhere else by now.
    pub fn replace(&self, place: usize, host: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner)[place] = host;
    }

    /// One of them, in turn.
    pub fn pick(&self, turn: usize) -> SocketAddr {
        let hosts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        hosts[turn % hosts.len()]
    }
}

/// What a sender does with a lead that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unacknowledged {
    /// It ends.
    End,
    /// It sends it again, to the next host, until it is acknowledged.
    Again,
    /// It goes on with the next lead.
    Next,
}

/// What is sent, and by how many.
pub struct Plan {
    pub targets: Targets,
    /// Of the connection that takes it: `/ingest-lead/...`
    pub path: String,
    /// With what the ids of this load's leads begin.
    pub name: String,
    pub senders: usize,
    pub unacknowledged: Unacknowledged,
    /// Leads of before that are sent first, one by each sender.
    pub first: Vec<String>,
}

/// One request, answered or not.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub id: String,
    /// None: no answer.
    pub status: Option<u16>,
    pub began: Instant,
    pub took: Duration,
}

/// What came of a load.
#[derive(Default)]
pub struct Sent {
    pub acknowledged: BTreeSet<String>,
    /// Not acknowledged in the end, and perhaps there all the same.
    pub unsure: Vec<String>,
    /// In the order of their ends, for each sender.
    pub attempts: Vec<Attempt>,
    /// Answers that break the interface.
    pub wrong: Vec<String>,
}

/// Senders at work.
pub struct Load {
    ended: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    senders: Vec<JoinHandle<Sent>>,
}

impl Load {
    pub fn start(plan: Plan) -> Self {
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
                    sent: Sent::default(),
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

    /// Leads acknowledged so far.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Requests answered with something else so far.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// Waits until so many leads are acknowledged.
    ///
    /// # Panics
    /// When that takes far too long, or all senders ended before.
    pub async fn reaches(&self, count: usize) {
        self.sees("acknowledged leads", count, || self.acknowledged())
            .await;
    }

    /// Waits for so many acknowledged leads more.
    ///
    /// # Panics
    /// As [`Load::reaches`].
    pub async fn goes_on(&self, by: usize) {
        self.reaches(self.acknowledged() + by).await;
    }

    /// Waits until so many requests were refused.
    ///
    /// # Panics
    /// As [`Load::reaches`].
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

    /// Lets the senders end what they have in hand; all that they saw.
    pub async fn stop(self) -> Sent {
        self.ended.store(true, Ordering::Relaxed);
        let mut all = Sent::default();
        for sender in self.senders {
            all = all.with(sender.await.expect("a sender ends by itself"));
        }
        all
    }
}

impl Sent {
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.acknowledged.extend(other.acknowledged);
        self.unsure.extend(other.unsure);
        self.attempts.extend(other.attempts);
        self.wrong.extend(other.wrong);
        self
    }

    /// Requests that were answered so.
    pub fn count(&self, status: u16) -> usize {
        let attempts = self.attempts.iter();
        attempts
            .filter(|attempt| attempt.status == Some(status))
            .count()
    }

    /// The longest that any request took.
    pub fn slowest(&self) -> Duration {
        let attempts = self.attempts.iter();
        attempts
            .map(|attempt| attempt.took)
            .max()
            .unwrap_or_default()
    }

    /// How long the acknowledged ones took: of a hundred, so many were faster.
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

    /// When the first lead was acknowledged that was sent after a moment.
    pub fn first_acknowledged_after(&self, moment: Instant) -> Option<Instant> {
        let attempts = self.attempts.iter();
        attempts
            .filter(|attempt| attempt.status == Some(200) && attempt.began >= moment)
            .map(|attempt| attempt.began + attempt.took)
            .min()
    }

    /// Every answer was one of the interface's.
    ///
    /// # Panics
    /// When one was not.
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
    plan: Arc<Plan>,
    ended: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    connection: Option<SendRequest<Full<Bytes>>>,
    sent: Sent,
}

impl Sender {
    async fn run(mut self) -> Sent {
        let plan = Arc::clone(&self.plan);
        let again = plan.first.get(self.number).cloned();
        let number = self.number;
        let fresh = (0..).map(|n| format!("{}-{number}-{n}", plan.name));
        for id in again.into_iter().chain(fresh) {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            if !self.lead(&id).await {
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
            let again = self.plan.unacknowledged == Unacknowledged::Again;
            if self.plan.unacknowledged != Unacknowledged::End {
                self.turn += 1;
                self.connection = None;
                tokio::time::sleep(IMPATIENCE).await;
            }
            if !again || self.ended.load(Ordering::Relaxed) {
                return false;
            }
        }
    }

    async fn attempt(&mut self, id: &str) -> bool {
        let began = Instant::now();
        let to = self.plan.targets.pick(self.turn);
        let asked = ask(&mut self.connection, to, &self.plan.path, id);
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
            Some(answer) if answer.acknowledges() => true,
            Some(answer) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                if let Err(why) = answer.is_a_refusal() {
                    self.sent.wrong.push(format!("{id}: {why}: {answer:?}"));
                }
                false
            }
        }
    }
}

/// What a sender was told.
#[derive(Debug)]
struct Told {
    status: u16,
    retry_after: Option<String>,
    body: Value,
}

impl Told {
    fn acknowledges(&self) -> bool {
        self.status == 200
            && ["converted", "duplicate", "queued"]
                .iter()
                .any(|status| self.body["status"] == *status)
    }

    /// Refused for now, in the shape that the gateway's errors have.
    fn is_a_refusal(&self) -> Result<(), &'static str> {
        if self.status != 503 {
            return Err("not a refusal for now");
        }
        let seconds = self.retry_after.as_deref().map(str::parse::<u32>);
        if !matches!(seconds, Some(Ok(1..))) {
            return Err("no Retry-After in seconds");
        }
        if self.body["statusCode"] != 503
            || !self.body["message"].is_string()
            || self.body["error"] != "Service Unavailable"
        {
            return Err("not the gateway's shape");
        }
        Ok(())
    }
}

async fn ask(
    connection: &mut Option<SendRequest<Full<Bytes>>>,
    to: SocketAddr,
    path: &str,
    id: &str,
) -> Option<Told> {
    if connection.is_none() {
        let stream = TcpStream::connect(to).await.ok()?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(driver);
        *connection = Some(sender);
    }
    let request = hyper::Request::post(path)
        .header("host", "leadhost.test")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(lead(id).to_string())))
        .expect("a request");
    let sender = connection.as_mut()?;
    sender.ready().await.ok()?;
    let answer = sender.send_request(request).await.ok()?;
    let status = answer.status().as_u16();
    let retry_after = answer
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| Some(value.to_str().ok()?.to_owned()));
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    Some(Told {
        status,
        retry_after,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// A portal's lead, of one of some thousand people.
fn lead(id: &str) -> Value {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let person = hasher.finish() % PEOPLE;
    json!({
        "leadOrigin": "Portal", "timestamp": "2030-01-15T12:00:00.000Z", "originLeadId": id, "clientListingId": "AP-7",
        "name": "Rita Moura", "email": format!("rita.{person}@example.com"), "ddd": "11",
        "phone": format!("9876{person:05}"), "message": "Posso visitar?",
    })
}

/// Sends one lead on a keep-alive connection: whether it was acknowledged; none
/// without an answer.
pub async fn post(
    connection: &mut Option<SendRequest<Full<Bytes>>>,
    to: SocketAddr,
    path: &str,
    id: &str,
) -> Option<bool> {
    Some(ask(connection, to, path, id).await?.acknowledges())
}

/// How often each external id is in the export of deals.
pub async fn export(to: SocketAddr, key: &str) -> BTreeMap<String, usize> {
    let mut deals = BTreeMap::new();
    for (id, _) in rows(to, key).await {
        *deals.entry(id).or_insert(0) += 1;
    }
    deals
}

/// Every row of the export of deals: external id and stamp.
async fn rows(to: SocketAddr, key: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let from = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let target = format!("/v1/export/deals?limit=1000{from}");
        let page = Ask::new(to, Method::GET, &target)
            .header("authorization", &format!("Bearer {key}"))
            .send()
            .await
            .expect(200)
            .json();
        read_page(&page, &mut rows);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return rows,
        }
    }
}

fn read_page(page: &Value, rows: &mut Vec<(String, String)>) {
    for row in page["data"].as_array().expect("rows") {
        let text = |name: &str| row[name].as_str().expect("a text").to_owned();
        rows.push((text("external_id"), text("cursor_at")));
    }
}

/// Waits until everything acknowledged is in the export: what was answered
/// `queued` is converted soon after.
///
/// # Panics
/// When something acknowledged does not come, or something came twice.
pub async fn assert_each_once(to: SocketAddr, key: &str, acknowledged: &BTreeSet<String>) {
    let end = Instant::now() + HOPELESS / 8;
    loop {
        let deals = export(to, key).await;
        let twice: Vec<_> = deals.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "leads that came twice: {twice:?}");
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|id| !deals.contains_key(*id))
            .collect();
        if lost.is_empty() {
            return;
        }
        assert!(
            Instant::now() < end,
            "{} of {} acknowledged leads are lost: {lost:?}",
            lost.len(),
            acknowledged.len()
        );
        tokio::time::sleep(LOOK * 100).await;
    }
}

/// A data client that follows the deals: it asks again and again from the
/// greatest stamp that it has seen, whichever host answers.
pub struct Follower {
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeMap<String, String>>>,
    task: JoinHandle<()>,
}

impl Follower {
    pub fn start(targets: Targets, key: &str) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let task = tokio::spawn(follow(
            targets,
            key.to_owned(),
            Arc::clone(&ended),
            Arc::clone(&seen),
        ));
        Self { ended, seen, task }
    }

    /// Ends it: what it has seen is all that there is, as a full export has it.
    ///
    /// # Panics
    /// When a row was passed over.
    pub async fn assert_saw_all(self, to: SocketAddr, key: &str) {
        let all = rows(to, key).await;
        let last = all.iter().map(|(_, stamp)| stamp.clone()).max();
        crate::until("the follower comes to the end", async || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            (seen.values().max() >= last.as_ref()).then_some(())
        })
        .await;
        self.ended.store(true, Ordering::Relaxed);
        self.task.await.expect("the follower ends by itself");
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let passed: Vec<_> = all
            .iter()
            .filter(|(id, stamp)| seen.get(id).is_none_or(|seen| seen < stamp))
            .collect();
        assert!(
            passed.is_empty(),
            "{} of {} rows were passed over: {passed:?}",
            passed.len(),
            all.len()
        );
    }
}

async fn follow(
    targets: Targets,
    key: String,
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeMap<String, String>>>,
) {
    let mut since = String::new();
    let mut cursor = None::<String>;
    let mut turn = 0;
    while !ended.load(Ordering::Relaxed) {
        let from = match &cursor {
            Some(cursor) => format!("&cursor={cursor}"),
            None if since.is_empty() => String::new(),
            None => format!("&updated_since={since}"),
        };
        let target = format!("/v1/export/deals?limit=1000{from}");
        turn += 1;
        let page = Ask::new(targets.pick(turn), Method::GET, &target)
            .header("authorization", &format!("Bearer {key}"))
            .try_send();
        // A host that is down or has no database is asked again, as is the next one.
        let page = tokio::time::timeout(HOPELESS / 8, page).await;
        if let Ok(Some(answer)) = page
            && answer.status == 200
        {
            let page = answer.json();
            let mut rows = Vec::new();
            read_page(&page, &mut rows);
            if let Some((_, stamp)) = rows.last() {
                since.clone_from(stamp);
            }
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(rows);
            cursor = page["next_cursor"].as_str().map(str::to_owned);
        }
        if cursor.is_none() {
            tokio::time::sleep(LOOK * 50).await;
        }
    }
}
