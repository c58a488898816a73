//! When a round is due: every so many seconds, at once when somebody hurries or
//! the round before left something, on one host at a time. Every host tells the
//! store which zones it was asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::leave::{Cut, Leave};
use super::round;
use crate::limits;
use crate::pipeline::fleet::Job;
use crate::pipeline::state::Pipeline;
use crate::shutdown::Shutdown;

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut rounds = Rounds::new(&pipeline);
    let mut hurried = false;
    while !shutdown.has_begun() {
        let rest = match rounds.tend(&pipeline, hurried).await {
            Ok(rest) => rest,
            Err(why) => {
                tell(&why);
                rounds.period.min(Job::period())
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

fn tell(why: &Cut) {
    match why {
        Cut::Store(error) if error.is_told() => {}
        Cut::Store(error) => {
            tracing::warn!(%error, "analytics cannot be counted now; what it shows stays as it was");
        }
        Cut::Stopping | Cut::CutOff | Cut::AnotherHost => {
            tracing::debug!(%why, "a round of analytics was cut");
        }
    }
}

struct Rounds {
    job: Job,
    period: Duration,
    /// The next round.
    due: Instant,
    /// The next time that the store hears of zones.
    note_due: Instant,
}

impl Rounds {
    fn new(pipeline: &Pipeline) -> Self {
        let shortest = Duration::from_millis(limits::ROLLUP_REST_MS);
        let period = Duration::from_secs(pipeline.core.config.analytics.refresh_seconds);
        let now = Instant::now();
        Self {
            job: Job::new("analytics"),
            period: period.max(shortest),
            due: now,
            note_due: now,
        }
    }

    /// Does what is due; how long there is nothing to do.
    async fn tend(&mut self, pipeline: &Arc<Pipeline>, hurried: bool) -> Result<Duration, Cut> {
        if pipeline.core.store.outage().is_some() || !pipeline.fleet.is_current() {
            return Ok(Job::period());
        }
        if hurried || Instant::now() >= self.note_due {
            self.note_due = Instant::now() + self.period;
            pipeline.rollup.zones.note(&*pipeline.core.store).await?;
        }
        // What is counted twice is counted once: the fence guards nothing here.
        if self.job.hold(pipeline).await?.is_none() {
            // Whoever takes over does not know when it was done last.
            self.due = Instant::now();
            return Ok(Job::period().min(self.period));
        }
        if hurried || Instant::now() >= self.due {
            self.due = Instant::now() + self.period;
            let _turn = pipeline.rollup.turn.lock().await;
            let mut leave = Leave::of_holder(pipeline, &mut self.job);
            if round::round(pipeline, &mut leave).await?.more {
                self.due = Instant::now();
            }
        }
        let rest = self.due.saturating_duration_since(Instant::now());
        // Alone, nobody waits for the job.
        Ok(if pipeline.core.store.is_shared() {
            rest.min(Job::period())
        } else {
            rest
        })
    }
}
