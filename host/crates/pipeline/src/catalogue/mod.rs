//! The indexes of product names, one for each workspace that is searched. An index is
//! loaded at the first search and follows the feed of products, which is read at most once
//! a second. If all indexes together exceed their memory bound, the least recently used
//! ones are dropped.
//!
//! A search sees everything that was committed a second ago, on any host. One task at a time
//! reads a workspace's feed, and continues even if no request waits for it; all other searches
//! wait for its result. Loads and builds run on threads that serve no requests, two at a time,
//! because each takes a few times the memory of its result. If the clock of a feed went back,
//! it counts as another feed and is read from its beginning.

pub(super) mod index_cache;

use tokio::sync::OwnedMutexGuard;

pub use index_cache::SearchError;

use self::index_cache::{CachedIndex, IndexReader, Shelf, hold};
use crate::prelude::*;
use leadhost_search::{Index, IndexBuilder, SearchResults, Term};
use leadhost_store::ProductChange;
use leadhost_telemetry::Searched;

/// Searches a workspace's products. Returns at most `count` matches from the place `from` on, and
/// the total number. The product `named` matches the whole term.
#[leadhost_boxed::boxed]
pub async fn search(
    pipeline: &Arc<Pipeline>,
    workspace: WorkspaceId,
    term: Term,
    named: Option<ProductId>,
    (from, count): (u64, usize),
) -> Result<SearchResults, SearchError> {
    let started = Instant::now();
    let result = search_fresh(pipeline, workspace, term, named, (from, count)).await;
    let outcome = match &result {
        Ok(found) if found.total == 0 => Searched::Nothing,
        Ok(_) => Searched::Found,
        Err(SearchError::TooLarge) => Searched::TooLarge,
        Err(SearchError::Late) => Searched::Loading,
        Err(SearchError::Store(_) | SearchError::Ended(_)) => Searched::Failed,
    };
    pipeline.metrics.search.searched(outcome, started.elapsed());
    result
}

async fn search_fresh(
    pipeline: &Arc<Pipeline>,
    workspace: WorkspaceId,
    term: Term,
    named: Option<ProductId>,
    (from, count): (u64, usize),
) -> Result<SearchResults, SearchError> {
    let patience = limits::SEARCH_PATIENCE;
    let index = tokio::time::timeout(patience, index(pipeline, workspace));
    let index = index.await.map_err(|_| SearchError::Late)??;
    let searching = pipeline.catalogue.searching.acquire();
    let permit = searching.await.expect("the semaphore is never closed");
    let found = off_thread(move || index.search(&term, named, from, count)).await;
    drop(permit);
    found
}

/// Returns the workspace's index, current within the last second.
async fn index(
    pipeline: &Arc<Pipeline>,
    workspace: WorkspaceId,
) -> Result<Arc<Index>, SearchError> {
    let catalogue = &pipeline.catalogue;
    let shelf = catalogue.shelf(workspace);
    let fresh = || shelf.fresh(pipeline.clock.now(), catalogue.turn());
    if let Some(index) = fresh() {
        return Ok(index);
    }
    let mut reader = Arc::clone(&shelf.reader).lock_owned().await;
    if let Some(index) = fresh() {
        return Ok(index);
    }
    if let Some(error) = reader.failure(pipeline.clock.now()) {
        return Err(error);
    }
    let (task_app, task_shelf) = (Arc::clone(pipeline), Arc::clone(&shelf));
    // Continues if the request is cancelled: the next search uses the result.
    let reading = tokio::spawn(async move {
        let (pipeline, shelf) = (task_app, task_shelf);
        let result = follow(&pipeline, workspace, &shelf, &mut reader).await;
        reader.failed = result.as_ref().err().map(|error| {
            let since = pipeline.clock.now();
            (since, error.again())
        });
        rebuild_if_worn(&pipeline, workspace, &shelf, reader);
        result
    });
    reading.await.map_err(SearchError::Ended)?
}

impl IndexReader {
    /// Returns a failure that is too recent for another attempt.
    fn failure(&self, now: Micros) -> Option<SearchError> {
        let (since, error) = self.failed.as_ref()?;
        let most = match error {
            SearchError::TooLarge => limits::SEARCH_REFUSED_FOR,
            _ => limits::SEARCH_FRESH_FOR,
        };
        since.is_recent(now, most).then(|| error.again())
    }
}

/// Reads the feed to its end, from the position of the index or from its beginning, and
/// stores the resulting index on its shelf.
async fn follow(
    pipeline: &Arc<Pipeline>,
    workspace: WorkspaceId,
    shelf: &Shelf,
    reader: &mut IndexReader,
) -> Result<Arc<Index>, SearchError> {
    let catalogue = &pipeline.catalogue;
    let since = pipeline.clock.now();
    let index = match shelf.index() {
        Some(index) => catch_up(pipeline, workspace, index, reader).await?,
        None => None,
    };
    let index = match index {
        Some(index) => index,
        None => {
            *hold(&shelf.cached) = None;
            reader.built = None;
            load(pipeline, workspace, reader).await?
        }
    };
    if index.bytes() > catalogue.bound {
        *hold(&shelf.cached) = None;
        make_room(pipeline);
        refuse(pipeline, workspace);
        return Err(SearchError::TooLarge);
    }
    *hold(&shelf.cached) = Some(CachedIndex {
        index: Arc::clone(&index),
        since,
        used: catalogue.turn(),
    });
    make_room(pipeline);
    Ok(index)
}

