//! Whether the database can be reached, and what its hosts announce.
//!
//! One connection beside the pool listens for announcements and is asked for a
//! word every second. When it falls silent, and no other can be made either,
//! the database counts as lost: verbs are refused at once rather than queued,
//! until it answers again. The log tells of the loss once and of the return once.
//! Whoever connects anew may have missed announcements, and says so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::{Notify, broadcast, watch};

use super::error;
use crate::limits;
use crate::store::{Announcement, Outage, StoreError};

/// The channel of all announcements.
pub const CHANNEL: &str = "leadhost";

// A server that only follows another one takes no writes.
const LOOK: &str = "select pg_is_in_recovery()";

pub struct Reach {
    outage: watch::Sender<Option<Outage>>,
    /// Since when the newest watching connection stands: what is older than that
    /// may be dead.
    back: Mutex<Option<Instant>>,
    announced: broadcast::Sender<Announcement>,
    /// A verb failed in a way that the database's end would explain.
    doubt: Notify,
    asked: AtomicUsize,
    most: usize,
}

/// A verb under way.
pub struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reach {
    /// Begins to watch the database, until the last user of this is gone.
    pub fn watch(self: &Arc<Self>, options: &PgConnectOptions) {
        tokio::spawn(watch_over(Arc::downgrade(self), options.clone()));
    }

    /// At most so many verbs are under way at once.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            outage: watch::Sender::new(None),
            back: Mutex::default(),
            announced: broadcast::Sender::new(limits::ANNOUNCEMENTS_WAITING),
            doubt: Notify::new(),
            asked: AtomicUsize::new(0),
        }
    }

    /// The way in for a verb: refused at once while the database is lost or too
    /// many others are under way.
    pub fn enter(&self) -> Result<Asking<'_>, StoreError> {
        self.is_there()?;
        let asking = self.asked.fetch_add(1, Ordering::Relaxed);
        let asked = Asking(&self.asked);
        if asking >= self.most {
            return Err(StoreError::Busy);
        }
        Ok(asked)
    }

    /// An error while the database is lost.
    pub fn is_there(&self) -> Result<(), StoreError> {
        match &*self.outage.borrow() {
            Some(outage) => Err(StoreError::Lost(outage.reason.clone())),
            None => Ok(()),
        }
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn outage(&self) -> Option<Outage> {
        self.outage.borrow().clone()
    }

    /// Returns when the database is lost, with how a verb hears of it.
    pub async fn lost(&self) -> StoreError {
        let mut watched = self.outage.subscribe();
        // It cannot fail: the sender is self's.
        let _ = watched.wait_for(Option::is_some).await;
        let reason = self.outage().map(|outage| outage.reason);
        StoreError::Lost(reason.unwrap_or_default())
    }

    /// A verb failed: looks at once rather than at the next second.
    pub fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Whether a connection of this age is from before the database was lost.
    pub fn is_of_before(&self, age: Duration) -> bool {
        let back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        back.is_some_and(|back| back.elapsed() < age)
    }

    /// Whether a connection that comes back from a verb is worth a question: one
    /// that is dead and does not know it would keep its place in the pool.
    pub fn may_be_kept(&self, age: Duration) -> bool {
        self.outage.borrow().is_none() && !self.is_of_before(age)
    }

    pub fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announced.subscribe()
    }

    fn say(&self, what: Announcement) {
        // Nobody may be listening yet.
        let _ = self.announced.send(what);
    }

    fn is_lost(&self, reason: String) {
        self.outage.send_if_modified(|outage| {
            if outage.is_some() {
                return false;
            }
            tracing::error!(
                reason,
                "the database is lost: requests are refused until it answers"
            );
            *outage = Some(Outage { reason });
            true
        });
    }

    /// It answers on a new connection. Where that is not the first, those of
    /// before may be dead without knowing it.
    fn answers(&self, first: bool) {
        if !first {
            let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
            *back = Some(Instant::now());
        }
        self.outage.send_if_modified(|outage| {
            let was_lost = outage.take().is_some();
            if was_lost {
                tracing::warn!("the database answers again");
            }
            was_lost
        });
    }
}

