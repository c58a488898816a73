//! The checks of a project, such as a type check, beside its build: what they find is shown, and keeps
//! nothing from being served.

use tokio::task::JoinHandle;

use super::builder::{self, BuildOutcome};
use crate::cli::prelude::*;
use leadhost_config::shutdown::Shutdown;

/// The checks that run, if any do.
#[derive(Default)]
pub struct Checking(Option<JoinHandle<()>>);

impl Checking {
    pub fn start(folder: &Path, commands: &[String], shutdown: &Shutdown) -> Self {
        if commands.is_empty() {
            return Self(None);
        }
        let (folder, commands) = (folder.to_owned(), commands.to_vec());
        let shutdown = shutdown.clone();
        Self(Some(tokio::spawn(async move {
            let ended = builder::run(&folder, &commands, "checking", &shutdown).await;
            if let Ok(BuildOutcome::Failed { said, .. }) = ended {
                complain(&said);
                complain!(
                    "FAILED checking ({}); what was built is served all the same.",
                    commands.join("; ")
                );
            }
        })))
    }

    /// Waits for their end.
    pub async fn done(&mut self) {
        if let Some(running) = self.0.take() {
            let _ = running.await;
        }
    }
}

/// Those of an older build say nothing of a newer one.
impl Drop for Checking {
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            running.abort();
        }
    }
}
