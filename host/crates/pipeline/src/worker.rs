//! Runs queued work: conversions that did not fit into their request, retries that are due,
//! fetches, messages. Work is claimed with a lease, so that another host takes over the
//! work of a dead one. At most `worker.concurrency` pieces run at once, and connections
//! take turns (`store::ClaimTurns`).

use std::borrow::Cow;
use std::sync::Mutex;

use tracing::field::Empty;
use uuid::Uuid;

use super::failure::{self, ConvertError};
use super::lease::{self, LeaseDeadline};
use super::proof::{self, Evidence};
use super::rollout;
use super::{fetch, intake, offload, send, source_changes};
use crate::prelude::*;
use leadhost_store::{ClaimTurns, ConversionResult, HeldDelivery, InHand, Job, Mode, Reconversion};
use leadhost_trace::{self as trace, Span, SpanKind, TraceId, TraceParent};

/// The time for which the worker rests if nothing wakes it, so that work that becomes due is found.
const REST: Duration = Duration::from_millis(250);

/// The pause until a conversion is retried that found the plugins' queue full.
const BUSY: Duration = Duration::from_secs(1);

/// Between two counts of the backlog.
const COUNT: Duration = Duration::from_secs(1);

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut worker = WorkerLoop {
        in_progress: Arc::default(),
        after: None,
        counted: None,
    };
    while !shutdown.has_begun() {
        let jobs = worker.claim(&pipeline).await;
        let idle = jobs.is_empty();
        for job in jobs {
            let piece = PiecesInProgress::take(&worker.in_progress, &job.job);
            worker.after = Some(job.job.connection().clone());
            let own = Arc::clone(&pipeline);
            let span = job_span(&job.job);
            let working = async move {
                traced(&own, job).await;
                drop(piece);
                own.wake();
            };
            span.in_scope(|| drop(pipeline.spawn(working)));
        }
        if idle {
            tokio::select! {
                () = pipeline.wake.notified() => {}
                () = tokio::time::sleep(REST) => {}
                () = shutdown.begun() => {}
            }
        }
    }
}

struct WorkerLoop {
    in_progress: Arc<Mutex<PiecesInProgress>>,
    /// The connection that had the last turn.
    after: Option<ConnectionId>,
    counted: Option<Instant>,
}

#[derive(Default)]
struct PiecesInProgress {
    all: u32,
    of: BTreeMap<ConnectionId, InHand>,
}

struct PieceInProgress {
    in_progress: Arc<Mutex<PiecesInProgress>>,
    connection: ConnectionId,
    conversions: u32,
}

impl PiecesInProgress {
    fn take(in_progress: &Arc<Mutex<Self>>, job: &Job) -> PieceInProgress {
        let connection = job.connection().clone();
        let conversions = u32::from(matches!(job, Job::Convert(_)));
        let mut now = in_progress.lock().expect("the lock is not poisoned");
        now.all += 1;
        let of = now.of.entry(connection.clone()).or_default();
        of.pieces += 1;
        of.conversions += conversions;
        PieceInProgress {
            in_progress: Arc::clone(in_progress),
            connection,
            conversions,
        }
    }

    /// Returns what may be claimed in addition: for one connection at most half of the
    /// worker's pieces, a quarter if they are conversions, which use the processor
    /// throughout; the last quarter is for connections with no piece in progress.
    fn turns(&self, concurrency: usize, after: Option<ConnectionId>) -> ClaimTurns {
        let most = u32::try_from(concurrency).unwrap_or(u32::MAX);
        let quarter = (most / 4).max(1);
        let free = most.saturating_sub(self.all);
        let limit = most.saturating_sub(quarter).saturating_sub(self.all);
        ClaimTurns {
            limit,
            spare: free - limit,
            share: (most / 2).max(1),
            conversions: quarter,
            in_hand: self.of.clone(),
            after,
        }
    }
}

impl Drop for PieceInProgress {
    fn drop(&mut self) {
        let mut in_progress = self.in_progress.lock().expect("the lock is not poisoned");
        in_progress.all -= 1;
        if let Some(of) = in_progress.of.get_mut(&self.connection) {
            of.pieces -= 1;
            of.conversions -= self.conversions;
            if of.pieces == 0 {
                in_progress.of.remove(&self.connection);
            }
        }
    }
}

/// A claimed piece, and the end of its lease by the clock that counts suspension.
struct ClaimedJob {
    job: Job,
    lease: LeaseDeadline,
    claim: JobClaim,
}

/// When the claim of a piece was made, and how long the store took.
#[derive(Clone, Copy)]
struct JobClaim {
    now: Micros,
    began: Instant,
    took: Duration,
}

