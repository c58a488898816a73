//! Judges the open rollouts, on one host at a time: a guard that trips ends a rollout, time and
//! a fleet that follows take it to its next step.

use std::collections::VecDeque;

use super::error::RolloutError;
use super::status::{self, RolloutStatus};
use super::step::{OVERTAKEN, RolloutStep, noted, service};
use crate::deploy::{error::DeployError, stored::rollout_of, swap::replace, trust};
use crate::fleet::FleetJob;
use crate::prelude::*;
use crate::rollout::guard;
use crate::rollout::{Observations, SLOWER, TIMES_SLOWER};
use crate::rounds::Rounds;
use crate::verify::policy::{Part, harms};
use crate::versions::serving;
use leadhost_domain::audit::{AuditActor, OperatorAct};
use leadhost_domain::difference::ComparisonCounts;
use leadhost_domain::rollout::RECORDED;
use leadhost_domain::size;

/// Moments from which a new count of the evidence begins, so that the good results of a version
/// before do not excuse the bad ones now.
const MOMENTS: usize = 60;

/// Timed or measured conversions without which their duration or memory is not judged.
const ENOUGH: u64 = 50;

/// Between two rounds at most, if nothing is wrong: they begin a second after each other, and each asks
/// the store a few things.
const ROUND: Duration = Duration::from_secs(5);

struct Judge {
    job: FleetJob,
    watched: HashMap<i64, JudgedRollout>,
}

impl Default for Judge {
    fn default() -> Self {
        Self {
            job: FleetJob::new("rollouts"),
            watched: HashMap::new(),
        }
    }
}

struct JudgedRollout {
    /// When the stage or step began.
    stage_at: Micros,
    /// The time for which it lasted while a host judged it and it was not paused.
    spent: Duration,
    /// The last round that judged it. `None` if that failed.
    looked: Option<Instant>,
    recorded: Instant,
    moments: VecDeque<Moment>,
    /// Whether the log has what the step waits for after its time.
    has_said: bool,
    /// Since when another version than the candidate is active in the probation.
    overtaken: Option<Instant>,
}

/// The counts at a moment by part: of all connections, and of each.
type Moment = BTreeMap<(Part, Option<ConnectionId>), ComparisonCounts>;

impl JudgedRollout {
    fn new(rollout: &Rollout) -> Self {
        Self {
            stage_at: rollout.stage_at,
            spent: rollout.recorded_spent,
            looked: Some(Instant::now()),
            recorded: Instant::now(),
            moments: VecDeque::new(),
            has_said: false,
            overtaken: None,
        }
    }

    fn say(&mut self, status: &RolloutStatus) {
        // Hosts prepare a version in a few seconds.
        let is_preparing = status.rollout.stage == RolloutStage::Verified
            && self.spent < limits::CONVERGE_PATIENCE;
        let waits_for = status.waits_for(self.spent).filter(|_| !is_preparing);
        if let Some(waits_for) = &waits_for
            && !self.has_said
        {
            let rollout = &status.rollout;
            tracing::info!(plugin = %rollout.name, candidate = rollout.candidate.short(), percent = rollout.share(), waits_for, "rollout stays in its step");
        }
        self.has_said = waits_for.is_some();
    }
}

/// Returns the time that a round adds to a step, which looks at it now: none if the round before failed,
/// or was so long ago that no host judged it meanwhile.
fn since(looked: Option<Instant>, now: Instant) -> Duration {
    let gap = looked.map(|looked| now.duration_since(looked));
    gap.filter(|gap| *gap <= ROUND).unwrap_or_default()
}

/// Judges the rollouts until shutdown. A swap of versions may take long: hosts follow meanwhile.
pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut judge = Judge::default();
    let mut rounds = Rounds::new("rollouts not judged");
    while !shutdown.has_begun() {
        let round = Box::pin(judge.step(&pipeline)).await;
        rounds
            .ended(round, &pipeline.rollouts.judge, &shutdown)
            .await;
    }
    judge.job.leave(&pipeline).await;
}

