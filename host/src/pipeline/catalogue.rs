//! The indexes of product names, one for each workspace that is searched. Each is
//! loaded when somebody searches first, follows the feed of products, which is
//! asked at most once a second, and is forgotten, the longest unused first, when
//! all of them together pass their bound of memory.
//!
//! Who searches sees what was committed a second ago, on whichever host. One
//! task at a time reads a workspace's feed, and goes on when nobody waits for it
//! any more; everybody else waits for what it finds. Loads and builds happen on
//! threads that do not serve, two at a time, since one takes a few times the room
//! of what it makes. A feed whose clock went back is another feed: it is read
//! from its beginning.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::task::JoinError;

use crate::app::App;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::limits;
use crate::search::{Found, Gathering, Index, Term};
use crate::store::{ProductChange, StoreError};

/// Why nothing could be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the index takes more than all may take together: raise search.memory_mib")]
    TooLarge,
    #[error("the index is not loaded yet")]
    Late,
    #[error("a task of the search did not end: {0}")]
    Ended(#[source] JoinError),
}

impl SearchError {
    /// For another one who waited.
    fn again(&self) -> Self {
        match self {
            Self::Store(error) => Self::Store(error.again()),
            Self::TooLarge => Self::TooLarge,
            Self::Late | Self::Ended(_) => Self::Late,
        }
    }
}

pub struct Catalogue {
    /// Bytes of all indexes together.
    bound: usize,
    shelves: Mutex<HashMap<WorkspaceId, Arc<Shelf>>>,
    /// Grows with every search: what was used when.
    turn: AtomicU64,
    /// For who loads or builds.
    building: Semaphore,
    /// For who searches: a core each.
    searching: Semaphore,
}

/// Loads and builds at once: more than one, so that a large workspace does not
/// make all the others wait.
const LOADS: usize = 2;

/// The place of one workspace's index.
#[derive(Default)]
struct Shelf {
    kept: Mutex<Option<Kept>>,
    /// Held by the one who reads the feed.
    reader: Arc<tokio::sync::Mutex<Reader>>,
}

struct Kept {
    index: Arc<Index>,
    /// What was committed before this moment is in it.
    since: Micros,
    used: u64,
}

#[derive(Default)]
struct Reader {
    /// Everything up to this stamp is in the index.
    seen: i64,
    /// How often the feed was read from its beginning.
    loads: u64,
    is_building: bool,
    /// The index as it was at a stamp, built in one go: the next to follow with.
    built: Option<(Index, i64)>,
    failed: Option<(Micros, SearchError)>,
}

impl Catalogue {
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

    fn shelf(&self, workspace: WorkspaceId) -> Arc<Shelf> {
        let mut shelves = hold(&self.shelves);
        Arc::clone(shelves.entry(workspace).or_default())
    }

    /// Forgets the longest unused until all that are left fit; how many, and their bytes.
    fn make_room(&self) -> (usize, usize) {
        let shelves = hold(&self.shelves);
        let mut used: Vec<_> = shelves
            .values()
            .filter_map(|shelf| {
                let kept = hold(&shelf.kept);
                let kept = kept.as_ref()?;
                Some((kept.used, kept.index.bytes(), shelf))
            })
            .collect();
        used.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let (mut count, mut bytes) = (0, 0);
        for (_, size, shelf) in used {
            if bytes + size > self.bound {
                *hold(&shelf.kept) = None;
            } else {
                count += 1;
                bytes += size;
            }
        }
        (count, bytes)
    }

    fn turn(&self) -> u64 {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }
}

impl Shelf {
    fn index(&self) -> Option<Arc<Index>> {
        let kept = hold(&self.kept);
        kept.as_ref().map(|kept| Arc::clone(&kept.index))
    }

