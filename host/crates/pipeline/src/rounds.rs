//! The rounds of a background task that looks whether something is open: often while it is, rarely
//! while nothing is, and at once after a signal.

use crate::prelude::*;
use tokio::sync::Notify;

/// Between two rounds while something is open, and after a round that failed.
const LOOK: Duration = Duration::from_secs(1);

/// Between two rounds while nothing is open, unless a signal arrives.
const REST: Duration = Duration::from_secs(5);

pub struct Rounds {
    /// The action that a failed round did not do, for the log.
    failure: &'static str,
    /// Whether it was logged since the last round that succeeded.
    logged: bool,
}

impl Rounds {
    /// Returns the rounds of a task that has made none yet. `failure` is what a round that fails
    /// did not do, for the log.
    pub fn new(failure: &'static str) -> Self {
        Self {
            failure,
            logged: false,
        }
    }

    /// Takes the result of a round, which is whether something is open, and waits for the next one:
    /// until its time, the signal or shutdown.
    pub async fn ended(
        &mut self,
        round: Result<bool, StoreError>,
        signal: &Notify,
        shutdown: &Shutdown,
    ) {
        let rest = self.rest(round);
        tokio::select! {
            () = signal.notified() => {}
            () = tokio::time::sleep(rest) => {}
            () = shutdown.begun() => {}
        }
    }

    fn rest(&mut self, round: Result<bool, StoreError>) -> Duration {
        match round {
            Ok(any) => {
                self.logged = false;
                if any { LOOK } else { REST }
            }
            Err(error) => {
                if !error.is_logged() && !self.logged {
                    self.logged = true;
                    tracing::warn!(what = self.failure, %error, "background work failed, retrying");
                }
                LOOK
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_polls_faster_while_something_is_open_or_has_failed() {
        let mut rounds = Rounds::new("not read");
        assert_eq!(rounds.rest(Ok(true)), LOOK);
        assert_eq!(rounds.rest(Ok(false)), REST);
        let failed = || Err(StoreError::Inconsistent { what: "x".into() });
        assert_eq!(rounds.rest(failed()), LOOK);
        assert!(rounds.logged, "the next failure is not logged");
        assert_eq!(rounds.rest(failed()), LOOK);
        assert_eq!(rounds.rest(Ok(false)), REST);
        assert!(!rounds.logged);
    }
}
