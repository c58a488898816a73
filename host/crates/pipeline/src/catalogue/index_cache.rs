//! The indexes in memory, and their bound.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::JoinError;

use crate::prelude::*;
use leadhost_search::Index;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the index exceeds the memory for all indexes: raise search.memory_mib")]
    TooLarge,
    #[error("the index is not loaded yet")]
    Late,
    #[error("a search task failed: {0}")]
    Ended(#[source] JoinError),
}

impl SearchError {
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Store(error) => Self::Store(error.again()),
            Self::TooLarge => Self::TooLarge,
            Self::Late | Self::Ended(_) => Self::Late,
        }
    }
}

pub struct Catalogue {
    /// Bound of all indexes together, in bytes.
    pub(super) bound: usize,
    pub(super) shelves: Mutex<HashMap<WorkspaceId, Arc<Shelf>>>,
    /// Incremented with every search: the order of last uses.
    pub(super) turn: AtomicU64,
    /// Limits concurrent loads and builds.
    pub(super) building: Semaphore,
    /// Limits concurrent searches to one per core.
    pub(super) searching: Semaphore,
}

/// Loads and builds at once: more than one, so that a large workspace does not delay all
/// the others.
const LOADS: usize = 2;

#[derive(Default)]
pub(super) struct Shelf {
    pub(super) cached: Mutex<Option<CachedIndex>>,
    /// Held by the task that reads the feed.
    pub(super) reader: Arc<tokio::sync::Mutex<IndexReader>>,
}

pub(super) struct CachedIndex {
    pub(super) index: Arc<Index>,
    /// The index contains everything that was committed before this moment.
    pub(super) since: Micros,
    pub(super) used: u64,
}

#[derive(Default)]
pub(super) struct IndexReader {
    /// The index contains everything up to this stamp.
    pub(super) seen: i64,
    /// The number of times that the feed was read from its beginning.
    pub(super) loads: u64,
    pub(super) is_building: bool,
    /// An index as of a stamp that was built in one go; the next read continues with it.
    pub(super) built: Option<(Index, i64)>,
    pub(super) failed: Option<(Micros, SearchError)>,
}

impl Catalogue {
    /// Returns a catalogue without indexes. `memory_mib` bounds the indexes of all workspaces
    /// together, in mebibytes.
    pub fn new(memory_mib: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            bound: memory_mib << 20,
            shelves: Mutex::default(),
            turn: AtomicU64::new(0),
            building: Semaphore::new(LOADS),
            searching: Semaphore::new(cores),
        }
    }

    pub(super) fn shelf(&self, workspace: WorkspaceId) -> Arc<Shelf> {
        let mut shelves = hold(&self.shelves);
        Arc::clone(shelves.entry(workspace).or_default())
    }

    /// Drops the least recently used indexes until the rest fits. Returns how many were
    /// dropped, and their bytes.
    pub(super) fn make_room(&self) -> (usize, usize) {
        let shelves = hold(&self.shelves);
        let mut used: Vec<_> = shelves
            .values()
            .filter_map(|shelf| {
                let kept = hold(&shelf.cached);
                let kept = kept.as_ref()?;
                Some((kept.used, kept.index.bytes(), shelf))
            })
            .collect();
        used.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let (mut count, mut bytes) = (0, 0);
        for (_, size, shelf) in used {
            if bytes + size > self.bound {
                *hold(&shelf.cached) = None;
            } else {
                count += 1;
                bytes += size;
            }
        }
        (count, bytes)
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }
}

impl Shelf {
    pub(super) fn index(&self) -> Option<Arc<Index>> {
        let kept = hold(&self.cached);
        kept.as_ref().map(|kept| Arc::clone(&kept.index))
    }

    pub(super) fn fresh(&self, now: Micros, turn: u64) -> Option<Arc<Index>> {
        let mut kept = hold(&self.cached);
        let kept = kept.as_mut()?;
        kept.used = turn;
        let is_young = kept.since.is_recent(now, limits::SEARCH_FRESH_FOR);
        is_young.then(|| Arc::clone(&kept.index))
    }
}

/// Locks the mutex, also after a panic of its holder.
pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
