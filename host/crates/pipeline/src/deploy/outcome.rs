//! Where a component came from, and the result of its deployment.

use super::concern::Concern;
use crate::prelude::*;
use crate::verify::VerifyReport;
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::host_names::Behind;
use leadhost_domain::plugin::Description;
use leadhost_domain::publisher::Publisher;

#[derive(Clone, Debug)]
pub struct ComponentOrigin {
    /// `upload`, the address in a registry with its digest, or the file name.
    pub name: String,
    pub publisher: Publisher,
}

impl ComponentOrigin {
    pub fn upload(key: KeyId) -> Self {
        Self {
            name: "upload".to_owned(),
            publisher: Publisher::AdminKey(key),
        }
    }

    #[must_use]
    pub fn from_registry(self, address: Option<&str>) -> Self {
        Self {
            name: address.map_or(self.name, str::to_owned),
            ..self
        }
    }
}

impl From<&str> for ComponentOrigin {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            publisher: Publisher::from_origin(name),
        }
    }
}

#[derive(Debug)]
pub struct Activated {
    pub activation: Activation,
    /// The version that was active before: the same one, if that was activated again.
    pub before: Option<Digest>,
    /// Live hosts that had not switched when the time for it was up.
    pub behind: Vec<Behind>,
    /// The comparison with the version that was active before. A rollback makes none.
    pub verified: Option<Box<Verified>>,
    pub accepted: Vec<Concern>,
}

#[derive(Debug)]
pub struct CheckReport {
    pub digest: Digest,
    pub description: Description,
    pub kind: PluginKind,
    pub contract: String,
    pub golden: u32,
    pub publisher: Publisher,
    pub concerns: Vec<Concern>,
}

#[derive(Debug)]
pub struct Deployed {
    pub record: PluginRecord,
    pub activation: Option<Activated>,
}

#[derive(Debug)]
pub struct Verified {
    pub candidate: Arc<Loaded>,
    pub golden: u32,
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