impl Judge {
    /// Judges each open rollout, if this host has the job. Returns whether one is open.
    async fn step(&mut self, pipeline: &Arc<Pipeline>) -> Result<bool, StoreError> {
        let held = self.held(pipeline).await;
        if held.is_err() {
            // No host judged until the next round that succeeds.
            self.watched.values_mut().for_each(|one| one.looked = None);
        }
        let Some(open) = held? else {
            return Ok(true);
        };
        let mut failed = None;
        for rollout in &open {
            // One that cannot be judged does not hold the others.
            if let Err(error) = self.judge(pipeline, rollout).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(!open.is_empty()), Err)
    }

    /// Returns the open rollouts, or `None` if another host judges them.
    async fn held(&mut self, pipeline: &Pipeline) -> Result<Option<Vec<Rollout>>, StoreError> {
        let mut open = pipeline.store.rollouts().await?;
        open.retain(|rollout| rollout.stage.is_open());
        self.watched
            .retain(|number, _| open.iter().any(|one| one.number == *number));
        if open.is_empty() {
            self.job.leave(pipeline).await;
        } else if self.job.hold(pipeline).await?.is_none() {
            self.watched.clear();
            return Ok(None);
        }
        Ok(Some(open))
    }

    async fn judge(
        &mut self,
        pipeline: &Arc<Pipeline>,
        rollout: &Rollout,
    ) -> Result<(), StoreError> {
        let watched = self
            .watched
            .entry(rollout.number)
            .or_insert_with(|| JudgedRollout::new(rollout));
        if watched.stage_at != rollout.stage_at {
            watched.stage_at = rollout.stage_at;
            watched.spent = rollout.recorded_spent;
            watched.looked = Some(Instant::now());
        }
        let (looked, now) = (watched.looked.take(), Instant::now());
        let status = status::load(pipeline, rollout.clone()).await?;
        if !rollout.paused {
            watched.spent += since(looked, now);
        }
        let tripped = if rollout.plan.guards {
            tripped(pipeline, watched, &status).await
        } else {
            None
        };
        watched.say(&status);
        let spent = watched.spent;
        if watched.recorded.elapsed() >= RECORDED {
            watched.recorded = Instant::now();
            let mut now = rollout.clone();
            now.recorded_spent = spent;
            now.spent_at = Some(pipeline.clock.now());
            pipeline.store.spend_rollout(&now).await?;
        }
        decide(pipeline, &status, tripped, spent, &mut watched.overtaken).await?;
        watched.looked = Some(now);
        Ok(())
    }
}

