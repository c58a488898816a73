//! Watches whether the database can be reached, and receives the announcements of its hosts.
//!
//! One connection beside the pool listens for announcements and is checked every second. If it
//! stops answering and no new connection can be made, the database counts as lost: operations
//! are refused at once instead of queued, until it answers again. The loss is logged once and
//! the return is logged once. A new connection may have missed announcements, so it announces
//! [`Announcement::Everything`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, Weak};
use std::time::Instant;

use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::{Notify, broadcast, watch};

use super::error;
use crate::prelude::*;
use crate::{Announcement, Outage};

/// The channel of all announcements.
pub const CHANNEL: &str = "leadhost";

// A standby accepts no writes.
const LOOK: &str = "select pg_is_in_recovery()";

pub struct Health {
    outage: watch::Sender<Option<Outage>>,
    /// When the newest watching connection was made. Older connections may be dead.
    back: Mutex<Option<Instant>>,
    announced: broadcast::Sender<Announcement>,
    /// Signals that an operation failed in a way that an outage would explain.
    doubt: Notify,
    asked: AtomicUsize,
    most: usize,
}

/// An operation under way.
pub struct OperationPermit<'a>(&'a AtomicUsize);

impl Drop for OperationPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Health {
    /// Starts to watch the database, until the last user of this value is gone.
    pub fn watch(self: &Arc<Self>, options: &PgConnectOptions) {
        tokio::spawn(watch_over(Arc::downgrade(self), options.clone()));
    }

    /// At most `most` operations run at the same time.
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

    pub fn enter(&self) -> Result<OperationPermit<'_>, StoreError> {
        self.is_there()?;
        let asking = self.asked.fetch_add(1, Ordering::Relaxed);
        let asked = OperationPermit(&self.asked);
        if asking >= self.most {
            return Err(StoreError::Busy);
        }
        Ok(asked)
    }

    pub fn is_there(&self) -> Result<(), StoreError> {
        match &*self.outage.borrow() {
            Some(outage) => Err(StoreError::Lost(outage.reason.clone())),
            None => Ok(()),
        }
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the outage. `None` while the database answers.
    pub fn outage(&self) -> Option<Outage> {
        self.outage.borrow().clone()
    }

    /// Waits until the database is lost, and returns the error that operations get.
    pub async fn lost(&self) -> StoreError {
        let mut watched = self.outage.subscribe();
        // This cannot fail: the sender belongs to `self`.
        let _ = watched.wait_for(Option::is_some).await;
        let reason = self.outage().map(|outage| outage.reason);
        StoreError::Lost(reason.unwrap_or_default())
    }

    /// An operation failed: checks the database at once instead of at the next interval.
    pub fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Returns whether a connection of this age is older than the last loss of the database.
    pub fn is_of_before(&self, age: Duration) -> bool {
        let back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        back.is_some_and(|back| back.elapsed() < age)
    }

    /// Returns whether a released connection may stay in the pool. A dead connection that was
    /// not noticed would keep its place.
    pub fn may_be_reused(&self, age: Duration) -> bool {
        self.outage.borrow().is_none() && !self.is_of_before(age)
    }

    /// Returns a receiver of the announcements of all hosts from now on.
    pub fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announced.subscribe()
    }

    fn say(&self, what: Announcement) {
        // There may be no receiver yet.
        let _ = self.announced.send(what);
    }

    fn is_lost(&self, reason: String) {
        self.outage.send_if_modified(|outage| {
            if outage.is_some() {
                return false;
            }
            tracing::error!(
                reason,
                "store unreachable, requests are refused until it answers"
            );
            *outage = Some(Outage { reason });
            true
        });
    }

    /// The database answers on a new connection. If that is not the first one, earlier
    /// connections may be dead without having noticed.
    fn answers(&self, first: bool) {
        if !first {
            let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
            *back = Some(Instant::now());
        }
        self.outage.send_if_modified(|outage| {
            let was_lost = outage.take().is_some();
            if was_lost {
                tracing::warn!("store reachable again");
            }
            was_lost
        });
    }
}

