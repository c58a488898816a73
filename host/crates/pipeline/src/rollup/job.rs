//! Schedules rounds: periodically, and at once on request or if the round before left work,
//! on one host at a time. Every host stores which zones were requested from it.

use super::permit::{RoundPermit, RoundStop};
use super::round;
use crate::fleet::FleetJob;
use crate::prelude::*;

/// Runs the rounds until the drain begins, then gives the job back to the other hosts.
pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut rounds = RollupSchedule::new(&pipeline);
    let mut hurried = false;
    while !shutdown.has_begun() {
        let rest = match rounds.tend(&pipeline, hurried).await {
            Ok(rest) => rest,
            Err(why) => {
                log_cut(&why);
                rounds.period.min(FleetJob::period())
            }
        };
        hurried = tokio::select! {
            () = pipeline.rollup.due.notified() => true,
            () = tokio::time::sleep(rest) => false,
            () = shutdown.begun() => false,
        };
    }
    rounds.job.leave(&pipeline).await;
}

fn log_cut(why: &RoundStop) {
    match why {
        RoundStop::Store(error) if error.is_logged() => {}
        RoundStop::Store(error) => {
            tracing::warn!(%error, "analytics round failed, the shown counts stay as they were");
        }
        RoundStop::Stopping | RoundStop::CutOff | RoundStop::AnotherHost => {
            tracing::debug!(%why, "analytics round ended early");
        }
    }
}

struct RollupSchedule {
    job: FleetJob,
    period: Duration,
    due: Instant,
    /// The next time that zones are stored.
    note_due: Instant,
}

impl RollupSchedule {
    fn new(pipeline: &Pipeline) -> Self {
        let shortest = limits::ROLLUP_REST;
        let period = Duration::from_secs(pipeline.config.analytics.refresh_seconds);
        let now = Instant::now();
        Self {
            job: FleetJob::new("analytics"),
            period: period.max(shortest),
            due: now,
            note_due: now,
        }
    }

    /// Does what is due. Returns how long to wait.
    async fn tend(
        &mut self,
        pipeline: &Arc<Pipeline>,
        hurried: bool,
    ) -> Result<Duration, RoundStop> {
        if pipeline.store.outage().is_some() || !pipeline.fleet.is_current() {
            return Ok(FleetJob::period());
        }
        if hurried || Instant::now() >= self.note_due {
            self.note_due = Instant::now() + self.period;
            pipeline.rollup.zones.note(&pipeline.store).await?;
        }
        // Idempotent: counting a step twice has no effect, so the fencing token is not
        // checked.
        if self.job.hold(pipeline).await?.is_none() {
            // Another host holds the job; when this one takes over, a round is due.
            self.due = Instant::now();
            return Ok(FleetJob::period().min(self.period));
        }
        if hurried || Instant::now() >= self.due {
            self.due = Instant::now() + self.period;
            let _turn = pipeline.rollup.turn.lock().await;
            let mut permit = RoundPermit::for_holder(pipeline, &mut self.job);
            if round::round(pipeline, &mut permit).await?.more {
                self.due = Instant::now();
            }
        }
        let rest = self.due.saturating_duration_since(Instant::now());
        // On a store that is not shared, no other host waits for the job.
        Ok(if pipeline.store.is_shared() {
            rest.min(FleetJob::period())
        } else {
            rest
        })
    }
}
