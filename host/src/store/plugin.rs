//! Components that the store keeps, which of them serve, and what was refused.

use serde::Serialize;

use crate::domain::exchange::SenderChecks;
use crate::domain::plugin::{Description, Digest, PluginKind};
use crate::domain::publisher::Publisher;
use crate::domain::time::Micros;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRecord {
    pub digest: Digest,
    pub description: Description,
    /// `leadhost:converter@1.0.0`, or an adapter's.
    pub contract: String,
    pub bytes: u64,
    /// What it checks under the empty configuration: an activation that weakens this asks first.
    pub checks: SenderChecks,
    /// Golden cases that it carries and passed.
    pub golden: u32,
    /// `upload`, or the file that it came from.
    pub origin: String,
    /// Who it comes from.
    pub publisher: Publisher,
    pub stored_at: Micros,
}

impl PluginRecord {
    /// None: stored by a later version of the service, which knows more kinds.
    pub fn kind(&self) -> Option<PluginKind> {
        PluginKind::of_contract(&self.contract)
    }
}

#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    pub name: String,
    pub digest: Digest,
    /// What served before: ready for a rollback.
    pub previous: Option<Digest>,
    pub generation: i64,
    pub activated_at: Micros,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub origin: String,
    pub digest: Option<Digest>,
    pub reason: String,
    pub at: Micros,
}
