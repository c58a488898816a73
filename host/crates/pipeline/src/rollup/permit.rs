//! Permission for a round to continue: the round ends when this host stops or is cut off,
//! or another host holds the job.

use crate::fleet::FleetJob;
use crate::prelude::*;

/// Why a round ended early. The next one does the rest; the shown counts stay as of the run
/// before.
#[derive(Debug, thiserror::Error)]
pub enum RoundStop {
    #[error("this host is stopping")]
    Stopping,
    #[error("this host was cut off and is catching up with the other hosts")]
    CutOff,
    #[error("another host does the job now")]
    AnotherHost,
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct RoundPermit<'a> {
    pipeline: &'a Pipeline,
    /// The job that must be held, and when to renew its lease.
    job: Option<(&'a mut FleetJob, Instant)>,
}

impl<'a> RoundPermit<'a> {
    /// For a round on request.
    pub fn new(pipeline: &'a Pipeline) -> Self {
        Self {
            pipeline,
            job: None,
        }
    }

    /// For the holder of the job, as long as it holds it.
    pub fn for_holder(pipeline: &'a Pipeline, job: &'a mut FleetJob) -> Self {
        Self {
            pipeline,
            job: Some((job, Instant::now())),
        }
    }

    pub async fn check(&mut self) -> Result<(), RoundStop> {
        let pipeline = self.pipeline;
        if pipeline.shutdown.has_begun() {
            return Err(RoundStop::Stopping);
        }
        if let Some(outage) = pipeline.store.outage() {
            return Err(StoreError::Lost(outage.reason).into());
        }
        if !pipeline.fleet.is_current() {
            return Err(RoundStop::CutOff);
        }
        if let Some((job, again)) = &mut self.job
            && Instant::now() >= *again
        {
            *again = Instant::now() + FleetJob::period();
            if job.hold(pipeline).await?.is_none() {
                return Err(RoundStop::AnotherHost);
            }
        }
        self.live_traffic_first().await;
        Ok(())
    }

    /// Lets writes with waiting callers go first, for a bounded time.
    async fn live_traffic_first(&self) {
        for _ in 0..limits::ROLLUP_WAITS {
            if !self.pipeline.writer.is_waited_for() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
