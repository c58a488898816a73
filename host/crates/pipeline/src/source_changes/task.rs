//! Keeps the sketches and the last conversions of this host's connections, has both versions tried
//! before a report, and merges the sketches into those of the store.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::sketch::counts::SketchCounts;
use super::sketch::verdict::{FailingDeliveries, TrialVerdict};
use super::sketch::{Sketch, paths};
use super::state::{Delivered, LastConversions, ObservedConversion, Sketched};
use super::trial::{Asked, VersionTrial};
use crate::deploy::rolled_back;
use crate::state::Pipeline;
use crate::versions;
use leadhost_config::shutdown::Shutdown;
use leadhost_domain::connection::{ChangeCause, ConnectionKind, ConnectionSketch, SourceChange};
use leadhost_domain::id::{ConnectionId, DeliveryId, WorkspaceId};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;
use leadhost_store::{KeptAnswer, StoreError};

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
                if let Ok((id, asked, verdict)) = ended {
                    watch.tried(&pipeline, &id, &asked, verdict).await;
                }
            }
            _ = look.tick() => {
                watch.ask(&pipeline);
                watch.write(&pipeline, limits::SKETCH_WRITES_EVERY).await;
            }
            () = shutdown.begun() => {}
        }
    }
    while let Ok(delivered) = waiting.try_recv() {
        watch.see(&pipeline, delivered).await;
    }
    watch.no_more_trials();
    watch.write(&pipeline, Duration::ZERO).await;
}

#[derive(Default)]
struct SourceWatch {
    sketches: HashMap<ConnectionId, WatchedSource>,
    trials: JoinSet<(ConnectionId, Asked, Option<TrialVerdict>)>,
    /// The last answers to fetches on which a version failed, newest last.
    failed: VecDeque<(DeliveryId, KeptAnswer)>,
    /// Whether the log says already that the store fails.
    logged: bool,
}

/// The sketch of one connection: that of the store, with what this host has seen since.
struct WatchedSource {
    workspace: WorkspaceId,
    kind: ConnectionKind,
    name: String,
    sketch: Sketch,
    /// The generation of the stored row, or 0 if no row is stored.
    generation: i64,
    /// Whether the sketch of the row has a change.
    is_changed: bool,
    /// The counts that are not in the row yet.
    unwritten: SketchCounts,
    /// Whether they have brought a difference to report.
    has_news: bool,
    /// Whether the row has the difference already: no other host will report it.
    is_stored: bool,
    /// The plugin of the last one.
    plugin: String,
    last: LastConversions,
    /// Whether there was a conversion since the last trial of failures that said something.
    is_fresh: bool,
    trial: TrialState,
    /// Whether the last trial was of failures: a change of leads that waits is next.
    has_tried_failures: bool,
    /// The result of the trial of the difference to report.
    verdict: Option<TrialVerdict>,
    /// That deliveries keep failing, or no longer do, until it is stored.
    failing: Option<FailingNews>,
    written: Instant,
    used: Instant,
}

/// The trial of both versions on deliveries of a connection.
#[derive(Clone, Copy)]
enum TrialState {
    Never,
    Running,
    Ended(Instant),
}

/// A change of whether deliveries keep failing.
enum FailingNews {
    Begun(FailingDeliveries),
    /// The version on which they failed.
    Ended(String),
}

