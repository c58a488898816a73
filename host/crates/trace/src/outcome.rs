//! The words of a trace for how a step ended.

use std::borrow::Cow;

use super::record::SpanValue;
use leadhost_domain::word::words;

words! {
    /// How a step ended that did its work, in an attribute such as `leadhost.check.outcome`.
    StepOutcome: "the outcome of a step" {
        /// A sender or a client proved who it is.
        Passed = "passed",
        /// It did not.
        Refused = "refused",
        /// The items of a fetched lead are stored.
        Completed = "completed",
        /// A provider took a message.
        Accepted = "accepted",
    }
}

words! {
    /// The class of the error of a step that failed, in `error.type`.
    StepFailure: "the class of an error" {
        /// The store failed.
        Store = "store",
        /// A delivery could not be stored, so that its sender has to send it again.
        NotStored = "not_stored",
        /// The plugin did not say which sender checks there are.
        ChecksUnknown = "checks_unknown",
        /// The connection does not allow the conversion.
        Connection = "connection",
        /// A fetch that is tried again.
        Retry = "retry",
        /// A fetch that is tried again, after the connection's fetches were paused.
        Stopped = "stopped",
        /// A fetch that was given up.
        Failed = "failed",
        /// The message stays with another host, or waits.
        NotBegun = "not_begun",
        /// It is not known whether a provider took a message.
        Unknown = "unknown",
    }
}

impl From<StepOutcome> for SpanValue {
    fn from(outcome: StepOutcome) -> Self {
        outcome.as_str().into()
    }
}

impl From<StepFailure> for Cow<'static, str> {
    fn from(failure: StepFailure) -> Self {
        Self::Borrowed(failure.as_str())
    }
}
