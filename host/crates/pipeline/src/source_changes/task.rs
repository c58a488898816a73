//! Keeps the sketches and the last conversions of this host's connections, has both versions tried before a
//! report, and merges the sketches into the store's.

use std::collections::VecDeque;
use std::mem;

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::Delivered;
use super::conversions::LastConversions;
use super::counts::Counts;
use super::sketch::{News, Sketch};
use super::trial::{TrialVerdict, VersionTrial};
use crate::deploy::rolled_back;
use crate::offload;
use crate::prelude::*;
use crate::versions;
use leadhost_domain::connection::{ChangeCause, ConnectionSketch, SourceChange};
use leadhost_store::KeptAnswer;

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
            Some(ended) = watch.trials.join_next(), if !watch.trials.is_empty() => {
                if let Ok((trial, verdict)) = ended {
                    watch.tried(&pipeline, &trial, verdict);
                }
            }
            _ = look.tick() => {
                watch.begin_trials(&pipeline);
                watch.write(&pipeline, limits::SKETCH_WRITES_EVERY).await;
            }
            () = shutdown.begun() => {}
        }
    }
    while let Ok(delivered) = waiting.try_recv() {
        watch.see(&pipeline, delivered).await;
    }
    // The changes that wait for the result of a trial are reported without it.
    watch.trials.abort_all();
    for watched in watch.sketches.values_mut() {
        watched.tried.get_or_insert(None);
    }
    watch.write(&pipeline, Duration::ZERO).await;
}

#[derive(Default)]
struct SourceWatch {
    sketches: HashMap<ConnectionId, WatchedSource>,
    trials: JoinSet<(VersionTrial, Option<TrialVerdict>)>,
    /// The last answers to fetches on which a version failed, newest last.
    failed: VecDeque<(DeliveryId, KeptAnswer)>,
    /// Whether the log says already that the store fails.
    logged: bool,
}

/// The sketch of one connection, and what this host has seen since it was stored.
struct WatchedSource {
    live: Arc<Live>,
    plugin: String,
    sketch: Sketch,
    /// The generation of the stored row, or 0 if no row is stored.
    generation: i64,
    unwritten: Counts,
    last: LastConversions,
    /// Whether there was a conversion since the last trial of failures that said something.
    is_fresh: bool,
    /// When both versions may be tried again. `None` while they are.
    next_trial: Option<Instant>,
    /// A change that is reported after a trial: it is stored then, so that no other host takes it for
    /// reported.
    news: Option<News>,
    /// That trial, with its result if it has one.
    tried: Option<Option<TrialVerdict>>,
    /// That deliveries keep failing, until it is stored.
    failing: Option<SourceChange>,
    written: Instant,
    used: Instant,
}

impl SourceWatch {
    async fn see(&mut self, pipeline: &Pipeline, mut delivered: Delivered) {
        let connection = &delivered.live.connection;
        if !self.sketches.contains_key(&connection.id) {
            if self.sketches.len() >= limits::SKETCHES {
                return;
            }
            match load(pipeline, &connection.id).await {
                Ok(loaded) => {
                    let watched = WatchedSource::new(Arc::clone(&delivered.live), loaded);
                    self.sketches.insert(connection.id.clone(), watched);
                }
                Err(error) => return self.ended(Err(error)),
            }
        }
        let Some(watched) = self.sketches.get_mut(&connection.id) else {
            return;
        };
        if let Some((body, is_form)) = delivered.body.take() {
            let mut counts = mem::take(&mut delivered.counts);
            let is_long = offload::is_long(&body);
            let read = move || {
                counts.read(&body, is_form);
                counts
            };
            delivered.counts = offload::run(is_long, read).await;
        }
        if let Some(failed) = delivered.failed {
            if self.failed.len() >= limits::BLAME_ANSWERS {
                self.failed.pop_front();
            }
            self.failed.push_back((delivered.delivery, failed));
        }
        let plugin = &delivered.plugin;
        watched.live = Arc::clone(&delivered.live);
        watched.plugin.clone_from(&plugin.description.name);
        let (delivery, outcome) = (delivered.delivery, delivered.outcome);
        watched.last.add(&plugin.digest, delivery, outcome);
        watched.unwritten.add(&delivered.counts);
        watched.is_fresh = true;
        watched.used = Instant::now();
        if watched.is_due() {
            let written = watched.write(pipeline).await;
            self.ended(written);
        }
    }