async fn watch_over(health: Weak<Health>, options: PgConnectOptions) {
    let patience = limits::STORE_ANSWER_PATIENCE;
    let mut first = true;
    loop {
        let connected = tokio::time::timeout(patience, connect(&options, patience))
            .await
            .unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut));
        let Some(watched) = health.upgrade() else {
            return;
        };
        match connected {
            Ok((listener, None)) => {
                watched.answers(first);
                first = false;
                watched.say(Announcement::Everything);
                drop(watched);
                match listen(&health, listener, &options, patience).await {
                    None => return,
                    // Only this connection may be affected: the next one decides.
                    Some(ListenEnd::Ended) => continue,
                    Some(ListenEnd::Nothing) => {
                        let Some(watched) = health.upgrade() else {
                            return;
                        };
                        watched.is_lost(silence(patience));
                        continue;
                    }
                }
            }
            Ok((_, Some(reason))) => watched.is_lost(reason),
            // The server works but has no free connection.
            Err(error) if error::code(&error) == Some("53300") => {}
            Err(sqlx::Error::PoolTimedOut) => {
                watched.is_lost(silence(patience));
            }
            Err(error) => watched.is_lost(error.to_string()),
        }
        drop(watched);
        tokio::time::sleep(limits::STORE_AGAIN_AFTER).await;
    }
}

fn silence(patience: Duration) -> String {
    format!("no answer within {} ms", patience.as_millis())
}

/// Why listening ended.
enum ListenEnd {
    /// The connection failed, or it stopped answering and a new one could be made.
    Ended,
    /// Neither this connection nor a new one answers.
    Nothing,
}

/// Opens a connection that listens. Also returns the reason if it cannot be used as the
/// database.
async fn connect(
    options: &PgConnectOptions,
    patience: Duration,
) -> Result<(PgListener, Option<String>), sqlx::Error> {
    // A pool of one that only makes the connection, and a new pool each time: a connection that
    // stopped answering keeps its place until the system gives it up.
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
    let reason = follows.then(|| "the server is a standby and accepts no writes".to_owned());
    Ok((listener, reason))
}

async fn look(listener: &mut PgListener) -> Result<bool, sqlx::Error> {
    sqlx::query(LOOK).fetch_one(listener).await?.try_get(0)
}

/// Listens until the connection ends. Returns `None` if there are no more users. If the
/// connection stops answering, another one is tried beside it, so that a database that hangs is
/// detected within the time of one answer, while a slow one has all of that time.
async fn listen(
    health: &Weak<Health>,
    mut listener: PgListener,
    options: &PgConnectOptions,
    patience: Duration,
) -> Option<ListenEnd> {
    loop {
        let watched = health.upgrade()?;
        tokio::select! {
            received = listener.try_recv() => match received {
                Ok(Some(received)) => {
                    let known = Announcement::from_text(received.payload());
                    // Only newer hosts know the others.
                    watched.say(known.unwrap_or(Announcement::Everything));
                }
                Ok(None) | Err(_) => return Some(ListenEnd::Ended),
            },
            () = async {
                tokio::select! {
                    () = watched.doubt.notified() => {}
                    () = tokio::time::sleep(limits::STORE_LOOK_EVERY) => {}
                }
            } => {
                // In another select, a notification that was half received would be lost with
                // its future.
                let looked = tokio::time::timeout(patience, async {
                    tokio::select! {
                        looked = look(&mut listener) => matches!(looked, Ok(false)),
                        () = another(options, patience) => false,
                    }
                });
                match looked.await {
                    Ok(true) => {}
                    Ok(false) => return Some(ListenEnd::Ended),
                    Err(_) => return Some(ListenEnd::Nothing),
                }
            }
        }
    }
}

/// Returns when a new connection has been made. Waits first, to give the check some time.
async fn another(options: &PgConnectOptions, patience: Duration) {
    tokio::time::sleep(patience / 3).await;
    if connect(options, patience).await.is_err() {
        // The check has the rest of its time.
        std::future::pending::<()>().await;
    }
}

pub(super) const SQL: &[&str] = &[LOOK];