async fn tripped(
    pipeline: &Pipeline,
    watched: &mut JudgedRollout,
    status: &RolloutStatus,
) -> Option<String> {
    let policy = &pipeline.config.verify;
    let seen = &status.seen;
    let now: Moment = Part::ALL
        .into_iter()
        .flat_map(|part| {
            let tally = seen.part(part);
            let connections = tally.connections.iter();
            let connections = connections.map(|(id, counts)| (Some(id.clone()), *counts));
            let all = std::iter::once((None, tally.harm));
            all.chain(connections)
                .map(move |(of, counts)| ((part, of), counts))
        })
        .collect();
    let trips = |key: &(Part, Option<ConnectionId>), counts: &ComparisonCounts| {
        let mut moments = watched.moments.iter();
        guard::trips(key.0, counts, policy)
            || moments.any(|moment| {
                let then = moment.get(key).copied().unwrap_or_default();
                guard::trips_recently(key.0, &counts.since(then), policy)
            })
    };
    let tripped = now.iter().filter(|(key, counts)| trips(key, counts));
    let tripped: BTreeSet<(Part, Option<ConnectionId>)> =
        tripped.map(|(key, _)| key.clone()).collect();
    let harmed: BTreeSet<&ConnectionId> =
        tripped.iter().filter_map(|(_, of)| of.as_ref()).collect();
    // All connections of the parts in which some are harmed.
    let is_everywhere = now.keys().all(|key| {
        let is_of_harmed = tripped
            .iter()
            .any(|(part, of)| *part == key.0 && of.is_some());
        key.1.is_none() || !is_of_harmed || tripped.contains(key)
    });
    let mut why = Vec::new();
    // A host that sees a guard trip by itself gives the candidate no more deliveries.
    let is_harmful = seen.tripped || !tripped.is_empty();
    if is_harmful {
        why = status.drift(policy);
        if !harmed.is_empty() && !is_everywhere {
            let mut names = Vec::new();
            for id in harmed.into_iter().take(NAMED) {
                names.push(name_of(pipeline, id).await);
            }
            why.push(format!("only on connection {}", names.join(", ")));
        }
        if why.is_empty() {
            why.push(most_harm(seen, policy));
        }
    }
    watched.moments.push_back(now);
    if watched.moments.len() > MOMENTS {
        watched.moments.pop_front();
    }
    if is_harmful {
        return Some(why.join("; "));
    }
    slow(seen).or_else(|| large(seen, policy))
}

fn most_harm(seen: &Observations, policy: &config::VerifySection) -> String {
    let parts = Part::ALL.into_iter();
    let all = parts.flat_map(|part| {
        let counts = seen.part(part).harm;
        let harms = harms(part, &counts, policy).into_iter();
        harms.map(move |harm| (harm, counts.compared))
    });
    let most = all.max_by_key(|(harm, _)| (harm.allowed_per_mille < 1_000, harm.count));
    most.map_or_else(String::new, |(harm, of)| {
        format!("{} of {of} {}", harm.count, harm.what)
    })
}

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
    let mean = seen.mean_times()?;
    let (stable, candidate) = (mean.stable.as_micros(), mean.candidate.as_micros());
    (seen.timed >= ENOUGH && seen.slower * 2 > seen.timed).then(|| {
        format!(
            "{} of {} conversions took more than {TIMES_SLOWER} times as long and {} ms longer with it: {candidate} µs on average, {stable} µs with the stable version",
            seen.slower,
            seen.timed,
            SLOWER.as_millis(),
        )
    })
}

/// Returns why the candidate needs too much memory: for most deliveries, so that a rare large one is
/// no reason.
fn large(seen: &Observations, policy: &config::VerifySection) -> Option<String> {
    let mean = |total: u64| size::readable(total / seen.measured.max(1));
    (seen.measured >= ENOUGH && seen.larger * 2 > seen.measured).then(|| {
        format!(
            "{} of {} conversions needed more than {} times the memory and {} MiB more with it: {} on average, {} with the stable version",
            seen.larger,
            seen.measured,
            policy.memory_times,
            policy.memory_mib,
            mean(seen.candidate_bytes),
            mean(seen.stable_bytes),
        )
    })
}

/// How long the host of an operator who activates another version has to end the probation, with the
/// operator's reason. It waits for the other hosts before it.
const UNRECORDED: Duration = limits::CONVERGE_PATIENCE.saturating_add(Duration::from_secs(5));

