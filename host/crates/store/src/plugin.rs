//! Stored plugins, their activations, and refused ones.

use serde::Serialize;

use leadhost_domain::exchange::SenderChecks;
use leadhost_domain::plugin::{Description, Digest, PluginKind};
use leadhost_domain::publisher::Publisher;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRecord {
    pub digest: Digest,
    pub description: Description,
    /// `leadhost:converter@1.0.0`, or an adapter's.
    pub contract: String,
    pub bytes: u64,
    /// The sender checks under an empty configuration. An activation that weakens them needs a
    /// confirmation.
    pub checks: SenderChecks,
    pub golden: u32,
    /// `upload`, the address in a registry with its digest, or the name of the file in the inbox.
    pub origin: String,
    pub publisher: Publisher,
    pub stored_at: Micros,
}

impl PluginRecord {
    /// Returns the kind. `None`: a later version of the service, which knows more kinds, stored
    /// it.
    pub fn kind(&self) -> Option<PluginKind> {
        PluginKind::from_contract(&self.contract)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    pub name: String,
    pub digest: Digest,
    /// The version that served before, for a rollback.
    pub previous: Option<Digest>,
    pub generation: i64,
    pub activated_at: Micros,
}

/// A file of the inbox that was refused.
#[derive(Clone, Debug)]
pub struct PluginRefusal {
    pub origin: String,
    /// `None` if the same bytes may be accepted later.
    pub digest: Option<Digest>,
    pub plugin: Option<String>,
    pub reason: String,
    pub at: Micros,
    /// When another version was activated under the name, or the file changed or was removed. The
    /// refusal is no longer shown then, but its bytes stay refused.
    pub overtaken_at: Option<Micros>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginRemoval {
    Removed,
    /// No version has this digest.
    Unknown,
    /// Nothing was removed, because these name it.
    Named(Vec<PluginUse>),
}

/// A use that still names a stored version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginUse {
    Active,
    /// A rollback would activate it.
    Previous,
    /// Hosts prepare it for an activation.
    Activation,
    /// It is a version of the last rollout, open or ended.
    Rollout,
    /// It has to read the answers to fetches that it asked for.
    Fetches,
    /// It converted deliveries that are kept.
    Deliveries,
    /// An open repair replays what it converted.
    Repair,
}

impl std::fmt::Display for PluginUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Active => "it is active",
            Self::Previous => "a rollback would activate it",
            Self::Activation => "it is being activated",
            Self::Rollout => "the last rollout of the plugin names it, until the next one begins",
            Self::Fetches => "leads that it began to fetch are not finished",
            Self::Deliveries => "it converted deliveries that are kept (retention.deliveries_days)",
            Self::Repair => "an open repair replays what it converted",
        })
    }
}
