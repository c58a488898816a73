//! Does what waits: conversions that did not fit into their request, failed
//! ones that are due again, fetches, messages. Work is claimed with a lease, so
//! that what a dying host held is done by the next; at most `worker.concurrency`
//! pieces are in hand at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::convert::{self, ConvertError, Evidence};
use super::{fetch, send};
use crate::app::App;
use crate::clock;
use crate::domain::delivery::DeliveryStatus;
use crate::plugin::{Budget, CallError};
use crate::shutdown::Shutdown;
use crate::store::{ConversionResult, HeldDelivery, Job, Mode, Reconversion, Write};

/// How long the worker rests when nothing woke it: due times pass by themselves.
const REST: Duration = Duration::from_millis(250);

/// Seconds until a conversion that found the plugins' queue full is tried again.
const BUSY_SECONDS: i64 = 1;

pub async fn run(app: Arc<App>, shutdown: Shutdown) {
    let permits = Arc::new(Semaphore::new(app.config.worker.concurrency));
    while !shutdown.has_begun() {
        let free = u32::try_from(permits.available_permits()).unwrap_or(u32::MAX);
        let jobs = if free == 0 {
            vec![]
        } else {
            claim(&app, free).await
        };
        let idle = jobs.is_empty();
        for job in jobs {
            let permit = Arc::clone(&permits)
                .acquire_owned()
                .await
                .expect("the semaphore is never closed");
            let app_of_job = Arc::clone(&app);
            super::spawn(&app, async move {
                work(&app_of_job, job).await;
                drop(permit);
                app_of_job.pipeline.wake();
            });
        }
        if idle {
            tokio::select! {
                () = app.pipeline.wake.notified() => {}
                () = tokio::time::sleep(REST) => {}
                () = shutdown.begun() => {}
            }
        }
    }
}

/// Work in hand, and until when it is ours by the clock that counts suspension.
struct InHand {
    job: Job,
    lease: Held,
}

async fn claim(app: &App, limit: u32) -> Vec<InHand> {
    // A host that the others take for dead begins nothing.
    if app.store.outage().is_some() || !app.fleet.is_current() {
        return vec![];
    }
    // Before the store's answer, so that it ends here no later than there.
    let lease = Held::for_seconds(app.config.worker.lease_seconds);
    let now = app.clock.now();
    let until = now.plus_seconds(app.config.worker.lease_seconds);
    match app.store.backlog().await {
        Ok(backlog) => {
            app.pipeline
                .waiting
                .store(backlog.queued + backlog.failed, Ordering::Relaxed);
            app.metrics.backlog(&backlog, app.clock.now());
            if backlog.queued + backlog.failed + backlog.fetches + backlog.sends == 0 {
                return vec![];
            }
        }
        Err(error) if error.is_told() => return vec![],
        Err(error) => tracing::warn!(%error, "the backlog cannot be counted"),
    }
    match app.store.claim(limit, now, until).await {
        Ok(jobs) => jobs.into_iter().map(|job| InHand { job, lease }).collect(),
        Err(error) => {
            if !error.is_told() {
                tracing::warn!(%error, "no work can be claimed");
            }
            vec![]
        }
    }
}

async fn work(app: &Arc<App>, work: InHand) {
    match work.job {
        Job::Convert(held) => retry(app, *held).await,
        Job::Fetch(held) => fetch::run(app, *held, work.lease).await,
        Job::Send(held) => send::run(app, *held, work.lease).await,
    }
}

/// Until when a claim holds, as far as this host can know. It slept, was stopped
/// or waited too long past that: somebody else may have the work by now.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    until: Duration,
}

impl Held {
    pub fn for_seconds(seconds: i64) -> Self {
        let lasts = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        Self {
            until: clock::boot() + lasts,
        }
    }

    pub fn has_ended(self) -> bool {
        clock::boot() >= self.until
    }
}

/// Converts a waiting or failed delivery again and settles it.
pub async fn retry(app: &Arc<App>, held: HeldDelivery) {
    let id = held.delivery.id;
    let result = reconvert(app, &held).await;
    settle(
        app,
        Write::Convert(Box::new(Reconversion {
            delivery: id,
            lease: held.lease,
            mode: Mode::Retry,
            result,
        })),
    )
    .await;
}

/// Converts a held delivery with the version that serves now; whatever happens
/// is a result that can be settled.
pub async fn reconvert(app: &Arc<App>, held: &HeldDelivery) -> ConversionResult {
    let delivery = &held.delivery;
    let later = || {
        app.clock
            .now()
            .plus_seconds(convert::backoff_seconds(app, held.attempts.max(1)))
    };
    let keep_evidence = |mut result: ConversionResult| {
        result.presented.clone_from(&held.presented);
        result
    };
    let live = match app.pipeline.connections.get(&delivery.connection).await {
        Ok(Some(live)) => live,
        Ok(None) => {
            return keep_evidence(convert::waits(
                "its connection is gone",
                held.attempts,
                later(),
            ));
        }
        Err(error) => {
            return keep_evidence(convert::waits(&error.to_string(), held.attempts, later()));
        }
    };
    let Some(plugin) = app.plugins.active(&live.connection.plugin) else {
        let reason = format!("no version of `{}` is active", live.connection.plugin);
        return keep_evidence(convert::waits(&reason, held.attempts, later()));
    };
    let ran = plugin.ran_with(live.connection.config_version);
    let failures = if held
        .ran
        .as_ref()
        .is_some_and(|last| last.digest == ran.digest)
    {
        held.attempts
    } else {
        0
    };
    let failed =
        |error: &ConvertError| convert::after_failure(app, error, Some(ran.clone()), failures);

    let mut delivery = delivery.clone();
    if let Some(sealed) = &held.presented {
        // It was never checked: that comes first.
        let checks = match convert::checks(app, &live, &plugin).await {
            Ok(checks) => checks,
            Err(error) => return keep_evidence(failed(&error)),
        };
        let proven = Evidence::open(app, &delivery, sealed)
            .ok_or_else(|| "what the sender presented cannot be opened any more".to_owned())
            .and_then(|evidence| {
                evidence
                    .verify(&checks, &live, &delivery)
                    .map_err(|why| why.to_string())
            });
        if let Err(why) = proven {
            let mut result = convert::empty(DeliveryStatus::Quarantined);
            result.error = Some(why);
            return keep_evidence(result);
        }
        delivery = convert::redacted(&delivery, &checks, &live);
    }
    match convert::convert(app, &live, &plugin, &delivery, Budget::Worker).await {
        Ok(converted) => converted.result,
        Err(error) => {
            tracing::warn!(delivery = %delivery.id, plugin = %plugin.description.name, digest = plugin.digest.short(), %error, "the conversion failed again");
            let mut result = failed(&error);
            if matches!(error, ConvertError::Call(CallError::Busy)) {
                // Requests fill the queue: asking again at once would only
                // keep the store busy too.
                result.next_attempt_at = Some(app.clock.now().plus_seconds(BUSY_SECONDS));
            }
            result
        }
    }
}

/// Commits what came of a piece of work. A store that does not answer leaves
/// the lease to run out: the work is done again, and dedupe makes it one lead.
pub async fn settle(app: &App, write: Write) {
    match app.writer.submit_background(write).await {
        Ok(crate::store::Written::Done(outcome)) => app.metrics.delivery(outcome.status),
        Ok(_) => tracing::debug!("somebody else holds the work by now"),
        Err(error) if error.is_told() => {}
        Err(error) => {
            tracing::warn!(%error, "a piece of work cannot be settled; it is done again when its lease ends")
        }
    }
}