impl SourceWatch {
    async fn see(&mut self, pipeline: &Pipeline, mut delivered: Delivered) {
        let id = &delivered.connection;
        if !self.sketches.contains_key(id) {
            if self.sketches.len() >= limits::SKETCHES {
                return;
            }
            let loaded = match load(pipeline, id).await {
                Ok(loaded) => loaded,
                Err(error) => return self.failed(&error),
            };
            let watched = WatchedSource::new(&delivered, loaded);
            self.sketches.insert(id.clone(), watched);
        }
        let Some(watched) = self.sketches.get_mut(id) else {
            return;
        };
        watched.used = Instant::now();
        watched.note(&delivered);
        if let Some(failed) = delivered.failed.take() {
            if self.failed.len() >= limits::BLAME_ANSWERS {
                self.failed.pop_front();
            }
            self.failed.push_back((delivered.delivery, failed));
        }
        let Some(sketched) = delivered.sketched else {
            if watched.failing.is_some() {
                let written = watched.write(pipeline, id).await;
                self.ended(written);
            }
            return;
        };
        let (at, version) = (delivered.received_at, &delivered.version);
        let one = match sketched {
            Sketched::Delivery {
                body,
                is_form,
                leads,
            } => {
                let paths = body.map(|body| paths::paths(&body, is_form));
                SketchCounts::from_delivery(at, version, paths, leads)
            }
            Sketched::Answer(leads) => SketchCounts::from_answer(at, version, leads),
        };
        let one = one.with_configuration(delivered.configuration);
        watched.unwritten.add(&one);
        watched.has_news |= watched.sketch.add(&one, pipeline.core.clock.now());
        // It is reported after it was stored, so that only one host reports it.
        if watched.is_due() {
            let written = watched.write(pipeline, id).await;
            self.ended(written);
        }
    }

