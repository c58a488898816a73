//! Periodic jobs, each run by one host at a time. The host that holds a job renews its
//! lease; another host takes the job over when the lease expires.

use crate::prelude::*;
use leadhost_store::Fence;

pub struct FleetJob {
    name: &'static str,
    held: Option<Fence>,
}

impl FleetJob {
    /// Returns a job that this host does not hold yet. All hosts call it by the same name.
    pub fn new(name: &'static str) -> Self {
        Self { name, held: None }
    }

    /// Acquires the job or renews the lease. `None` if another host holds it.
    pub async fn hold(&mut self, pipeline: &Pipeline) -> Result<Option<Fence>, StoreError> {
        let host = pipeline.fleet.host();
        let held = pipeline
            .store
            .hold_job(self.name, host, limits::JOB_LEASE)
            .await?;
        if pipeline.store.is_shared() && held.is_some() && held != self.held {
            tracing::info!(job = self.name, "job acquired");
        }
        self.held = held;
        Ok(held)
    }

    pub async fn leave(&mut self, pipeline: &Pipeline) {
        if self.held.take().is_some()
            && let Err(error) = pipeline
                .store
                .leave_job(self.name, pipeline.fleet.host())
                .await
        {
            tracing::debug!(job = self.name, %error, "job not released, its lease will expire");
        }
    }

    pub fn period() -> Duration {
        limits::JOB_LEASE / 3
    }
}