impl WorkerLoop {
    async fn claim(&mut self, pipeline: &Pipeline) -> Vec<ClaimedJob> {
        // A host that the others take for dead begins no work.
        if pipeline.store.outage().is_some() || !pipeline.fleet.is_current() {
            return vec![];
        }
        self.count(pipeline).await;
        let turns = {
            let in_progress = self.in_progress.lock().expect("the lock is not poisoned");
            in_progress.turns(pipeline.config.worker.concurrency, self.after.clone())
        };
        if turns.limit + turns.spare == 0 {
            return vec![];
        }
        // Taken before the store's answer, so that the lease ends here no later than in the
        // store.
        let lease = LeaseDeadline::lasting(pipeline.config.worker.lease());
        let now = pipeline.clock.now();
        let until = now.plus(pipeline.config.worker.lease());
        let began = Instant::now();
        let claimed = pipeline.store.claim(&turns, now, until).await;
        let claim = JobClaim {
            now,
            began,
            took: began.elapsed(),
        };
        match claimed {
            Ok(jobs) => jobs
                .into_iter()
                .map(|job| ClaimedJob { job, lease, claim })
                .collect(),
            Err(error) => {
                if !error.is_logged() {
                    tracing::warn!(%error, "claiming work failed");
                }
                vec![]
            }
        }
    }

    /// Rarely: a count scans the whole backlog.
    async fn count(&mut self, pipeline: &Pipeline) {
        if self.counted.is_some_and(|at| at.elapsed() < COUNT) {
            return;
        }
        self.counted = Some(Instant::now());
        let waiting = async {
            pipeline.waiting.counted(pipeline.store.waiting().await?);
            pipeline
                .metrics
                .intake
                .backlog(&pipeline.store.backlog().await?, pipeline.clock.now());
            Ok::<_, StoreError>(())
        };
        match waiting.await {
            Err(error) if !error.is_logged() => {
                tracing::warn!(%error, "counting the backlog failed");
            }
            _ => {}
        }
    }
}

fn job_span(job: &Job) -> tracing::Span {
    let (kind, delivery, message) = match job {
        Job::Convert(held) => ("convert", Some(held.delivery.id), None),
        Job::Fetch(held) => ("fetch", Some(held.delivery), None),
        Job::Send(held) => ("send", None, Some(held.message)),
    };
    let span = tracing::info_span!(
        "job",
        kind,
        delivery = Empty,
        message_id = Empty,
        trace = Empty
    );
    if let Some(delivery) = delivery {
        span.record("delivery", tracing::field::display(delivery));
    }
    if let Some(message) = message {
        span.record("message_id", tracing::field::display(message));
    }
    span
}

/// Runs a job as a trace of its own. The trace has the id of the delivery or message, and so continues
/// the one that took it in, without anything about it being stored.
async fn traced(pipeline: &Arc<Pipeline>, job: ClaimedJob) {
    let tracer = pipeline.tracer();
    let (name, kind, whose): (_, _, Uuid) = match &job.job {
        Job::Convert(held) => (
            "process delivery again",
            SpanKind::Consumer,
            held.delivery.id.0,
        ),
        Job::Fetch(held) => ("fetch lead", SpanKind::Consumer, held.delivery.0),
        Job::Send(held) => ("send waiting message", SpanKind::Consumer, held.message.0),
    };
    if !tracer.is_on() {
        trace::name_in(&tracing::Span::current(), TraceId::from(whose));
        return work(pipeline, job).await;
    }
    let parent = Some(TraceParent::for_work(whose));
    let ClaimedJob { claim, .. } = job;
    let span = Span::root_since(tracer, (claim.now, claim.began), name, kind, parent);
    // Other jobs may share it.
    span.add(
        "claim job",
        SpanKind::Internal,
        claim.began,
        claim.took,
        |_| {},
    );
    match &job.job {
        Job::Send(held) => span.set("leadhost.message.id", held.message.to_string()),
        Job::Convert(_) | Job::Fetch(_) => span.set("leadhost.delivery.id", whose.to_string()),
    }
    trace::settle_id(&span);
    span.run(work(pipeline, job)).await;
}

async fn work(pipeline: &Arc<Pipeline>, work: ClaimedJob) {
    match work.job {
        Job::Convert(held) => {
            retry(pipeline, *held).await;
        }
        Job::Fetch(held) => fetch::run(pipeline, *held, work.lease).await,
        Job::Send(held) => send::run(pipeline, *held, work.lease).await,
    }
}

/// Converts a queued or failed delivery again and settles it. Returns the status of the conversion, if
/// its items do not decide it, and the time of the next attempt.
#[leadhost_boxed::boxed]
pub async fn retry(
    pipeline: &Arc<Pipeline>,
    held: HeldDelivery,
) -> (Option<DeliveryStatus>, Option<Micros>) {
    let (id, connection) = (held.delivery.id, held.delivery.connection.clone());
    let result = reconvert(pipeline, &held, CallBudget::Leased).await;
    let (status, next_attempt_at) = (result.status, result.next_attempt_at);
    // Compared after the answer, if it is complete.
    let ran = (!pipeline.rollouts.is_empty() && result.error.is_none() && !result.has_fetch())
        .then(|| result.ran.as_ref().map(|ran| ran.digest.clone()))
        .flatten();
    lease::settle_conversion(
        pipeline,
        Reconversion {
            delivery: id,
            lease: held.lease,
            mode: Mode::Retry,
            result,
            part: None,
        },
    )
    .await;
    if let Some(ran) = ran
        && let Ok(Some(live)) = pipeline.connections.get(&connection).await
    {
        let name = &live.connection.plugin;
        let active = pipeline.plugins.active(name);
        // If another version stood by, both were compared.
        if active.is_some_and(|active| active.digest == ran) {
            rollout::answered(pipeline, name, id);
        }
    }
    (status, next_attempt_at)
}