async fn watch_over(reach: Weak<Reach>, options: PgConnectOptions) {
    let patience = Duration::from_millis(limits::STORE_ANSWER_MS);
    let mut first = true;
    loop {
        let connected = tokio::time::timeout(patience, connect(&options, patience))
            .await
            .unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut));
        let Some(watched) = reach.upgrade() else {
            return;
        };
        match connected {
            Ok((listener, None)) => {
                watched.answers(first);
                first = false;
                watched.say(Announcement::Everything);
                drop(watched);
                match listen(&reach, listener, &options, patience).await {
                    None => return,
                    // It may be this connection alone: the next one decides.
                    Some(Heard::Ended) => continue,
                    Some(Heard::Nothing) => {
                        let Some(watched) = reach.upgrade() else {
                            return;
                        };
                        watched.is_lost(silence(patience));
                        continue;
                    }
                }
            }
            Ok((_, Some(reason))) => watched.is_lost(reason),
            // The server is well and has no place for one more.
            Err(error) if error::code(&error) == Some("53300") => {}
            Err(sqlx::Error::PoolTimedOut) => {
                watched.is_lost(silence(patience));
            }
            Err(error) => watched.is_lost(error.to_string()),
        }
        drop(watched);
        tokio::time::sleep(Duration::from_millis(limits::STORE_AGAIN_MS)).await;
    }
}

fn silence(patience: Duration) -> String {
    format!("no answer within {} ms", patience.as_millis())
}

/// How listening came to an end.
enum Heard {
    /// The connection failed, or another one was made where it fell silent.
    Ended,
    /// Neither it nor another one answers.
    Nothing,
}

/// A connection that listens; with why it does not count as the database.
async fn connect(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<(PgListener, Option<String>), sqlx::Error> {
    // A pool of one that only makes the connection, and each time another one: a
    // connection that fell silent keeps its place until the system gives it up.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(patience)
        .test_before_acquire(false)
        .connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    let follows = look(&mut listener).await?;
    let reason =
        follows.then(|| "the server only follows another one: it takes no writes".to_owned());
    Ok((listener, reason))
}

async fn look(listener: &mut PgListener) -> Result<bool, sqlx::Error> {
    sqlx::query(LOOK).fetch_one(listener).await?.try_get(0)
}

/// Until the connection ends, or nobody is interested: `None`. When it falls silent,
/// another one is tried beside it: a database that stands still is found out in the
/// time of one answer, and one that is only slow has all of that time.
async fn listen(
    reach: &Weak<Reach>,
    mut listener: PgListener,
    options: &PgConnectOptions,
    patience: Duration,
) -> Option<Heard> {
    loop {
        let watched = reach.upgrade()?;
        tokio::select! {
            heard = listener.try_recv() => match heard {
                Ok(Some(heard)) => watched.say(Announcement::of(heard.payload())),
                Ok(None) | Err(_) => return Some(Heard::Ended),
            },
            () = async {
                tokio::select! {
                    () = watched.doubt.notified() => {}
                    () = tokio::time::sleep(Duration::from_millis(limits::STORE_LOOK_MS)) => {}
                }
            } => {
                // In another select, a notice that came half-way would be lost with its future.
                let looked = tokio::time::timeout(patience, async {
                    tokio::select! {
                        looked = look(&mut listener) => matches!(looked, Ok(false)),
                        () = another(options, patience) => false,
                    }
                });
                match looked.await {
                    Ok(true) => {}
                    Ok(false) => return Some(Heard::Ended),
                    Err(_) => return Some(Heard::Nothing),
                }
            }
        }
    }
}

/// Returns when a new connection stands, made after a look has had some time.
async fn another(options: &PgConnectOptions, patience: Duration) {
    tokio::time::sleep(patience / 3).await;
    if connect(options, patience).await.is_err() {
        // The look has the rest of its time.
        std::future::pending::<()>().await;
    }
}

pub(super) const SQL: &[&str] = &[LOOK];
