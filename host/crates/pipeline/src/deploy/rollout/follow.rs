//! Keeps this host in step with the rollouts of the store, and reports what it has seen.

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

use super::super::{rolled_back, trust};
use super::sampling;
use crate::prelude::*;
use crate::rollout::state::{LiveRollout, Observations, Observed};
use crate::rounds::Rounds;
use crate::versions;
use leadhost_domain::rollout::RolloutReport;

const TRY_AGAIN: Duration = Duration::from_secs(30);

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut follower = Follower::default();
    let mut rounds = Rounds::new("rollouts not read");
    while !shutdown.has_begun() {
        let round = Box::pin(follower.step(&pipeline)).await;
        rounds
            .ended(round, &pipeline.rollouts.look, &shutdown)
            .await;
    }
}

#[derive(Default)]
struct Follower {
    loads: HashMap<Digest, CandidateLoad>,
    reported: HashMap<i64, Reported>,
    /// The deliveries of the last rollouts that were not compared, by the rollouts' numbers, since they ended here.
    dropped: HashMap<i64, u64>,
}

enum CandidateLoad {
    UnderWay(JoinHandle<Result<(), String>>),
    Failed { reason: String, at: Instant },
}

#[derive(PartialEq)]
struct Reported {
    generation: i64,
    error: Option<String>,
    seen: Observations,
}

impl Follower {
    async fn step(&mut self, pipeline: &Arc<Pipeline>) -> Result<bool, StoreError> {
        let rollouts = pipeline.store.rollouts().await?;
        let followed = pipeline.rollouts.all();
        for rollout in &rollouts {
            let live = followed
                .iter()
                .find(|live| live.rollout.number == rollout.number);
            let dropped = match live {
                Some(live) => live.observed.dropped(),
                None => self.dropped.get(&rollout.number).copied().unwrap_or(0),
            };
            let metrics = &pipeline.metrics.rollouts;
            metrics.stage(&rollout.name, rollout.stage, dropped);
        }
        self.dropped
            .retain(|number, _| rollouts.iter().any(|one| one.number == *number));
        let (open, ended): (Vec<Rollout>, Vec<Rollout>) = rollouts
            .into_iter()
            .partition(|rollout| rollout.stage.is_open());
        // One that cannot be followed does not hold the others.
        let mut failed = None;
        for live in pipeline.rollouts.all() {
            let number = live.rollout.number;
            if !open.iter().any(|one| one.number == number) {
                let now = ended.iter().find(|one| one.number == number);
                failed = self.leave(pipeline, &live, now).await.err().or(failed);
            }
        }
        for rollout in &open {
            failed = self.follow(pipeline, rollout).await.err().or(failed);
        }
        self.loads.retain(|digest, _| {
            open.iter()
                .any(|one| one.candidate == *digest || one.stable == *digest)
        });
        self.reported
            .retain(|number, _| open.iter().any(|one| one.number == *number));
        failed.map_or(Ok(!open.is_empty()), Err)
    }

    async fn leave(
        &mut self,
        pipeline: &Pipeline,
        live: &LiveRollout,
        now: Option<&Rollout>,
    ) -> Result<(), StoreError> {
        let (rollout, candidate) = (&live.rollout, &live.rollout.candidate);
        pipeline.rollouts.leave(&rollout.name);
        let activations = pipeline.store.activations().await?;
        let is_needed = activations
            .iter()
            .any(|one| one.digest == *candidate || one.previous.as_ref() == Some(candidate));
        // If unfinished work still needs the version, that work loads it again.
        if !is_needed {
            pipeline.plugins.retire(candidate);
        }
        let generation = now.unwrap_or(rollout).generation;
        let seen = live.observed.at_end();
        self.dropped.insert(rollout.number, seen.dropped);
        self.report(pipeline, rollout, generation, None, seen).await
    }

