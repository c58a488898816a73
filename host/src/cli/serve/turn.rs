//! Hosts that start at once on the same database do their first steps in turn:
//! the first admin key and the first workspace file are made by one of them, and
//! the others find them there.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::app::App;
use crate::cli::failure::Failure;
use crate::pipeline::fleet::Job;

/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(200);

/// This host's turn, until it ends or the process does.
pub struct Turn(Option<JoinHandle<()>>);

const JOB: &str = "first start";

impl Turn {
    /// Returns when no other host is at its first steps. One that died at them is
    /// waited for as long as it may hold a job.
    pub async fn wait(app: &Arc<App>) -> Result<Self, Failure> {
        if !app.store.is_shared() {
            return Ok(Self(None));
        }
        let mut job = Job::new(JOB);
        loop {
            let held = job.hold(app).await;
            let held = held.map_err(|error| Failure::new(error.to_string()))?;
            if held.is_some() {
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
        // The steps may take longer than a job is held: components are compiled.
        let app = Arc::clone(app);
        let holding = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Job::period()).await;
                if let Err(error) = job.hold(&app).await {
                    tracing::debug!(%error, "the turn at the first steps may pass on");
                }
            }
        });
        Ok(Self(Some(holding)))
    }

    pub async fn end(self, app: &App) {
        let Some(holding) = self.0 else {
            return;
        };
        holding.abort();
        let host = app.fleet.host();
        if let Err(error) = app.store.leave_job(JOB, host).await {
            tracing::debug!(%error, "the next host's turn comes when this one's time is up");
        }
    }
}
