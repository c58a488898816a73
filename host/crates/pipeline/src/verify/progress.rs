//! The progress of the verifications of this host, for those who wait for one. They are few:
//! `limits::VERIFICATIONS_AT_ONCE`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use tokio::time::Instant;

#[derive(Default)]
pub struct Verifications {
    running: Mutex<Vec<Arc<Progress>>>,
}

pub struct Progress {
    pub name: String,
    pub candidate: Digest,
    pub since: Micros,
    deadline: Instant,
    chosen: AtomicU64,
    done: AtomicU64,
}

pub struct Running<'a> {
    among: &'a Verifications,
    progress: Arc<Progress>,
}

impl Verifications {
    pub fn begin(
        &self,
        name: &str,
        candidate: &Digest,
        since: Micros,
        deadline: Instant,
    ) -> Running<'_> {
        let progress = Arc::new(Progress {
            name: name.to_owned(),
            candidate: candidate.clone(),
            since,
            deadline,
            chosen: AtomicU64::new(0),
            done: AtomicU64::new(0),
        });
        self.running().push(Arc::clone(&progress));
        Running {
            among: self,
            progress,
        }
    }

    /// Returns the verifications that run now, in the order in which they began.
    pub fn list(&self) -> Vec<Arc<Progress>> {
        self.running().clone()
    }

    fn running(&self) -> MutexGuard<'_, Vec<Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Returns how many deliveries were chosen. Zero while they are being chosen.
    pub fn chosen(&self) -> u64 {
        self.chosen.load(Ordering::Relaxed)
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl Running<'_> {
    pub fn chose(&self, many: usize) {
        self.progress.chosen.store(many as u64, Ordering::Relaxed);
    }

    pub fn one_done(&self) {
        self.progress.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let own = |one: &Arc<Progress>| Arc::ptr_eq(one, &self.progress);
        self.among.running().retain(|one| !own(one));
    }
}