    async fn follow(
        &mut self,
        pipeline: &Arc<Pipeline>,
        rollout: &Rollout,
    ) -> Result<(), StoreError> {
        let live = pipeline.rollouts.get(&rollout.name);
        let live = live.filter(|live| live.rollout.number == rollout.number);
        if let Some(live) = &live
            && live.rollout.generation == rollout.generation
        {
            let seen = live.observed.so_far();
            return self
                .report(pipeline, rollout, rollout.generation, None, seen)
                .await;
        }
        let candidate = self.loaded(pipeline, &rollout.candidate);
        let stable = self.loaded(pipeline, &rollout.stable);
        let (candidate, stable) = match (candidate, stable) {
            (Ok(Some(candidate)), Ok(Some(stable))) => (candidate, stable),
            (Err(reason), _) | (_, Err(reason)) => {
                let seen = live.map(|live| live.observed.so_far()).unwrap_or_default();
                return self
                    .report(pipeline, rollout, rollout.generation, Some(reason), seen)
                    .await;
            }
            // They are being loaded.
            _ => return Ok(()),
        };
        let observed = match live {
            Some(live) => Arc::clone(&live.observed),
            None => {
                let (observed, waiting) = Observed::new();
                tokio::spawn(sampling::run(
                    Arc::downgrade(pipeline),
                    rollout.name.clone(),
                    rollout.number,
                    waiting,
                ));
                Arc::new(observed)
            }
        };
        let seen = observed.so_far();
        let previous = match before(pipeline, rollout).await {
            // Without the previous version the canary has only two versions. If the version is
            // still being loaded, the canary gets it in its next step.
            Some(previous) => self.loaded(pipeline, &previous).ok().flatten(),
            None => None,
        };
        let previous = previous.filter(|previous| {
            previous.kind == stable.kind && trust::is_trusted(pipeline, previous)
        });
        pipeline.rollouts.follow(Arc::new(LiveRollout {
            rollout: rollout.clone(),
            candidate,
            stable,
            previous,
            observed,
        }));
        tracing::info!(plugin = %rollout.name, candidate = rollout.candidate.short(), stage = rollout.stage.as_str(), percent = rollout.share(), generation = rollout.generation, "rollout followed");
        self.report(pipeline, rollout, rollout.generation, None, seen)
            .await
    }

    /// Returns a version if it is loaded; otherwise it is loaded in the background.
    fn loaded(
        &mut self,
        pipeline: &Arc<Pipeline>,
        digest: &Digest,
    ) -> Result<Option<Arc<Loaded>>, String> {
        if let Some(loaded) = pipeline.plugins.by_digest(digest) {
            self.loads.remove(digest);
            return Ok(Some(loaded));
        }
        let failed = match self.loads.remove(digest) {
            Some(CandidateLoad::UnderWay(load)) if !load.is_finished() => {
                self.loads
                    .insert(digest.clone(), CandidateLoad::UnderWay(load));
                return Ok(None);
            }
            Some(CandidateLoad::UnderWay(load)) => {
                let reason = match load.now_or_never() {
                    Some(Ok(Err(reason))) => reason,
                    _ => "it could not be loaded".to_owned(),
                };
                tracing::error!(
                    digest = digest.short(),
                    reason,
                    "version of a rollout failed to load, the rollout waits"
                );
                Some((reason, Instant::now()))
            }
            Some(CandidateLoad::Failed { reason, at }) if at.elapsed() < TRY_AGAIN => {
                Some((reason, at))
            }
            _ => None,
        };
        let Some((reason, at)) = failed else {
            let load = load(pipeline, digest);
            self.loads
                .insert(digest.clone(), CandidateLoad::UnderWay(load));
            return Ok(None);
        };
        let failed = CandidateLoad::Failed {
            reason: reason.clone(),
            at,
        };
        self.loads.insert(digest.clone(), failed);
        Err(reason)
    }

    async fn report(
        &mut self,
        pipeline: &Pipeline,
        rollout: &Rollout,
        generation: i64,
        error: Option<String>,
        seen: Observations,
    ) -> Result<(), StoreError> {
        let report = Reported {
            generation,
            error,
            seen,
        };
        if self.reported.get(&rollout.number) == Some(&report) {
            return Ok(());
        }
        let row = RolloutReport {
            name: rollout.name.clone(),
            number: rollout.number,
            host: pipeline.fleet.host(),
            host_name: pipeline.fleet.name().to_owned(),
            generation,
            error: report.error.clone(),
            at: pipeline.clock.now(),
            seen: serde_json::to_value(&report.seen).map_err(|error| StoreError::Inconsistent {
                what: format!("what was seen of a rollout cannot be written: {error}"),
            })?,
        };
        pipeline.store.report_rollout(&row).await?;
        self.reported.insert(rollout.number, report);
        Ok(())
    }
}

fn load(pipeline: &Arc<Pipeline>, digest: &Digest) -> JoinHandle<Result<(), String>> {
    let (pipeline, digest) = (Arc::clone(pipeline), digest.clone());
    tokio::spawn(async move {
        let loaded = versions::loaded(&pipeline, &digest).await;
        pipeline.rollouts.look.notify_one();
        match loaded {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err("it is not in the store".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// Returns the version before the stable one of a canary, unless an operator or a guard left that one as
/// wrong.
async fn before(pipeline: &Pipeline, rollout: &Rollout) -> Option<Digest> {
    if rollout.stage != RolloutStage::Canary {
        return None;
    }
    let activation = versions::activation(pipeline, &rollout.name).await.ok()??;
    let is_before = activation.digest == rollout.stable;
    let previous = activation.previous.filter(|_| is_before)?;
    if previous == rollout.candidate {
        return None;
    }
    let left = rolled_back::last_left(pipeline, &previous).await.ok()?;
    left.is_none().then_some(previous)
}
