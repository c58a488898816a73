//! A queue in front of work that few may do at once. The queue is bounded too.

use crate::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub struct BoundedQueue {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
}

struct WaitingGuard<'a>(&'a AtomicUsize);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BoundedQueue {
    pub fn new(at_once: usize, most_waiting: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(at_once)),
            waiting: AtomicUsize::new(0),
            most_waiting,
        }
    }

    /// Waits for a turn, which ends when the permit is dropped.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit, LoadError> {
        let guard = WaitingGuard(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.most_waiting {
            return Err(LoadError::Busy {
                waiting: self.most_waiting,
            });
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        drop(guard);
        turn.map_err(|error| LoadError::Host(error.to_string()))
    }
}