/// Converts a held delivery with the active version, and keeps the lease on it for as long as that
/// takes. Every outcome is a result that can be settled.
pub async fn reconvert(
    pipeline: &Arc<Pipeline>,
    held: &HeldDelivery,
    budget: CallBudget,
) -> ConversionResult {
    lease::renewed(pipeline, held, convert_held(pipeline, held, budget)).await
}

async fn convert_held(
    pipeline: &Arc<Pipeline>,
    held: &HeldDelivery,
    budget: CallBudget,
) -> ConversionResult {
    let delivery = &held.delivery;
    let later = || {
        pipeline
            .clock
            .now()
            .plus(failure::backoff(pipeline, held.attempts.max(1)))
    };
    let keep_evidence = |mut result: ConversionResult| {
        result.presented.clone_from(&held.presented);
        result
    };
    let finding = pipeline.connections.get(&delivery.connection);
    let live = match trace::step("find connection", finding).await {
        Ok(Some(live)) => live,
        Ok(None) => {
            return keep_evidence(failure::waits(
                "its connection no longer exists",
                held.attempts,
                later(),
            ));
        }
        Err(error) => {
            return keep_evidence(failure::waits(&error.to_string(), held.attempts, later()));
        }
    };
    let Some(plugin) = pipeline.plugins.active(&live.connection.plugin) else {
        let reason = format!("no version of `{}` is active", live.connection.plugin);
        return keep_evidence(failure::waits(&reason, held.attempts, later()));
    };
    let ran = plugin.ran_with(live.connection.config_version);
    let last = held.ran.as_ref();
    let was_tried = last.is_some_and(|last| last.digest == ran.digest);
    let failures = if was_tried { held.attempts } else { 0 };
    let failed = |error: &ConvertError| {
        failure::after_failure(pipeline, &live, error, Some(ran.clone()), failures)
    };

    let mut delivery = Cow::Borrowed(delivery);
    if let Some(sealed) = &held.presented {
        // Its sender was never checked: that comes first.
        let checks = match proof::checks(pipeline, &live, &plugin, budget).await {
            Ok(checks) => checks,
            Err(error) => return keep_evidence(failed(&error)),
        };
        let (owned, sealed, came) = (
            (Arc::clone(pipeline), Arc::clone(&live)),
            sealed.clone(),
            delivery.into_owned(),
        );
        let check = move || {
            let (pipeline, live) = owned;
            Evidence::open(&pipeline, &came, &sealed)
                .ok_or_else(|| "the sender's stored proof can no longer be decrypted".to_owned())?
                .verify(&checks, &live, &came)
                .map_err(|why| why.to_string())?;
            Ok(proof::redacted(came, &checks, &live))
        };
        let is_long = offload::is_long(&held.delivery.body);
        delivery = match offload::run(is_long, check).await {
            Ok(proven) => Cow::Owned(proven),
            Err(why) => {
                let mut result = failure::empty(DeliveryStatus::Quarantined);
                result.error = Some(why);
                return keep_evidence(result);
            }
        };
    }
    let converting = trace::span("convert", SpanKind::Internal);
    // A good delivery does not wait behind others of its connection that fail.
    let is_first = budget == CallBudget::Leased
        && !was_tried
        && pipeline.plugins.is_in_doubt(&plugin, live.lane(budget));
    let first = if is_first {
        CallBudget::FirstTry
    } else {
        budget
    };
    let chosen = rollout::convert(pipeline, &live, &plugin, &delivery, first);
    let mut chosen = converting.run(chosen).await;
    let mut is_too_long = false;
    if is_first
        && let Err(ConvertError::Call(
            error @ (CallError::OutOfTime { .. } | CallError::CircuitOpen { .. }),
        )) = &chosen.converted
    {
        is_too_long = matches!(error, CallError::OutOfTime { .. });
        let again = rollout::convert(pipeline, &live, &plugin, &delivery, budget);
        chosen = converting.run(again).await;
    }
    intake::describe_conversion(&converting, &chosen);
    drop(converting);
    if !chosen.is_older {
        let (plugin, converted) = (&chosen.plugin, &chosen.converted);
        source_changes::converted(pipeline, &live, plugin, &delivery, converted, true);
    }
    match chosen.converted {
        Ok(converted) => converted.result,
        Err(error @ ConvertError::Call(CallError::CircuitOpen { .. })) => ConversionResult {
            // It is not tried briefly again.
            ran: is_too_long.then(|| ran.clone()),
            ..failed(&error)
        },
        Err(error) => {
            tracing::warn!(delivery = %delivery.id, plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "conversion failed again");
            let mut result = failed(&error);
            if matches!(error, ConvertError::Call(CallError::Busy)) {
                // Requests fill the queue: an immediate retry would only load the store
                // too.
                result.next_attempt_at = Some(pipeline.clock.now().plus(BUSY));
            }
            result
        }
    }
}
