//! Hosts that start at the same time on one database take turns for their first steps: one of them
//! creates the first admin key and applies the first workspace file, and the others find them.

use tokio::task::JoinHandle;

use crate::cli::prelude::*;
use leadhost_pipeline::Pipeline;
use leadhost_pipeline::fleet::FleetJob;

/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(200);

/// This host's turn, which ends with `end` or with the process.
pub struct StartTurn(Option<JoinHandle<()>>);

const JOB: &str = "first start";

impl StartTurn {
    /// Waits until no other host is at its first steps. If a host dies during them, its turn ends
    /// when its lease of the job expires.
    pub async fn wait(pipeline: &Arc<Pipeline>) -> CommandResult<Self> {
        if !pipeline.core.store.is_shared() {
            return Ok(Self(None));
        }
        let mut job = FleetJob::new(JOB);
        loop {
            let held = job.hold(pipeline).await;
            let held = held.map_err(|error| CommandFailure::new(error.to_string()))?;
            if held.is_some() {
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
        // The steps compile components and may outlast the lease, so renew it.
        let pipeline = Arc::clone(pipeline);
        let holding = tokio::spawn(async move {
            loop {
                tokio::time::sleep(FleetJob::period()).await;
                if let Err(error) = job.hold(&pipeline).await {
                    tracing::debug!(%error, "lease of the first start not renewed");
                }
            }
        });
        Ok(Self(Some(holding)))
    }

    /// Ends the turn, so that the next host can begin. If the store fails, the lease expires by
    /// itself.
    pub async fn end(self, pipeline: &Arc<Pipeline>) {
        let Some(holding) = self.0 else {
            return;
        };
        holding.abort();
        let host = pipeline.fleet.host();
        if let Err(error) = pipeline.core.store.leave_job(JOB, host).await {
            tracing::debug!(%error, "lease of the first start not released; it expires");
        }
    }
}