    /// Writes the sketches that are due or have not been written for `every`, and forgets the sketches of
    /// silent connections.
    async fn write(&mut self, pipeline: &Pipeline, every: Duration) {
        let mut written = None;
        for watched in self.sketches.values_mut() {
            let is_old = watched.written.elapsed() >= every && !watched.unwritten.is_empty();
            if watched.is_due() || is_old && !watched.waits() {
                written = Some(watched.write(pipeline).await);
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

    /// Begins trials of both versions on connections whose deliveries keep failing, or whose leads
    /// lose a field under another version.
    fn begin_trials(&mut self, pipeline: &Arc<Pipeline>) {
        for watched in self.sketches.values_mut() {
            if self.trials.len() >= limits::BLAMES_AT_ONCE {
                return;
            }
            let Some(mut trial) = watched.trial() else {
                continue;
            };
            let failed = self.failed.iter();
            let failed = failed.filter(|(delivery, _)| trial.deliveries.contains(delivery));
            trial.failed = failed.cloned().collect();
            watched.next_trial = None;
            watched.is_fresh = false;
            let pipeline = Arc::clone(pipeline);
            self.trials.spawn(async move {
                let verdict = trial.run(&pipeline).await;
                (trial, verdict)
            });
        }
    }

    fn tried(
        &mut self,
        pipeline: &Pipeline,
        trial: &VersionTrial,
        mut verdict: Option<TrialVerdict>,
    ) {
        let Some(watched) = self.sketches.get_mut(&trial.connection) else {
            return;
        };
        watched.next_trial = Some(Instant::now() + limits::BLAME_EVERY);
        watched.is_fresh |= verdict.is_none();
        if trial.of_leads.is_some() {
            watched.tried = Some(verdict);
        } else if let Some(verdict) = &mut verdict {
            if verdict.previous.is_none() {
                // Nothing was called.
                verdict.faults = u32::from(watched.last.has_faults());
            }
            let now = pipeline.clock.now();
            watched.failing = verdict.failing(watched.last.failed(), now);
        }
    }

    /// Logs that the store fails, once until it works again.
    fn ended(&mut self, written: Result<(), StoreError>) {
        let Err(error) = written else {
            self.logged = false;
            return;
        };
        if !error.is_logged() && !mem::replace(&mut self.logged, true) {
            tracing::warn!(%error, "sketches of connections not read or stored");
        }
    }
}

impl WatchedSource {
    fn new(live: Arc<Live>, (generation, sketch): (i64, Sketch)) -> Self {
        Self {
            live,
            plugin: String::new(),
            sketch,
            generation,
            unwritten: Counts::default(),
            last: LastConversions::default(),
            is_fresh: false,
            next_trial: Some(Instant::now()),
            news: None,
            tried: None,
            failing: None,
            written: Instant::now(),
            used: Instant::now(),
        }
    }

    fn is_due(&self) -> bool {
        let is_news = self.failing.is_some() || self.no_longer_fails(&self.sketch);
        (is_news || self.sketch.is_due(&self.unwritten)) && !self.waits()
    }

    /// Returns whether a change waits for a trial of both versions: until [`limits::BLAME_EVERY`] has passed
    /// since the last one, and while it runs.
    fn waits(&self) -> bool {
        self.news.is_some() && self.tried.is_none()
    }

    /// Returns whether the report that deliveries keep failing is over.
    fn no_longer_fails(&self, sketch: &Sketch) -> bool {
        let blamed = sketch
            .fails
            .as_ref()
            .and_then(|fails| fails.digest.as_ref());
        blamed.is_some_and(|digest| self.last.no_longer_fail_on(digest))
    }

    fn trial(&self) -> Option<VersionTrial> {
        self.next_trial.filter(|at| *at <= Instant::now())?;
        let digest = self.last.digest()?;
        let of_leads = self.news.clone().filter(|_| self.waits());
        if of_leads.is_none() {
            // It is reported until it ends.
            let known = self.sketch.fails.as_ref();
            let is_reported = known.is_some_and(|one| one.digest.as_ref() == Some(digest));
            // Without a new conversion the answer would be the same, even if another host has ended the
            // report.
            if is_reported || !self.is_fresh || !self.last.keep_failing() {
                return None;
            }
        }
        Some(VersionTrial {
            connection: self.live.connection.id.clone(),
            plugin: self.plugin.clone(),
            digest: digest.clone(),
            deliveries: match of_leads {
                Some(_) => self.last.converted(),
                None => self.last.failing(),
            },
            failed: Vec::new(),
            of_leads,
        })
    }

    /// Adds what this host has seen to the stored sketch, and reports what is new after that, so that only
    /// one host reports it.
    async fn write(&mut self, pipeline: &Pipeline) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let now = pipeline.clock.now();
            let mut sketch = self.sketch.clone();
            let news = sketch.add(&self.unwritten, now);
            let is_asked = news.as_ref().is_some_and(|news| !news.fields.is_empty());
            match &self.tried {
                Some(Some(verdict)) if is_asked => sketch.blame(verdict),
                None if is_asked => {
                    self.news = news;
                    return Ok(());
                }
                _ => {}
            }
            if self.no_longer_fails(&sketch) {
                sketch.fails = None;
            }
            if let Some(begun) = &self.failing {
                let known = sketch
                    .fails
                    .as_ref()
                    .and_then(|fails| fails.digest.as_ref());
                if known.is_some() && known == begun.digest.as_ref() {
                    // Another host has reported it.
                    self.failing = None;
                } else {
                    sketch.fails = Some(begun.clone());
                }
            }
            let row = ConnectionSketch {
                connection: self.live.connection.id.clone(),
                generation: self.generation,
                sketch: serde_json::to_value(&sketch).map_err(|error| {
                    StoreError::Inconsistent {
                        what: format!("a sketch cannot be written: {error}"),
                    }
                })?,
                change: sketch.shown().cloned(),
                fields: sketch.lead_fields(),
                at: now,
            };
            if pipeline.store.write_connection_sketch(&row).await? {
                self.sketch = sketch;
                self.generation += 1;
                self.unwritten = Counts::default();
                self.written = Instant::now();
                (self.news, self.tried) = (None, None);
                if news.is_some() {
                    self.report(pipeline);
                }
                if let Some(failing) = self.failing.take() {
                    self.report_failing(pipeline, &failing).await;
                }
                break;
            }
            let (generation, sketch) = load(pipeline, &self.live.connection.id).await?;
            if sketch.change.is_some() != self.sketch.change.is_some() {
                // Another host has reported the change, or its end. The deliveries that this host has
                // counted since may have both forms. They would end the change, and it would be reported
                // again.
                self.unwritten = Counts::default();
            }
            (self.generation, self.sketch) = (generation, sketch);
        }
        Ok(())
    }

    fn report(&self, pipeline: &Pipeline) {
        if let Some(change) = &self.sketch.change {
            tracing::warn!(
                workspace = %self.live.connection.workspace,
                connection = self.live.connection.name.as_str(),
                what = change.what.as_str(),
                before = change.before.as_str(),
                after = change.after.as_str(),
                "source changed"
            );
            self.count(pipeline, change.cause);
        }
    }

    async fn report_failing(&self, pipeline: &Pipeline, change: &SourceChange) {
        let command = match change.cause {
            ChangeCause::Version => self.remedy(pipeline, change).await,
            ChangeCause::Configuration | ChangeCause::Source | ChangeCause::Unknown => {
                "leadhost delivery list --status failed".to_owned()
            }
        };
        let Connection { kind, name, .. } = &self.live.connection;
        let of_kind = |one| (*kind == one).then_some(name.as_str());
        tracing::warn!(
            workspace = %self.live.connection.workspace,
            connection = of_kind(ConnectionKind::Source),
            instance = of_kind(ConnectionKind::Channel),
            plugin = self.plugin.as_str(),
            what = change.what.as_str(),
            after = change.after.as_str(),
            command,
            "deliveries keep failing"
        );
        self.count(pipeline, change.cause);
    }

    /// Returns the command about the version that a report blames, as `leadhost status` names it.
    async fn remedy(&self, pipeline: &Pipeline, change: &SourceChange) -> String {
        let name = &self.plugin;
        let active = versions::activation(pipeline, name).await.ok().flatten();
        let active = active.filter(|active| Some(&active.digest) == change.digest.as_ref());
        let ways = rolled_back::ways_back(pipeline, active.as_slice()).await;
        match &change.digest {
            Some(blamed) if !ways.is_ok_and(|ways| ways.contains_key(name)) => {
                format!("leadhost plugin impact {name}@{}", blamed.short())
            }
            _ => format!("leadhost plugin rollback {name}"),
        }
    }

    fn count(&self, pipeline: &Pipeline, cause: ChangeCause) {
        let Connection {
            workspace, name, ..
        } = &self.live.connection;
        let metrics = &pipeline.metrics.plugins;
        metrics.source_changed(*workspace, name, cause);
    }
}

/// Returns the sketch of the store and its generation. A sketch in an unknown form, which a host of
/// another release has written, is replaced by an empty one.
async fn load(pipeline: &Pipeline, id: &ConnectionId) -> Result<(i64, Sketch), StoreError> {
    let stored = pipeline.store.connection_sketch(id).await?;
    Ok(stored.map_or_else(Default::default, |row| {
        let sketch = serde_json::from_value(row.sketch);
        (row.generation, sketch.unwrap_or_default())
    }))
}
