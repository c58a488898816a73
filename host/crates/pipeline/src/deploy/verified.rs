//! The comparison of a candidate with the active version.

use std::sync::Arc;

use super::Concern;
use crate::verify::VerifyReport;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::plugin::Digest;
use leadhost_plugin::Loaded;

#[derive(Debug)]
pub struct Verified {
    pub candidate: Arc<Loaded>,
    pub golden: u32,
    /// The active version, as the store has it.
    pub active: Option<Digest>,
    pub against: Option<Arc<Loaded>>,
    pub report: VerifyReport,
    /// The differences that exceed the policy of the configuration, each in a sentence.
    pub drift: Vec<String>,
    /// The other concerns that an activation would raise. Only a verification that an operator has
    /// asked for finds them.
    pub concerns: Vec<Concern>,
}

impl Verified {
    pub fn drift_concerns(&self) -> impl Iterator<Item = Concern> {
        let drift = self.drift.iter().cloned();
        drift.map(|what| Concern::new(AcceptWord::Drift, what))
    }
}
