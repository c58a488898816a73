//! Judges the open rollouts, on one host at a time: a guard that trips ends a rollout, time and
//! a fleet that follows take it to its next step.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::standing::{self, Standing};
use super::{LOOK, REST, announce, record};
use crate::domain::id::ConnectionId;
use crate::domain::rollout::{Rollout, RolloutStage};
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::deploy::{DeployError, replace, serving};
use crate::pipeline::fleet::FleetJob;
use crate::pipeline::rollout::Observations;
use crate::pipeline::rollout::guard;
use crate::pipeline::state::Pipeline;
use crate::pipeline::verify;
use crate::pipeline::verify::compare::Counts;
use crate::shutdown::Shutdown;
use crate::store::StoreError;

/// Moments from which the evidence is counted anew, so that what a version did well before does
/// not excuse what it does now.
const MOMENTS: usize = 60;

/// Between two records of how long a step has lasted.
const RECORD: Duration = Duration::from_secs(10);

/// Timed conversions without which their duration is not judged.
const TIMED: u64 = 50;

/// The judge of all rollouts, while this host has the job.
struct Judge {
    job: FleetJob,
    watched: HashMap<i64, Watched>,
}

impl Default for Judge {
    fn default() -> Self {
        Self {
            job: FleetJob::new("rollouts"),
            watched: HashMap::new(),
        }
    }
}

/// What the judge remembers of a rollout.
struct Watched {
    /// When the stage or step began.
    stage_at: Micros,
    /// How long it has lasted while a host judged it and it was not paused.
    spent: Duration,
    looked: Instant,
    recorded: Instant,
    moments: VecDeque<Moment>,
}

/// The counts at a moment: of all deliveries, and by connection.
#[derive(Clone, Default)]
struct Moment {
    all: Counts,
    connections: BTreeMap<ConnectionId, Counts>,
}

impl Watched {
    fn new(rollout: &Rollout) -> Self {
        Self {
            stage_at: rollout.stage_at,
            spent: Duration::from_secs(rollout.spent_seconds),
            looked: Instant::now(),
            recorded: Instant::now(),
            moments: VecDeque::new(),
        }
    }
}

/// Judges the rollouts until shutdown. A swap of versions may take long: hosts follow meanwhile.
pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut judge = Judge::default();
    let mut told = false;
    while !shutdown.has_begun() {
        let rest = match Box::pin(judge.look(&pipeline)).await {
            Ok(any) => {
                told = false;
                if any { LOOK } else { REST }
            }
            Err(error) => {
                if !error.is_logged() && !told {
                    told = true;
                    tracing::warn!(%error, "rollouts not judged");
                }
                LOOK
            }
        };
        tokio::select! {
            () = pipeline.rollouts.judge.notified() => {}
            () = tokio::time::sleep(rest) => {}
            () = shutdown.begun() => {}
        }
    }
    judge.job.leave(&pipeline).await;
}

impl Judge {
    /// Returns whether a rollout is open.
    async fn look(&mut self, pipeline: &Arc<Pipeline>) -> Result<bool, StoreError> {
        let mut open = pipeline.core.store.rollouts().await?;
        open.retain(|rollout| rollout.stage.is_open());
        self.step(pipeline, &open).await?;
        Ok(!open.is_empty())
    }