    /// The index, where the feed was asked within the second.
    fn fresh(&self, now: Micros, turn: u64) -> Option<Arc<Index>> {
        let mut kept = hold(&self.kept);
        let kept = kept.as_mut()?;
        kept.used = turn;
        let is_young = kept.since.is_recent(now, limits::SEARCH_FRESH_MICROS);
        is_young.then(|| Arc::clone(&kept.index))
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those of a workspace's products that the term finds, from this place on and at
/// most so many, and how many there are.
pub async fn search(
    app: &Arc<App>,
    workspace: WorkspaceId,
    term: Term,
    from: u64,
    count: usize,
) -> Result<Found, SearchError> {
    let started = Instant::now();
    let result = search_fresh(app, workspace, term, from, count).await;
    let outcome = match &result {
        Ok(found) if found.total == 0 => "nothing",
        Ok(_) => "found",
        Err(SearchError::TooLarge) => "too_large",
        Err(SearchError::Late) => "loading",
        Err(SearchError::Store(_) | SearchError::Ended(_)) => "failed",
    };
    app.metrics
        .searched(outcome, started.elapsed().as_secs_f64());
    result
}

async fn search_fresh(
    app: &Arc<App>,
    workspace: WorkspaceId,
    term: Term,
    from: u64,
    count: usize,
) -> Result<Found, SearchError> {
    let patience = Duration::from_secs(limits::SEARCH_WAIT_SECONDS);
    let index = tokio::time::timeout(patience, index(app, workspace));
    let index = index.await.map_err(|_| SearchError::Late)??;
    let searching = app.pipeline.catalogue.searching.acquire();
    let permit = searching.await.expect("it is never closed");
    let found = off_thread(move || index.search(&term, from, count)).await;
    drop(permit);
    found
}

/// The workspace's index as the feed was within the last second.
async fn index(app: &Arc<App>, workspace: WorkspaceId) -> Result<Arc<Index>, SearchError> {
    let catalogue = &app.pipeline.catalogue;
    let shelf = catalogue.shelf(workspace);
    let fresh = || shelf.fresh(app.clock.now(), catalogue.turn());
    if let Some(index) = fresh() {
        return Ok(index);
    }
    let mut reader = Arc::clone(&shelf.reader).lock_owned().await;
    if let Some(index) = fresh() {
        return Ok(index);
    }
    if let Some(error) = reader.failure(app.clock.now()) {
        return Err(error);
    }
    let (task_app, task_shelf) = (Arc::clone(app), Arc::clone(&shelf));
    // It goes on when nobody waits any more: the next one finds it done.
    let reading = tokio::spawn(async move {
        let (app, shelf) = (task_app, task_shelf);
        let result = follow(&app, workspace, &shelf, &mut reader).await;
        reader.failed = result.as_ref().err().map(|error| {
            let since = app.clock.now();
            (since, error.again())
        });
        rebuild_if_worn(&app, workspace, &shelf, reader);
        result
    });
    reading.await.map_err(SearchError::Ended)?
}

impl Reader {
    /// A failure that is so young that trying again is of no use.
    fn failure(&self, now: Micros) -> Option<SearchError> {
        let (since, error) = self.failed.as_ref()?;
        let most = match error {
            SearchError::TooLarge => limits::SEARCH_REFUSED_MICROS,
            _ => limits::SEARCH_FRESH_MICROS,
        };
        since.is_recent(now, most).then(|| error.again())
    }
}

/// Reads the feed to its end, from where the index is or from its beginning, and
/// puts the index of that on its shelf.
async fn follow(
    app: &Arc<App>,
    workspace: WorkspaceId,
    shelf: &Shelf,
    reader: &mut Reader,
) -> Result<Arc<Index>, SearchError> {
    let catalogue = &app.pipeline.catalogue;
    let since = app.clock.now();
    let index = match shelf.index() {
        Some(index) => catch_up(app, workspace, index, reader).await?,
        None => None,
    };
    let index = match index {
        Some(index) => index,
        None => {
            *hold(&shelf.kept) = None;
            reader.built = None;
            load(app, workspace, reader).await?
        }
    };
    if index.bytes() > catalogue.bound {
        *hold(&shelf.kept) = None;
        make_room(app);
        refuse(app, workspace);
        return Err(SearchError::TooLarge);
    }
    *hold(&shelf.kept) = Some(Kept {
        index: Arc::clone(&index),
        since,
        used: catalogue.turn(),
    });
    make_room(app);
    Ok(index)
}

fn make_room(app: &App) {
    let (indexes, bytes) = app.pipeline.catalogue.make_room();
    app.metrics.search_indexes(indexes, bytes);
}

fn refuse(app: &App, workspace: WorkspaceId) {
    tracing::warn!(
        %workspace,
        memory_mib = app.config.search.memory_mib,
        "the products of a workspace cannot be searched: their index takes more than all indexes may; raise search.memory_mib"
    );
}

/// The index with what came since; `None`: it has to be loaded anew.
async fn catch_up(
    app: &App,
    workspace: WorkspaceId,
    index: Arc<Index>,
    reader: &mut Reader,
) -> Result<Option<Arc<Index>>, SearchError> {
    let built = reader.built.take();
    let (index, mut seen) = match built {
        Some((index, seen)) => (Arc::new(index), seen),
        None => (index, reader.seen),
    };
    let mut changes = Vec::new();
    loop {
        let rows = limits::SEARCH_LOAD_ROWS;
        let page = app.store.product_changes(workspace, seen, rows).await?;
        if page.clock < seen && app.store.may_lag() {
            // What is not there yet comes.
            break;
        }
        if page.clock < seen || page.misses_removals(seen) {
            tracing::info!(%workspace, "the feed of products is not the one that the index followed: it is loaded anew");
            return Ok(None);
        }
        let is_last = page.changes.len() < rows as usize;
        seen = end_of(&page.changes, page.clock, is_last);
        changes.extend(page.changes);
        if is_last {
            break;
        }
        if changes.len() > limits::SEARCH_CHANGES {
            return Ok(None);
        }
    }
    let index = if changes.is_empty() {
        index
    } else {
        let changed = off_thread(move || {
            let changes = changes.iter();
            index.changed(changes.map(|change| (change.id, change.name.as_deref())))
        });
        Arc::new(changed.await?)
    };
    reader.seen = seen;
    Ok(Some(index))
}

fn end_of(changes: &[ProductChange], clock: i64, is_last: bool) -> i64 {
    match changes.last() {
        Some(change) if !is_last => change.stamp,
        _ => clock,
    }
}

async fn load(
    app: &App,
    workspace: WorkspaceId,
    reader: &mut Reader,
) -> Result<Arc<Index>, SearchError> {
    let building = app.pipeline.catalogue.building.acquire();
    let permit = building.await.expect("it is never closed");
    let started = Instant::now();
    let deadline = Duration::from_secs(limits::SEARCH_LOAD_SECONDS);
    let loaded = tokio::time::timeout(deadline, gather(app, workspace)).await;
    let (index, seen) = loaded.unwrap_or_else(|_| {
        tracing::warn!(%workspace, "the products of a workspace could not be loaded in time for searching");
        Err(SearchError::Late)
    })?;
    drop(permit);
    reader.seen = seen;
    reader.loads += 1;
    let seconds = started.elapsed().as_secs_f64();
    app.metrics.search_loaded(seconds);
    tracing::info!(%workspace, products = index.count(), bytes = index.bytes(), seconds, "products are loaded for searching");
    Ok(Arc::new(index))
}

/// The index of the whole feed, and up to where that is.
async fn gather(app: &App, workspace: WorkspaceId) -> Result<(Index, i64), SearchError> {
    let bound = app.pipeline.catalogue.bound;
    let rows = limits::SEARCH_LOAD_ROWS;
    let mut gathering = Gathering::default();
    let mut seen = 0;
    // What was gone by the first page's clock is on none of the pages.
    let mut begun = None;
    loop {
        let page = app.store.product_changes(workspace, seen, rows).await?;
        let begun = *begun.get_or_insert(page.clock);
        if page.clock < begun || page.misses_removals(begun.max(seen)) {
            return Err(SearchError::Late);
        }
        let is_last = page.changes.len() < rows as usize;
        seen = end_of(&page.changes, page.clock, is_last);
        gathering = off_thread(move || {
            for change in &page.changes {
                gathering.set(change.id, change.name.as_deref());
            }
            gathering
        })
        .await?;
        if gathering.is_past(bound) {
            refuse(app, workspace);
            return Err(SearchError::TooLarge);
        }
        if is_last {
            let index = off_thread(move || gathering.build()).await?;
            return Ok((index, seen));
        }
    }
}

/// Builds the index anew beside what goes on, where so much has changed that this
/// pays, and follows with it from then on.
fn rebuild_if_worn(
    app: &Arc<App>,
    workspace: WorkspaceId,
    shelf: &Arc<Shelf>,
    mut reader: OwnedMutexGuard<Reader>,
) {
    let worn = shelf.index().filter(|index| index.is_worn());
    let Some(worn) = worn.filter(|_| !reader.is_building) else {
        return;
    };
    reader.is_building = true;
    let (seen, loads) = (reader.seen, reader.loads);
    let (app, shelf) = (Arc::clone(app), Arc::clone(shelf));
    tokio::spawn(async move {
        let building = app.pipeline.catalogue.building.acquire();
        let permit = building.await.expect("it is never closed");
        let built = off_thread(move || worn.rebuilt()).await;
        drop(permit);
        let mut reader = shelf.reader.lock().await;
        reader.is_building = false;
        // Forgotten meanwhile, or read from the beginning of another feed.
        if shelf.index().is_none() || reader.loads != loads {
            return;
        }
        let followed = async {
            reader.built = Some((built?, seen));
            follow(&app, workspace, &shelf, &mut reader).await
        };
        if let Err(error) = followed.await {
            tracing::warn!(%workspace, %error, "an index of products could not be built anew");
        }
    });
}

/// Runs what takes its time where nothing is served.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SearchError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(SearchError::Ended)
}