fn make_room(pipeline: &Pipeline) {
    let (indexes, bytes) = pipeline.catalogue.make_room();
    pipeline.metrics.search.indexes(indexes, bytes);
}

fn refuse(pipeline: &Pipeline, workspace: WorkspaceId) {
    tracing::warn!(
        %workspace,
        memory_mib = pipeline.config.search.memory_mib,
        "product index not loaded, it exceeds search.memory_mib: raise it"
    );
}

/// Applies the changes since the last read; `None` if the index must be loaded again.
async fn catch_up(
    pipeline: &Pipeline,
    workspace: WorkspaceId,
    index: Arc<Index>,
    reader: &mut IndexReader,
) -> Result<Option<Arc<Index>>, SearchError> {
    let built = reader.built.take();
    let (index, mut seen) = match built {
        Some((index, seen)) => (Arc::new(index), seen),
        None => (index, reader.seen),
    };
    let mut changes = Vec::new();
    loop {
        let rows = limits::SEARCH_LOAD_ROWS;
        let page = pipeline
            .store
            .product_changes(workspace, seen, rows)
            .await?;
        if page.clock < seen || page.misses_removals(seen) {
            tracing::info!(%workspace, "product index fell behind its feed, reloading");
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
    pipeline: &Pipeline,
    workspace: WorkspaceId,
    reader: &mut IndexReader,
) -> Result<Arc<Index>, SearchError> {
    let building = pipeline.catalogue.building.acquire();
    let permit = building.await.expect("the semaphore is never closed");
    let started = Instant::now();
    let deadline = limits::SEARCH_LOAD_DEADLINE;
    let loaded = tokio::time::timeout(deadline, gather(pipeline, workspace)).await;
    let (index, seen) = loaded.unwrap_or_else(|_| {
        tracing::warn!(%workspace, "product index not loaded in time");
        Err(SearchError::Late)
    })?;
    drop(permit);
    reader.seen = seen;
    reader.loads += 1;
    let took = started.elapsed();
    pipeline.metrics.search.loaded(took);
    tracing::info!(%workspace, products = index.count(), bytes = index.bytes(), seconds = took.as_secs_f64(), "product index loaded");
    Ok(Arc::new(index))
}

/// Builds the index of the whole feed. Returns it with the stamp that it is current to.
async fn gather(pipeline: &Pipeline, workspace: WorkspaceId) -> Result<(Index, i64), SearchError> {
    let bound = pipeline.catalogue.bound;
    let rows = limits::SEARCH_LOAD_ROWS;
    let mut builder = IndexBuilder::default();
    let mut seen = 0;
    // Rows that were removed before the clock of the first page are on none of the pages.
    let mut begun = None;
    loop {
        let page = pipeline
            .store
            .product_changes(workspace, seen, rows)
            .await?;
        let begun = *begun.get_or_insert(page.clock);
        if page.clock < begun || page.misses_removals(begun.max(seen)) {
            return Err(SearchError::Late);
        }
        let is_last = page.changes.len() < rows as usize;
        seen = end_of(&page.changes, page.clock, is_last);
        builder = off_thread(move || {
            for change in &page.changes {
                builder.set(change.id, change.name.as_deref());
            }
            builder
        })
        .await?;
        if builder.is_past(bound) {
            refuse(pipeline, workspace);
            return Err(SearchError::TooLarge);
        }
        if is_last {
            let index = off_thread(move || builder.build()).await?;
            return Ok((index, seen));
        }
    }
}

/// Rebuilds the index in the background once so much has changed that this pays off, and
/// continues with the new one.
fn rebuild_if_worn(
    pipeline: &Arc<Pipeline>,
    workspace: WorkspaceId,
    shelf: &Arc<Shelf>,
    mut reader: OwnedMutexGuard<IndexReader>,
) {
    let worn = shelf.index().filter(|index| index.is_worn());
    let Some(worn) = worn.filter(|_| !reader.is_building) else {
        return;
    };
    reader.is_building = true;
    let (seen, loads) = (reader.seen, reader.loads);
    let (pipeline, shelf) = (Arc::clone(pipeline), Arc::clone(shelf));
    tokio::spawn(async move {
        let building = pipeline.catalogue.building.acquire();
        let permit = building.await.expect("the semaphore is never closed");
        let built = off_thread(move || worn.rebuilt()).await;
        drop(permit);
        let mut reader = shelf.reader.lock().await;
        reader.is_building = false;
        // The index was dropped meanwhile, or another feed was loaded.
        if shelf.index().is_none() || reader.loads != loads {
            return;
        }
        let followed = async {
            reader.built = Some((built?, seen));
            follow(&pipeline, workspace, &shelf, &mut reader).await
        };
        if let Err(error) = followed.await {
            tracing::warn!(%workspace, %error, "product index not rebuilt");
        }
    });
}

/// Runs long computations on a thread that serves no requests.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SearchError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(SearchError::Ended)
}