    /// Judges each open rollout, if this host has the job.
    async fn step(&mut self, pipeline: &Arc<Pipeline>, open: &[Rollout]) -> Result<(), StoreError> {
        self.watched
            .retain(|number, _| open.iter().any(|one| one.number == *number));
        if open.is_empty() {
            self.job.leave(pipeline).await;
            return Ok(());
        }
        if self.job.hold(pipeline).await?.is_none() {
            self.watched.clear();
            return Ok(());
        }
        let mut failed = None;
        for rollout in open {
            // One that cannot be judged does not hold the others.
            if let Err(error) = self.judge(pipeline, rollout).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn judge(
        &mut self,
        pipeline: &Arc<Pipeline>,
        rollout: &Rollout,
    ) -> Result<(), StoreError> {
        let watched = self
            .watched
            .entry(rollout.number)
            .or_insert_with(|| Watched::new(rollout));
        if watched.stage_at != rollout.stage_at {
            watched.stage_at = rollout.stage_at;
            watched.spent = Duration::from_secs(rollout.spent_seconds);
            watched.looked = Instant::now();
        }
        // A host that did not judge for so long had lost the job.
        let since = watched.looked.elapsed().min(limits::JOB_LEASE);
        watched.looked = Instant::now();
        if !rollout.paused {
            watched.spent += since;
        }
        let standing = standing::sum(pipeline, rollout.clone()).await?;
        let tripped = if rollout.plan.guards {
            tripped(pipeline, watched, &standing).await
        } else {
            None
        };
        let spent = watched.spent.as_secs();
        if watched.recorded.elapsed() >= RECORD {
            watched.recorded = Instant::now();
            let mut now = rollout.clone();
            now.spent_seconds = spent;
            pipeline.core.store.spend_rollout(&now).await?;
        }
        decide(pipeline, &standing, tripped, spent).await?;
        Ok(())
    }
}

/// Returns why a guard trips.
async fn tripped(
    pipeline: &Pipeline,
    watched: &mut Watched,
    standing: &Standing,
) -> Option<String> {
    let policy = &pipeline.core.config.verify;
    let seen = &standing.seen;
    let now = Moment {
        all: seen.tally.harm,
        connections: seen.tally.connections.clone(),
    };
    let recently = |counts: Counts, then: &dyn Fn(&Moment) -> Counts| {
        let mut moments = watched.moments.iter();
        moments.any(|moment| guard::trips_recently(&counts.since(then(moment)), policy))
    };
    let whole = guard::trips(&now.all, policy) || recently(now.all, &|then| then.all);
    let harmed = now.connections.iter().filter(|(id, counts)| {
        let then = |then: &Moment| then.connections.get(*id).copied().unwrap_or_default();
        guard::trips(counts, policy) || recently(**counts, &then)
    });
    let harmed: Vec<ConnectionId> = harmed.map(|(id, _)| id.clone()).collect();
    let (is_harmed, is_everywhere) = (!harmed.is_empty(), harmed.len() == now.connections.len());
    watched.moments.push_back(now);
    if watched.moments.len() > MOMENTS {
        watched.moments.pop_front();
    }
    // A host that sees a guard trip by itself gives the candidate no more deliveries.
    if whole || seen.tripped || is_harmed {
        let mut why = verify::drift(&seen.tally, policy);
        if is_harmed && !is_everywhere {
            let mut names = Vec::new();
            for id in harmed.iter().take(NAMED) {
                names.push(name_of(pipeline, id).await);
            }
            why.push(format!("only on connection {}", names.join(", ")));
        }
        if why.is_empty() {
            let harm = seen.tally.harm;
            let most = harm.failing.max(harm.lost).max(harm.vanished);
            let most = most.max(harm.appeared);
            why.push(format!("{most} of {} deliveries show harm", harm.compared));
        }
        return Some(why.join("; "));
    }
    slow(seen)
}

/// Connections that a reason names.
const NAMED: usize = 5;

/// Returns the name of a connection. Its id is part of its address, so only a part of it is shown.
async fn name_of(pipeline: &Pipeline, id: &ConnectionId) -> String {
    match pipeline.connections.get(id).await {
        Ok(Some(live)) => format!("`{}`", live.connection.name),
        _ => format!("{}…", id.as_str().get(..4).unwrap_or_default()),
    }
}

/// Returns why the candidate is too slow: for most deliveries, so that a pause of the host is no
/// reason.
fn slow(seen: &Observations) -> Option<String> {
    let of = seen.timed.max(1);
    let (stable, candidate) = (seen.stable_us / of, seen.candidate_us / of);
    (seen.timed >= TIMED && seen.slower * 2 > seen.timed).then(|| {
        format!("a conversion takes {candidate} µs with it and {stable} µs with the stable version")
    })
}

/// Takes the rollout to where it belongs. Returns whether it was changed.
async fn decide(
    pipeline: &Arc<Pipeline>,
    standing: &Standing,
    tripped: Option<String>,
    spent: u64,
) -> Result<bool, StoreError> {
    let rollout = &standing.rollout;
    let active = serving(pipeline, &rollout.name).await?;
    let is_active = |digest| active.as_ref() == Some(digest);
    let is_time = spent >= rollout.plan.every_seconds;
    let follows = standing.behind.is_empty();
    let now = pipeline.core.clock.now();
    match rollout.stage {
        // The swap was done, and the host stopped before it was recorded.
        RolloutStage::Canary if is_active(&rollout.candidate) => activated(pipeline, rollout).await,
        RolloutStage::Probation if tripped.is_some() && is_active(&rollout.candidate) => {
            let why = tripped.unwrap_or_default();
            match Box::pin(replace(pipeline, &rollout.stable, &rollout.candidate, None)).await {
                Ok(_) => end(pipeline, rollout, RolloutStage::RolledBack, why).await,
                Err(error) => failed(rollout, "rollback", error),
            }
        }
        RolloutStage::Probation if !is_active(&rollout.candidate) => {
            // The swap was done, and the host stopped before it was recorded; or an operator
            // activated another version.
            match tripped.filter(|_| is_active(&rollout.stable)) {
                Some(why) => end(pipeline, rollout, RolloutStage::RolledBack, why).await,
                None => {
                    let why = "another version was activated".to_owned();
                    end(pipeline, rollout, RolloutStage::Aborted, why).await
                }
            }
        }
        RolloutStage::Canary if tripped.is_some() => {
            let why = tripped.unwrap_or_default();
            end(pipeline, rollout, RolloutStage::RolledBack, why).await
        }
        RolloutStage::Shadow | RolloutStage::Canary if !is_active(&rollout.stable) => {
            let why = "another version was activated".to_owned();
            end(pipeline, rollout, RolloutStage::Aborted, why).await
        }
        RolloutStage::Shadow if is_time => {
            let why = "its time is over".to_owned();
            end(pipeline, rollout, RolloutStage::Done, why).await
        }
        RolloutStage::Probation if spent >= rollout.plan.probation_seconds => {
            let why = "no guard has tripped".to_owned();
            end(pipeline, rollout, RolloutStage::Done, why).await
        }
        RolloutStage::Canary if is_time && follows && !rollout.paused => {
            let is_last = rollout.step + 1 >= rollout.plan.steps.len();
            if !is_last {
                let mut next = rollout.in_stage(RolloutStage::Canary, now, None);
                next.step += 1;
                return change(pipeline, &next, "next-rollout-step").await;
            }
            // A version that converted nothing has proved nothing: an operator may promote it.
            if rollout.percent() < 100 || standing.seen.tally.compared == 0 {
                return Ok(false);
            }
            match Box::pin(promote(pipeline, rollout)).await {
                Ok(promoted) => Ok(promoted),
                Err(error) => failed(rollout, "activation", error),
            }
        }
        _ => Ok(false),
    }
}

/// Activates the candidate. Returns whether it stays active: if the rollout has ended meanwhile,
/// the stable version is activated again.
///
/// # Errors
///
/// [`DeployError`] if the rollout was changed, another version is active, the candidate cannot be
/// loaded, or the store or the fleet fails.
pub async fn promote(pipeline: &Arc<Pipeline>, rollout: &Rollout) -> Result<bool, DeployError> {
    replace(pipeline, &rollout.candidate, &rollout.stable, Some(rollout)).await?;
    if activated(pipeline, rollout).await? {
        return Ok(true);
    }
    let now = pipeline.core.store.rollouts().await?;
    let has_ended = now
        .iter()
        .any(|one| one.number == rollout.number && !one.stage.is_open());
    if has_ended {
        replace(pipeline, &rollout.stable, &rollout.candidate, None).await?;
    }
    Ok(!has_ended)
}

/// The candidate is active: the probation begins. Returns whether nothing else was changed
/// meanwhile.
///
/// # Errors
///
/// [`StoreError`] if the store fails.
async fn activated(pipeline: &Arc<Pipeline>, rollout: &Rollout) -> Result<bool, StoreError> {
    let now = pipeline.core.clock.now();
    let next = match rollout.plan.probation_seconds {
        0 => rollout.in_stage(RolloutStage::Done, now, Some("it is activated".to_owned())),
        _ => rollout.in_stage(RolloutStage::Probation, now, None),
    };
    change(pipeline, &next, "promote-rollout").await
}

/// Ends a rollout. Returns whether nothing else was changed meanwhile.
///
/// # Errors
///
/// [`StoreError`] if the store fails.
pub async fn end(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    stage: RolloutStage,
    why: String,
) -> Result<bool, StoreError> {
    let now = pipeline.core.clock.now();
    let ended = rollout.in_stage(stage, now, Some(why));
    let act = match stage {
        RolloutStage::RolledBack => "roll-back-rollout",
        _ => "end-rollout",
    };
    change(pipeline, &ended, act).await
}

/// Stores a change, unless another one was faster.
async fn change(pipeline: &Arc<Pipeline>, next: &Rollout, act: &str) -> Result<bool, StoreError> {
    let Some(stored) = pipeline.core.store.change_rollout(next).await? else {
        return Ok(false);
    };
    let (plugin, candidate) = (&stored.name, stored.candidate.short());
    let why = stored.why.as_deref().unwrap_or_default();
    match stored.stage {
        RolloutStage::RolledBack => {
            pipeline.core.metrics.plugins.rolled_back(plugin);
            tracing::error!(%plugin, candidate, why, "rollout rolled back, stable version active");
        }
        stage => {
            tracing::info!(%plugin, candidate, stage = stage.as_str(), percent = stored.percent(), why, "rollout changed");
        }
    }
    record(pipeline, &stored, act).await?;
    announce(pipeline).await;
    Ok(true)
}

/// Logs a swap that failed; the judge tries again.
fn failed(rollout: &Rollout, what: &str, error: DeployError) -> Result<bool, StoreError> {
    match error {
        DeployError::Store(error) => Err(error),
        error => {
            tracing::warn!(plugin = %rollout.name, candidate = rollout.candidate.short(), step = what, %error, "rollout step failed, retrying");
            Ok(false)
        }
    }
}