/// Takes the rollout to where it belongs. Returns whether it was changed. `overtaken`: since when another
/// version than the candidate is active in the probation.
async fn decide(
    pipeline: &Arc<Pipeline>,
    status: &RolloutStatus,
    tripped: Option<String>,
    spent: Duration,
    overtaken: &mut Option<Instant>,
) -> Result<bool, StoreError> {
    let rollout = &status.rollout;
    let active = serving(pipeline, &rollout.name).await?;
    let is_active = |digest| active.as_ref() == Some(digest);
    let is_time = rollout.is_time(spent);
    let (now, by) = (pipeline.clock.now(), service());
    let is_overtaken = rollout.stage == RolloutStage::Probation && !is_active(&rollout.candidate);
    if !is_overtaken {
        *overtaken = None;
    } else if pipeline.store.is_shared()
        && overtaken.get_or_insert_with(Instant::now).elapsed() < UNRECORDED
    {
        return Ok(false);
    }
    match rollout.stage {
        RolloutStage::Probation if is_overtaken => {
            // An operator who activates another version here records that first.
            let _alone = pipeline.deploying.lock().await;
            end(pipeline, rollout, RolloutStage::Aborted, OVERTAKEN).await
        }
        RolloutStage::Probation if tripped.is_some() => {
            let why = tripped.unwrap_or_default();
            let taken = Box::pin(take_back(pipeline, rollout, status, why)).await;
            swapped(rollout, "rollback", taken)
        }
        RolloutStage::Verified | RolloutStage::Canary if tripped.is_some() => {
            let why = tripped.unwrap_or_default();
            roll_back(pipeline, rollout, status, why).await
        }
        RolloutStage::Verified | RolloutStage::Shadow | RolloutStage::Canary
            if !is_active(&rollout.stable) =>
        {
            end(pipeline, rollout, RolloutStage::Aborted, OVERTAKEN).await
        }
        RolloutStage::Verified if status.behind.is_empty() => {
            first_step(pipeline, rollout, &by).await
        }
        RolloutStage::Shadow if is_time => {
            end(pipeline, rollout, RolloutStage::Done, "its time is over").await
        }
        RolloutStage::Probation if is_time => {
            let why = if rollout.plan.guards {
                "no guard has tripped"
            } else {
                "its time is over; guards were off"
            };
            end(pipeline, rollout, RolloutStage::Done, why).await
        }
        RolloutStage::Canary if is_time && !rollout.paused && status.waits_for(spent).is_none() => {
            let is_last = rollout.step + 1 >= rollout.plan.steps.len();
            if !is_last {
                let mut next = rollout.in_stage(RolloutStage::Canary, now, None);
                next.step += 1;
                return change(pipeline, &next, OperatorAct::NextRolloutStep, &by).await;
            }
            let promoted = Box::pin(promote(pipeline, rollout, &by)).await;
            swapped(rollout, "activation", promoted)
        }
        _ => Ok(false),
    }
}

/// Begins the first step of a canary, because every live host has prepared both versions. Returns false
/// if the rollout was changed meanwhile.
pub async fn first_step(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    by: &AuditActor,
) -> Result<bool, StoreError> {
    let next = rollout.in_stage(RolloutStage::Canary, pipeline.clock.now(), None);
    change(pipeline, &next, OperatorAct::NextRolloutStep, by).await
}

pub async fn promote(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    by: &AuditActor,
) -> Result<(), DeployError> {
    // The keys may have been set since it began.
    trust::stored(pipeline, &rollout.candidate).await?;
    let now = pipeline.clock.now();
    let next = match rollout.plan.probation {
        Duration::ZERO => {
            rollout.in_stage(RolloutStage::Done, now, Some("it is activated".to_owned()))
        }
        // The candidate has all deliveries, also if an operator left steps out.
        _ => Rollout {
            step: rollout.plan.steps.len(),
            ..rollout.in_stage(RolloutStage::Probation, now, None)
        },
    };
    let act = OperatorAct::PromoteRollout;
    let step = RolloutStep { next, act, by };
    replace(pipeline, &rollout.candidate, &rollout.stable, step).await?;
    Ok(())
}

/// Activates the stable version again, because a guard has tripped in the probation.
async fn take_back(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    status: &RolloutStatus,
    why: String,
) -> Result<(), DeployError> {
    let now = pipeline.clock.now();
    let by = service();
    let step = RolloutStep {
        next: rollout.in_stage(RolloutStage::RolledBack, now, Some(why.clone())),
        act: OperatorAct::RollBackRollout,
        by: &by,
    };
    replace(pipeline, &rollout.stable, &rollout.candidate, step).await?;
    report_rollback(pipeline, status, &why);
    Ok(())
}

