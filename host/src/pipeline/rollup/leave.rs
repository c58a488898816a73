//! Whether a round may go on: it ends when this host stops, is cut off, or when
//! another host does the job.

use std::time::{Duration, Instant};

use crate::limits;
use crate::pipeline::fleet::Job;
use crate::pipeline::state::Pipeline;
use crate::store::StoreError;

/// Why a round ended before its end. What it did not come to is done in the next;
/// what is shown stays as of the run before.
#[derive(Debug, thiserror::Error)]
pub enum Cut {
    #[error("this host is stopping")]
    Stopping,
    #[error("this host was cut off and is catching up with the others")]
    CutOff,
    #[error("another host does the job now")]
    AnotherHost,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looked at before each step.
pub struct Leave<'a> {
    pipeline: &'a Pipeline,
    /// That has to be held meanwhile, and when it is to be held again.
    job: Option<(&'a mut Job, Instant)>,
}

impl<'a> Leave<'a> {
    /// To whoever is asked for a round.
    pub fn of(pipeline: &'a Pipeline) -> Self {
        Self {
            pipeline,
            job: None,
        }
    }

    /// To who holds the job, as long as it does.
    pub fn of_holder(pipeline: &'a Pipeline, job: &'a mut Job) -> Self {
        Self {
            pipeline,
            job: Some((job, Instant::now())),
        }
    }

    pub async fn is_given(&mut self) -> Result<(), Cut> {
        let pipeline = self.pipeline;
        if pipeline.core.shutdown.has_begun() {
            return Err(Cut::Stopping);
        }
        if let Some(outage) = pipeline.core.store.outage() {
            return Err(StoreError::Lost(outage.reason).into());
        }
        if !pipeline.fleet.is_current() {
            return Err(Cut::CutOff);
        }
        if let Some((job, again)) = &mut self.job
            && Instant::now() >= *again
        {
            *again = Instant::now() + Job::period();
            if job.hold(pipeline).await?.is_none() {
                return Err(Cut::AnotherHost);
            }
        }
        self.live_traffic_first().await;
        Ok(())
    }

    /// What somebody waits for is written first, within reason.
    async fn live_traffic_first(&self) {
        for _ in 0..limits::ROLLUP_WAITS {
            if !self.pipeline.core.writer.is_waited_for() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
