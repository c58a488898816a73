//! Idle connections, and the number of requests in progress. The connection used last is
//! reused first, so that those left over from a peak grow old and are closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::connection::HttpConnection;
use super::target::RemoteServer;
use leadhost_domain::exchange::{HttpResponse, first};
use leadhost_domain::limits;

/// The idle connections of this process, and the permits for its calls.
pub struct ConnectionPool {
    idle_timeout: Duration,
    calls: Arc<Semaphore>,
    state: Mutex<PoolState>,
    opened: AtomicU64,
    reused: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Connections opened since the start.
    pub opened: u64,
    /// How often a connection was reused since the start.
    pub reused: u64,
    /// Idle connections that are kept now.
    pub idle: usize,
}

#[derive(Default)]
struct PoolState {
    places: HashMap<RemoteServer, RemoteServerState>,
    idle: usize,
    /// A task closes connections that were idle for too long. It ends when none are left.
    is_swept: bool,
}

struct RemoteServerState {
    calls: Arc<Semaphore>,
    idle: Vec<IdleConnection>,
}

struct IdleConnection {
    connection: HttpConnection,
    until: Instant,
}

impl ConnectionPool {
    pub fn new(idle_timeout: Duration) -> Self {
        Self {
            idle_timeout,
            calls: Arc::new(Semaphore::new(limits::EGRESS_CALLS)),
            state: Mutex::default(),
            opened: AtomicU64::new(0),
            reused: AtomicU64::new(0),
        }
    }

    /// Waits until the limits allow one more call. Callers that wait for one remote server do not
    /// block calls to others.
    pub async fn permit(self: &Arc<Self>, place: &RemoteServer) -> CallPermit {
        let calls = {
            let mut state = self.lock();
            if !state.is_swept {
                state.is_swept = true;
                tokio::spawn(sweep(Arc::downgrade(self), self.idle_timeout));
            }
            let far = state
                .places
                .entry(place.clone())
                .or_insert_with(|| RemoteServerState {
                    calls: Arc::new(Semaphore::new(limits::EGRESS_CALLS_PER_PLACE)),
                    idle: Vec::new(),
                });
            Arc::clone(&far.calls)
        };
        const NEVER_CLOSED: &str = "these semaphores are never closed";
        let of_place = calls.acquire_owned().await.expect(NEVER_CLOSED);
        let of_all = Arc::clone(&self.calls).acquire_owned().await;
        CallPermit {
            pool: Arc::clone(self),
            place: place.clone(),
            _of_place: of_place,
            _of_all: of_all.expect(NEVER_CLOSED),
        }
    }

    /// Returns the longest time that an idle connection is kept.
    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Returns how long to keep a connection: at most as long as the `keep-alive` header of
    /// the remote server allows, less a second for the round trip.
    pub fn idle_timeout_after(&self, response: &HttpResponse) -> Duration {
        first(&response.headers, "keep-alive")
            .and_then(|said| {
                said.split(',')
                    .find_map(|part| part.trim().strip_prefix("timeout="))
            })
            .and_then(|seconds| seconds.trim().parse().ok())
            .map_or(self.idle_timeout, |seconds: u64| {
                self.idle_timeout
                    .min(Duration::from_secs(seconds.saturating_sub(1)))
            })
    }

    pub fn count_opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_reused(&self) {
        self.reused.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts since the start, and the number of idle connections now.
    pub fn connections(&self) -> ConnectionCounts {
        ConnectionCounts {
            opened: self.opened.load(Ordering::Relaxed),
            reused: self.reused.load(Ordering::Relaxed),
            idle: self.open(),
        }
    }

    fn open(&self) -> usize {
        let now = Instant::now();
        let state = self.lock();
        let kept = state.places.values().flat_map(|far| &far.idle);
        kept.filter(|kept| !kept.is_over(now)).count()
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permission to make one call.
pub struct CallPermit {
    pool: Arc<ConnectionPool>,
    place: RemoteServer,
    _of_place: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl CallPermit {
    /// Takes the connection that was used last, unless it is closed or too old.
    pub fn take_idle(&self) -> Option<HttpConnection> {
        let mut useless = Vec::new();
        let mut state = self.pool.lock();
        let found = loop {
            let kept = state.places.get_mut(&self.place)?.idle.pop()?;
            state.idle -= 1;
            if kept.is_over(Instant::now()) {
                useless.push(kept);
            } else {
                break kept.connection;
            }
        };
        drop(state);
        Some(found)
    }

    /// Keeps a connection for the next call if there is room for it.
    pub fn keep(&self, connection: HttpConnection, idle_timeout: Duration) {
        let kept = IdleConnection {
            connection,
            until: Instant::now() + idle_timeout,
        };
        let mut state = self.pool.lock();
        if idle_timeout.is_zero() || state.idle >= limits::EGRESS_IDLE {
            return;
        }
        let Some(far) = state.places.get_mut(&self.place) else {
            return;
        };
        if far.idle.len() < limits::EGRESS_IDLE_PER_PLACE {
            far.idle.push(kept);
            state.idle += 1;
        }
    }
}

impl IdleConnection {
    fn is_over(&self, now: Instant) -> bool {
        self.until <= now || self.connection.is_over(now)
    }
}

/// Closes connections that were idle for too long, and forgets remote servers without calls.
async fn sweep(pool: Weak<ConnectionPool>, idle_timeout: Duration) {
    // Prevents a busy loop if no connection is kept.
    const SHORTEST: Duration = Duration::from_millis(10);
    loop {
        tokio::time::sleep(idle_timeout.max(SHORTEST)).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let now = Instant::now();
        let mut over = Vec::new();
        let mut state = pool.lock();
        state.places.retain(|_, far| {
            over.extend(far.idle.extract_if(.., |kept| kept.is_over(now)));
            // A call in progress or a waiting one holds the semaphore too.
            !far.idle.is_empty() || Arc::strong_count(&far.calls) > 1
        });
        state.idle -= over.len();
        let is_done = state.places.is_empty();
        if is_done {
            state.is_swept = false;
        }
        drop(state);
        drop(over);
        if is_done {
            return;
        }
    }
}