/// Ends a rollout whose guard has tripped in the canary. If an operator has promoted it since the judge
/// looked, its stable version is activated again. Returns false if it was changed otherwise.
async fn roll_back(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    status: &RolloutStatus,
    why: String,
) -> Result<bool, StoreError> {
    if end(pipeline, rollout, RolloutStage::RolledBack, &why).await? {
        report_rollback(pipeline, status, &why);
        return Ok(true);
    }
    let now = rollout_of(pipeline, &rollout.name).await?;
    let promoted =
        |one: &Rollout| one.number == rollout.number && one.stage == RolloutStage::Probation;
    match now.filter(promoted) {
        Some(promoted) => {
            let taken = Box::pin(take_back(pipeline, &promoted, status, why)).await;
            swapped(rollout, "rollback", taken)
        }
        None => Ok(false),
    }
}

fn report_rollback(pipeline: &Pipeline, status: &RolloutStatus, why: &str) {
    let rollout = &status.rollout;
    let (plugin, candidate) = (&rollout.name, rollout.candidate.short());
    let example = status.failure().map(ToString::to_string);
    pipeline.metrics.rollouts.rolled_back(plugin);
    tracing::error!(%plugin, candidate, why, example, "rollout rolled back, stable version active");
}

/// Ends a rollout, as the service itself. Returns false if it was changed meanwhile.
pub async fn end(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    stage: RolloutStage,
    why: &str,
) -> Result<bool, StoreError> {
    end_by(pipeline, rollout, stage, why.to_owned(), &service()).await
}

/// Ends a rollout for an operator, or for the service itself. Returns whether nothing else was
/// changed meanwhile.
pub async fn end_by(
    pipeline: &Arc<Pipeline>,
    rollout: &Rollout,
    stage: RolloutStage,
    why: String,
    by: &AuditActor,
) -> Result<bool, StoreError> {
    let now = pipeline.clock.now();
    let ended = rollout.in_stage(stage, now, Some(why));
    let act = match stage {
        RolloutStage::RolledBack => OperatorAct::RollBackRollout,
        _ => OperatorAct::EndRollout,
    };
    change(pipeline, &ended, act, by).await
}

async fn change(
    pipeline: &Arc<Pipeline>,
    next: &Rollout,
    act: OperatorAct,
    by: &AuditActor,
) -> Result<bool, StoreError> {
    let Some(stored) = pipeline.store.change_rollout(next).await? else {
        return Ok(false);
    };
    noted(pipeline, &stored, act, by).await?;
    Ok(true)
}

/// Logs a swap that failed; the judge tries again.
fn swapped(
    rollout: &Rollout,
    what: &str,
    swap: Result<(), DeployError>,
) -> Result<bool, StoreError> {
    let error = match swap {
        Ok(()) => return Ok(true),
        Err(DeployError::Store(error)) => return Err(error),
        // Its text may have the label of a key, which may be a name.
        Err(DeployError::Rollout(RolloutError::Changed { .. })) => {
            "the rollout was changed meanwhile".to_owned()
        }
        Err(error) => error.to_string(),
    };
    tracing::warn!(plugin = %rollout.name, candidate = rollout.candidate.short(), step = what, %error, "rollout step failed, retrying");
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_between_rounds_that_succeeded_counts() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let check = |looked: Option<u64>, now: u64, counts: u64| {
            let since = since(looked.map(after), after(now));
            assert_eq!(since.as_secs(), counts, "{looked:?}");
        };
        check(Some(3), 4, 1);
        check(Some(3), 8, 5);
        // The store did not answer, or another host had the job.
        check(Some(3), 9, 0);
        check(None, 9, 0);
    }
}