    /// Writes the sketches that have changed and were not written for so long, and forgets those
    /// of silent connections.
    async fn write(&mut self, pipeline: &Pipeline, every: Duration) {
        let mut written = None;
        for (id, watched) in &mut self.sketches {
            let is_old = watched.written.elapsed() >= every && !watched.has_news;
            if watched.is_due() || is_old && !watched.unwritten.is_empty() {
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

    /// Begins trials of both versions on connections whose deliveries keep failing, or whose leads
    /// lose a field under another version.
    fn ask(&mut self, pipeline: &Arc<Pipeline>) {
        for (id, watched) in &mut self.sketches {
            if self.trials.len() >= limits::BLAMES_AT_ONCE {
                return;
            }
            let Some(mut trial) = watched.question(id) else {
                continue;
            };
            let of_trial = self.failed.iter();
            let of_trial = of_trial.filter(|(delivery, _)| trial.deliveries.contains(delivery));
            trial.failed = of_trial.cloned().collect();
            watched.trial = TrialState::Running;
            watched.has_tried_failures = matches!(trial.asked, Asked::Failures);
            watched.is_fresh = false;
            let pipeline = Arc::clone(pipeline);
            self.trials.spawn(async move {
                let verdict = trial.run(&pipeline).await;
                (trial.connection, trial.asked, verdict)
            });
        }
    }

    /// Reports what came of a trial.
    async fn tried(
        &mut self,
        pipeline: &Pipeline,
        id: &ConnectionId,
        asked: &Asked,
        verdict: Option<TrialVerdict>,
    ) {
        let Some(watched) = self.sketches.get_mut(id) else {
            return;
        };
        watched.trial = TrialState::Ended(Instant::now());
        watched.is_fresh |= verdict.is_none();
        match asked {
            Asked::Fields(_) => {
                watched.sketch.answer(verdict.as_ref());
                watched.verdict = verdict;
            }
            Asked::Failures => {
                let verdict = verdict.map(|mut verdict| {
                    // Nothing was called.
                    if verdict.previous.is_none() {
                        verdict.faults = u32::from(watched.last.has_faults());
                    }
                    verdict
                });
                let (failed, of) = watched.last.failed();
                let now = pipeline.core.clock.now();
                let report =
                    verdict.and_then(|verdict| verdict.failing_deliveries(failed, of, now));
                watched.failing = report.map(FailingNews::Begun);
            }
        }
        if watched.is_due() {
            let written = watched.write(pipeline, id).await;
            self.ended(written);
        }
    }

    /// Gives up the running trials. The changes that waited for their results are reported without
    /// them.
    fn no_more_trials(&mut self) {
        self.trials.abort_all();
        for watched in self.sketches.values_mut() {
            watched.sketch.answer(None);
        }
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
    fn new(first: &Delivered, (generation, sketch): (i64, Sketch)) -> Self {
        Self {
            workspace: first.workspace,
            kind: first.kind,
            name: first.name.clone(),
            is_changed: sketch.drift().is_some(),
            sketch,
            generation,
            unwritten: SketchCounts::default(),
            has_news: false,
            is_stored: false,
            plugin: String::new(),
            last: LastConversions::default(),
            is_fresh: false,
            trial: TrialState::Never,
            has_tried_failures: false,
            verdict: None,
            failing: None,
            written: Instant::now(),
            used: Instant::now(),
        }
    }

    /// Notes whether the delivery was converted, and whether this ends a report of failures.
    fn note(&mut self, delivered: &Delivered) {
        self.plugin.clone_from(&delivered.plugin);
        let (digest, outcome) = (&delivered.digest, delivered.outcome);
        self.last.add(digest, delivered.delivery, outcome);
        self.is_fresh = true;
        let Some(failing) = self.sketch.failing() else {
            return;
        };
        let is_over = match failing.version == delivered.version {
            true => self.last.works(),
            false => outcome == ObservedConversion::Converted,
        };
        if is_over {
            self.failing = Some(FailingNews::Ended(failing.version.clone()));
        }
    }

    /// Returns whether a report is to be stored now: not while a trial may complete it.
    fn is_due(&self) -> bool {
        self.failing.is_some() || self.has_news && !self.waits()
    }

    /// Returns whether a trial of both versions will complete the report of a change. It may have to
    /// wait until [`limits::BLAME_EVERY`] has passed since the last one.
    fn waits(&self) -> bool {
        self.sketch.fields_in_question().is_some()
    }

    fn may_ask(&self) -> bool {
        match self.trial {
            TrialState::Never => true,
            TrialState::Running => false,
            TrialState::Ended(at) => at.elapsed() >= limits::BLAME_EVERY,
        }
    }

    /// Returns the trial that is to be made now.
    fn question(&self, id: &ConnectionId) -> Option<VersionTrial> {
        let digest = self.last.digest()?;
        let fields = self.sketch.fields_in_question();
        let fields = fields.filter(|_| self.has_news);
        // It is reported until it ends.
        let is_reported = self
            .sketch
            .failing()
            .is_some_and(|failing| failing.change.digest.as_ref() == Some(digest));
        // Without a new conversion the answer would be the same, even if another host has ended the report.
        let is_asked = self.last.keep_failing() && !is_reported && self.is_fresh;
        let asked = match fields {
            _ if !self.may_ask() => return None,
            Some(fields) if !is_asked || self.has_tried_failures => Asked::Fields(fields.to_vec()),
            _ if is_asked => Asked::Failures,
            _ => return None,
        };
        let deliveries = match &asked {
            Asked::Failures => self.last.failing(),
            Asked::Fields(_) => self.last.converted(),
        };
        Some(VersionTrial {
            connection: id.clone(),
            plugin: self.plugin.clone(),
            digest: digest.clone(),
            deliveries,
            failed: Vec::new(),
            asked,
            before: self.sketch.version_before().to_owned(),
        })
    }

    /// Adds the pending reports to the sketch, which may have been loaded again meanwhile.
    fn complete(&mut self) {
        if self.verdict.is_some() {
            self.sketch.answer(self.verdict.as_ref());
        }
        match &self.failing {
            Some(FailingNews::Begun(begun)) => {
                let known = self.sketch.failing();
                match known.filter(|known| known.version == begun.version) {
                    // Another host has reported it: one of the former release without the digest.
                    Some(known) => {
                        let mut known = known.clone();
                        known.change.digest.clone_from(&begun.change.digest);
                        self.sketch.set_failing(Some(known));
                        self.failing = None;
                    }
                    None => self.sketch.set_failing(Some(begun.clone())),
                }
            }
            Some(FailingNews::Ended(version)) => {
                let known = self.sketch.failing();
                if known.is_some_and(|known| known.version == *version) {
                    self.sketch.set_failing(None);
                }
            }
            None => {}
        }
    }

    /// Stores the sketch. If another host has stored it meanwhile, this host's deliveries are added
    /// to that one.
    async fn write(&mut self, pipeline: &Pipeline, id: &ConnectionId) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let now = pipeline.core.clock.now();
            self.complete();
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
                self.is_changed = self.sketch.drift().is_some();
                self.unwritten = SketchCounts::default();
                self.written = Instant::now();
                // A difference that a trial may explain is reported after it.
                if self.has_news && !self.waits() {
                    self.has_news = false;
                    self.verdict = None;
                    self.report(pipeline);
                }
                self.is_stored = self.has_news;
                if let Some(FailingNews::Begun(failing)) = self.failing.take() {
                    self.report_failing(pipeline, &failing.change).await;
                }
                return Ok(());
            }
            self.continue_from(load(pipeline, id).await?, now);
        }
        Ok(())
    }

    /// Adds this host's deliveries to the sketch that another host has stored meanwhile.
    fn continue_from(&mut self, (generation, sketch): (i64, Sketch), now: Micros) {
        (self.generation, self.sketch) = (generation, sketch);
        let is_changed = self.sketch.drift().is_some();
        if is_changed != mem::replace(&mut self.is_changed, is_changed) {
            // Another host has reported the change, or its end. The deliveries that this host has
            // counted since may have both forms. They would end the change, and it would be reported
            // again.
            self.unwritten = SketchCounts::default();
        }
        let is_own = self.is_stored && is_changed;
        self.has_news = self.sketch.add(&self.unwritten, now) || is_own;
        if !self.has_news {
            self.verdict = None;
        }
    }

    fn report(&self, pipeline: &Pipeline) {
        if let Some(change) = self.sketch.drift() {
            tracing::warn!(
                workspace = %self.workspace,
                connection = self.name.as_str(),
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
        let of_kind = |kind| (self.kind == kind).then_some(self.name.as_str());
        tracing::warn!(
            workspace = %self.workspace,
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
        let metrics = &pipeline.core.metrics.plugins;
        metrics.source_changed(self.workspace, &self.name, cause);
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

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::plugin::Digest;

    fn failed(number: u128) -> Delivered {
        Delivered {
            delivery: DeliveryId(uuid::Uuid::from_u128(number)),
            connection: ConnectionId::generate(),
            plugin: "portal".to_owned(),
            digest: Digest::compute(b"a component"),
            outcome: ObservedConversion::Failed,
            sketched: None,
            failed: None,
            workspace: WorkspaceId(uuid::Uuid::nil()),
            kind: ConnectionKind::Channel,
            received_at: Micros(0),
            name: "portal".to_owned(),
            version: "1.0.0".to_owned(),
            configuration: 1,
        }
    }

    #[test]
    fn a_trial_is_repeated_only_after_another_conversion() {
        let id = failed(0).connection;
        let mut watched = WatchedSource::new(&failed(0), Default::default());
        for number in 0..3 {
            watched.note(&failed(number));
        }
        let asks = |watched: &WatchedSource| {
            let asked = watched.question(&id).map(|trial| trial.asked);
            matches!(asked, Some(Asked::Failures))
        };
        assert!(asks(&watched));
        watched.is_fresh = false;
        assert!(!asks(&watched), "another host may have ended the report");
        watched.note(&failed(3));
        assert!(asks(&watched));
    }

    #[test]
    fn a_stored_change_is_reported_by_its_host_although_another_one_writes_the_sketch_meanwhile() {
        let (at, mut sketch) = (Micros(1), Sketch::default());
        let mut deliver = |body: &str| {
            let paths = paths::paths(body.as_bytes(), false);
            let one = SketchCounts::from_delivery(at, "1.0.0", Some(paths), None);
            sketch.add(&one, at)
        };
        for _ in 0..300 {
            assert!(!deliver(r#"{"phone": "1"}"#));
        }
        assert!((0..100).any(|_| deliver(r#"{"telephone": "1"}"#)));
        for is_stored in [true, false] {
            let mut watched = WatchedSource::new(&failed(0), (1, sketch.clone()));
            watched.has_news = true;
            watched.is_stored = is_stored;
            watched.continue_from((2, sketch.clone()), at);
            assert_eq!(watched.has_news, is_stored, "another host's is not");
        }
    }
}
