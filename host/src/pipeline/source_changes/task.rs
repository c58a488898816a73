//! Keeps the sketches of this host's connections, and merges them into those of the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::sketch::{self, Sketch, SketchCounts};
use super::state::Delivered;
use crate::domain::connection::ConnectionSketch;
use crate::domain::id::{ConnectionId, WorkspaceId};
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;
use crate::store::StoreError;

/// Between two looks for sketches that are due to be written.
const LOOK: Duration = Duration::from_secs(1);

/// The time for which the sketch of a silent connection stays in memory.
const REST: Duration = Duration::from_mins(10);

/// Attempts of one write, if other hosts write the same sketch.
const ATTEMPTS: u32 = 3;

/// Sketches deliveries until shutdown. Ends at once if another task has the queue.
pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let Some(mut waiting) = pipeline.source_changes.waiting() else {
        return;
    };
    let mut watch = SourceWatch::default();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !shutdown.has_begun() {
        tokio::select! {
            Some(delivered) = waiting.recv() => watch.see(&pipeline, delivered).await,
            _ = look.tick() => watch.write(&pipeline, limits::SKETCH_WRITES_EVERY).await,
            () = shutdown.begun() => {}
        }
    }
    while let Ok(delivered) = waiting.try_recv() {
        watch.see(&pipeline, delivered).await;
    }
    watch.write(&pipeline, Duration::ZERO).await;
}

#[derive(Default)]
struct SourceWatch {
    sketches: HashMap<ConnectionId, WatchedSource>,
    /// Whether the log says already that the store fails.
    logged: bool,
}

/// The sketch of one connection: that of the store, with what this host has seen since.
struct WatchedSource {
    workspace: WorkspaceId,
    name: String,
    sketch: Sketch,
    /// That of the row; 0 if there is none.
    generation: i64,
    /// The counts that are not in the row yet.
    unwritten: SketchCounts,
    /// Whether they have brought a difference to report.
    has_news: bool,
    written: Instant,
    used: Instant,
}

impl SourceWatch {
    async fn see(&mut self, pipeline: &Pipeline, delivered: Delivered) {
        let id = &delivered.connection;
        if !self.sketches.contains_key(id) {
            if self.sketches.len() >= limits::SKETCHES {
                return;
            }
            let loaded = match load(pipeline, id).await {
                Ok(loaded) => loaded,
                Err(error) => return self.failed(&error),
            };
            let (generation, sketch) = loaded;
            let watched = WatchedSource {
                workspace: delivered.workspace,
                name: delivered.name.clone(),
                sketch,
                generation,
                unwritten: SketchCounts::default(),
                has_news: false,
                written: Instant::now(),
                used: Instant::now(),
            };
            self.sketches.insert(id.clone(), watched);
        }
        let Some(watched) = self.sketches.get_mut(id) else {
            return;
        };
        let body = delivered.body.as_ref();
        let paths = body.map(|body| sketch::paths(body, delivered.is_form));
        let one = SketchCounts::from_delivery(&delivered.version, paths, delivered.leads);
        watched.used = Instant::now();
        watched.unwritten.add(&one);
        watched.has_news |= watched.sketch.add(&one, pipeline.core.clock.now());
        // It is reported after it was stored, so that only one host reports it.
        if watched.has_news {
            let written = watched.write(pipeline, id).await;
            self.ended(written);
        }
    }

    /// Writes the sketches that have changed and were not written for so long, and forgets those
    /// of silent connections.
    async fn write(&mut self, pipeline: &Pipeline, every: Duration) {
        let mut written = None;
        for (id, watched) in &mut self.sketches {
            let is_due = watched.has_news || watched.written.elapsed() >= every;
            if is_due && !watched.unwritten.is_empty() {
                written = Some(watched.write(pipeline, id).await);
            }
            if matches!(written, Some(Err(_))) {
                break;
            }
        }
        if let Some(written) = written {
            self.ended(written);
        }
        self.sketches
            .retain(|_, one| !one.unwritten.is_empty() || one.used.elapsed() < REST);
    }

    fn ended(&mut self, written: Result<(), StoreError>) {
        match written {
            Ok(()) => self.logged = false,
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &StoreError) {
        if !error.is_logged() && !self.logged {
            self.logged = true;
            tracing::warn!(%error, "sketches of connections not read or stored");
        }
    }
}

impl WatchedSource {
    /// Stores the sketch. If another host has stored it meanwhile, this host's deliveries are added
    /// to that one.
    async fn write(&mut self, pipeline: &Pipeline, id: &ConnectionId) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let now = pipeline.core.clock.now();
            let row = ConnectionSketch {
                connection: id.clone(),
                generation: self.generation,
                sketch: serde_json::to_value(&self.sketch).map_err(|error| {
                    StoreError::Inconsistent {
                        what: format!("a sketch cannot be written: {error}"),
                    }
                })?,
                change: self.sketch.change().cloned(),
                fields: self.sketch.lead_fields(),
                at: now,
            };
            if pipeline.core.store.write_connection_sketch(&row).await? {
                self.generation += 1;
                self.unwritten = SketchCounts::default();
                self.written = Instant::now();
                if std::mem::take(&mut self.has_news) {
                    self.report(pipeline);
                }
                return Ok(());
            }
            (self.generation, self.sketch) = load(pipeline, id).await?;
            self.has_news = self.sketch.add(&self.unwritten, now);
        }
        Ok(())
    }

    fn report(&self, pipeline: &Pipeline) {
        if let Some(change) = self.sketch.change() {
            tracing::warn!(
                connection = self.name.as_str(),
                what = change.what.as_str(),
                before = change.before.as_str(),
                after = change.after.as_str(),
                "source changed"
            );
            let metrics = &pipeline.core.metrics.plugins;
            metrics.source_changed(self.workspace, &self.name);
        }
    }
}

/// Returns the sketch of the store and its generation. A sketch in an unknown form, which a host of
/// another release has written, is replaced by an empty one.
async fn load(pipeline: &Pipeline, id: &ConnectionId) -> Result<(i64, Sketch), StoreError> {
    let stored = pipeline.core.store.connection_sketch(id).await?;
    Ok(stored.map_or_else(Default::default, |row| {
        let sketch = serde_json::from_value(row.sketch);
        (row.generation, sketch.unwrap_or_default())
    }))
}
