//! A version of a plugin that is loaded and can be called.

use super::abi::Guest;
use super::error::CallOutcome;
use super::history::VersionHistory;
use super::warm::WarmInstances;
use crate::prelude::*;
use leadhost_domain::plugin::{RanWith, ReplySlot};
use leadhost_domain::publisher::PublicKey;
use leadhost_input::Schema;

/// The texts that each trace of a call has, shared by all of them.
#[derive(Clone, Debug)]
pub struct SharedNames {
    pub name: Arc<str>,
    pub version: Arc<str>,
    pub digest: Arc<str>,
}

pub struct Loaded {
    pub digest: Digest,
    pub kind: PluginKind,
    pub description: Description,
    pub names: SharedNames,
    /// Package and version of the contract, such as `leadhost:converter@1.0.0`.
    pub contract: String,
    pub bytes: u64,
    pub loaded_at: Micros,
    pub signer: Option<PublicKey>,
    /// Secrets that replies and handshakes of its golden cases use.
    pub reply_slots: Vec<ReplySlot>,
    /// Empty if its instances must be fresh.
    pub(super) warm: OnceLock<Arc<WarmInstances>>,
    /// The counts of its calls. Empty if they are not counted: in the tools of integrators.
    pub(super) history: OnceLock<Arc<VersionHistory>>,
    pub(super) imports_wasi: bool,
    pub(super) guest: Guest,
    /// `None` if the plugin takes no configuration.
    pub(super) schema: Option<Arc<Schema>>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} ({})",
            self.description.name,
            self.description.version,
            self.digest.short()
        )
    }
}

impl Loaded {
    /// Returns whether instances of this version may be made ahead of their calls.
    pub fn may_be_warm(&self) -> bool {
        self.warm.get().is_some()
    }

    /// Counts a call that has ended at this time.
    pub(super) fn count(&self, now: Micros, outcome: CallOutcome, handle: &CallHandle) {
        if let Some(history) = self.history.get() {
            history.add(now, outcome, handle);
        }
    }

    pub(super) fn cool(&self) {
        if let Some(warm) = self.warm.get() {
            warm.cool();
        }
    }

    /// Returns the identity of the version, for the record of a conversion with this
    /// configuration.
    pub fn ran_with(&self, config_version: i64) -> RanWith {
        RanWith {
            plugin: self.description.name.clone(),
            version: self.description.version.clone(),
            digest: self.digest.clone(),
            contract: self.contract.clone(),
            config_version,
            replayed: false,
        }
    }
}
