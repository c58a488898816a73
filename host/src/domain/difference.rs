//! Differences between the results of two versions of a plugin.

use super::word::words;

words! {
    /// The change of a field from the version that serves to the candidate.
    Change: "the change" {
        /// The field had a value, and has none with the candidate.
        Lost = "lost",
        /// The field had no value, and has one with the candidate.
        Gained = "gained",
        Changed = "changed",
    }
}
