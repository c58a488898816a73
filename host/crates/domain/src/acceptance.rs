//! The acceptance by an admin key of a version with further permissions than the one before it, until a second
//! key accepts it too.

use serde::{Deserialize, Serialize};

use super::accept::AcceptWord;
use super::id::KeyId;
use super::plugin::Digest;
use super::time::Micros;

/// The acceptance of a version by the first of two admin keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstAcceptance {
    pub digest: Digest,
    pub key: KeyId,
    /// The label of the key.
    pub label: String,
    /// The plugin's name.
    pub name: String,
    /// The accepted concerns. It does not count for a version that could do anything else.
    pub concerns: Vec<AcceptedConcern>,
    pub at: Micros,
    /// It does not count from then on.
    pub until: Micros,
}

/// A change that an operator accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedConcern {
    /// The word that accepts it, such as `new-hosts`.
    pub accept: AcceptWord,
    pub what: String,
}
