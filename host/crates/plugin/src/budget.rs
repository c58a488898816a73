//! The processor time of a call.

/// The processor time that a call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallBudget {
    /// Inside a request: short. Past it the delivery waits for the worker.
    Inline,
    /// As short as inside a request, for an answer that the request needs: the call waits
    /// longer for its turn.
    Brief,
    /// As short as [`CallBudget::Brief`], for a call by whose result another version is judged: it
    /// is made even while the circuit breaker is open.
    Control,
    /// The worker's budget: past it the version is at fault.
    Worker,
    /// The worker's budget, for a delivery whose lease is renewed while its conversion runs: on a busy
    /// machine the call waits for its processor time for as long as it takes, within a bound.
    Leased,
    /// Shorter than inside a request, for a delivery that has not failed yet while others of its connection
    /// do: it is made even while the circuit breaker is open, and its failure counts for nothing.
    FirstTry,
    /// The worker's budget, for an operator who requests this very call: it is made even
    /// while the circuit breaker is open.
    Operator,
    /// The worker's budget, for the trial of a version: its failures count for no
    /// connection.
    Trial,
}

impl CallBudget {
    /// Returns whether the call's result may have an effect, beyond the answer to the caller.
    pub fn has_effects(self) -> bool {
        self != Self::Trial
    }

    /// Returns whether the call is one of live traffic or of the worker, to which other work gives way.
    pub fn is_live(self) -> bool {
        self.has_effects() && self != Self::Operator
    }

    /// Returns whether the call has at most the processor time of one inside a request.
    pub fn is_short(self) -> bool {
        matches!(
            self,
            Self::Inline | Self::Brief | Self::Control | Self::FirstTry
        )
    }
}
