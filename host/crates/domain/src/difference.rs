//! Differences between the results of two versions of a plugin.

use super::word::words;

words! {
    /// The change of a field from the version that serves to the candidate.
    DifferenceKind: "the change" {
        /// The field had a value, and has none with the candidate.
        Lost = "lost",
        /// The field had no value, and has one with the candidate.
        Gained = "gained",
        Changed = "changed",
    }
}

words! {
    /// The kind of an item, or of what a version makes of a send.
    ItemKind: "the kind of an item" {
        Lead = "lead",
        Fetch = "fetch",
        Event = "event",
        Ignored = "ignored",
        Invalid = "invalid",
        Unrouted = "unrouted",
        /// The request of a send.
        Send = "send",
        /// The reading of a provider's answer to a send.
        Answer = "answer",
    }
}

impl ItemKind {
    /// Returns whether it is a lead, or a pointer to one that is to be fetched.
    pub fn is_lead(self) -> bool {
        matches!(self, Self::Lead | Self::Fetch)
    }
}
