//! Periodic jobs, each done by one host at a time. Whoever holds a job says so
//! again and again; another host takes it over when that ends.

use std::time::Duration;

use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::store::{Fence, StoreError};

/// A job as this host tries to do it.
pub struct Job {
    name: &'static str,
    held: Option<Fence>,
}

impl Job {
    pub fn new(name: &'static str) -> Self {
        Self { name, held: None }
    }

    /// Takes the job or goes on holding it. `None`: another host does it.
    pub async fn hold(&mut self, pipeline: &Pipeline) -> Result<Option<Fence>, StoreError> {
        let host = pipeline.fleet.host();
        let held = pipeline
            .core
            .store
            .hold_job(self.name, host, limits::JOB_SECONDS)
            .await?;
        if pipeline.core.store.is_shared() && held.is_some() && held != self.held {
            tracing::info!(job = self.name, "this host does the job");
        }
        self.held = held;
        Ok(held)
    }

    /// Lets another host have it at once.
    pub async fn leave(&mut self, pipeline: &Pipeline) {
        if self.held.take().is_some()
            && let Err(error) = pipeline
                .core
                .store
                .leave_job(self.name, pipeline.fleet.host())
                .await
        {
            tracing::debug!(job = self.name, %error, "the job is free when its time is up");
        }
    }

    /// Until it is to be held again.
    pub fn period() -> Duration {
        Duration::from_secs(u64::from(limits::JOB_SECONDS) / 3)
    }
}
