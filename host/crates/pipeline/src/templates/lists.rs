//! The lists in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_store::TemplateList;
use leadhost_store::singleflight::SingleFlight;

/// The age up to which the store's answer on a list is used.
const FRESH: Duration = Duration::from_secs(1);

/// Bound of the cache. Above it the cache is cleared.
const ENTRIES: usize = 1_000;

#[derive(Default)]
pub struct TemplateCache {
    pub(super) lists: Mutex<HashMap<ConnectionId, (Instant, Arc<TemplateList>)>>,
    pub(super) asked: SingleFlight<ConnectionId, Arc<TemplateList>>,
    /// Limits requests to a provider to one at a time for each instance.
    pub(super) syncing: Mutex<HashMap<ConnectionId, Arc<tokio::sync::Mutex<()>>>>,
}

impl TemplateCache {
    pub fn forget(&self) {
        self.asked.forget();
        self.lists().clear();
    }

    pub(super) fn known(&self, id: &ConnectionId) -> Option<Arc<TemplateList>> {
        let lists = self.lists();
        let (since, list) = lists.get(id)?;
        (since.elapsed() < FRESH).then(|| Arc::clone(list))
    }

    /// Caches a list. A full cache is cleared first.
    pub(super) fn keep(&self, id: &ConnectionId, list: &Arc<TemplateList>) {
        let mut lists = self.lists();
        if lists.len() >= ENTRIES {
            lists.clear();
        }
        lists.insert(id.clone(), (Instant::now(), Arc::clone(list)));
    }

    /// Returns the mutex that an instance's requests to its provider hold, one at a time.
    pub(super) fn turn(&self, id: &ConnectionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if syncing.len() >= ENTRIES {
            syncing.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        Arc::clone(syncing.entry(id.clone()).or_default())
    }

    /// Locks the cache, also after a panic of its holder.
    pub(super) fn lists(
        &self,
    ) -> MutexGuard<'_, HashMap<ConnectionId, (Instant, Arc<TemplateList>)>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
