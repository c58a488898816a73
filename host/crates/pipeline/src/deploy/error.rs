//! Why a version is not deployed, with what an operator can do.

use std::fmt;

use super::super::fleet::FleetError;
use super::super::versions::VersionError;
use super::concern::{self, Concern};
use super::outcome::Verified;
use super::rollout::error::RolloutError;
use crate::prelude::*;
use leadhost_domain::publisher::PublicKey;
use leadhost_plugin::LoadError;

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No trusted key has signed it. `signer`: the key that has.
    #[error("{}", untrusted(digest, *signer))]
    Untrusted {
        digest: Digest,
        signer: Option<PublicKey>,
    },
    #[error(
        "{}: {}",
        not_done(name, version, *command),
        concern::describe(.concerns)
    )]
    Refused {
        name: String,
        version: String,
        command: DeployCommand,
        concerns: Vec<Concern>,
        verified: Option<Box<Verified>>,
    },
    #[error(
        "there is no plugin with digest {0}; run `leadhost plugin list` to see the stored ones"
    )]
    UnknownDigest(Digest),
    #[error("plugin `{name}` has no version {digest}: that digest belongs to `{found}`")]
    AnotherName {
        name: String,
        digest: Digest,
        found: String,
    },
    /// A version that is to be removed is still needed.
    #[error("{name}@{} is not removed: {}", digest.short(), by.join("; "))]
    Named {
        name: String,
        digest: Digest,
        by: Vec<String>,
    },
    #[error("no version of `{0}` was active before the current one")]
    NothingBefore(String),
    #[error(
        "no version of `{0}` was active before this one, so name the one to compare it with: `leadhost plugin list` shows the stored ones, and `--against DIGEST` takes one"
    )]
    NothingToCompare(String),
    #[error("there is no plugin `{0}`; run `leadhost plugin list` to see the stored ones")]
    UnknownPlugin(String),
    /// A rollback by a key that may not let a version do more.
    #[error(
        "{name} is not rolled back, because the previous version has permissions that the active one lacks: {what}; this needs a key with the role admin"
    )]
    Widening { name: String, what: String },
    /// Another version cannot be activated meanwhile.
    #[error(
        "a canary of {name}@{} is under way, which `{by}` started at {}: wait for its end, or end it with `leadhost plugin rollout abort {name}`",
        candidate.short(),
        at.to_the_second()
    )]
    CanaryOpen {
        name: String,
        candidate: Digest,
        by: String,
        at: Micros,
    },
    #[error("{0}")]
    Rollout(RolloutError),
    #[error(transparent)]
    Fleet(FleetError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FleetError> for DeployError {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Store(error) => Self::Store(error),
            other => Self::Fleet(other),
        }
    }
}

impl From<VersionError> for DeployError {
    fn from(error: VersionError) -> Self {
        match error {
            VersionError::Load(error) => Self::Load(error),
            VersionError::Store(error) => Self::Store(error),
        }
    }
}

/// A command that deploys a version. Its text is what an operator types after `leadhost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeployCommand {
    Activate,
    StartRollout,
}

impl fmt::Display for DeployCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Activate => "plugin publish",
            Self::StartRollout => "plugin rollout start",
        })
    }
}

fn not_done(name: &str, version: &str, command: DeployCommand) -> String {
    match command {
        DeployCommand::Activate => format!("{name} {version} is not activated"),
        DeployCommand::StartRollout => {
            format!("the rollout of {name} {version} is not started")
        }
    }
}

pub fn untrusted(digest: &Digest, signer: Option<PublicKey>) -> String {
    let digest = digest.short();
    match signer {
        None => format!(
            "the component {digest} is not signed, and this service takes only components that a key of plugins.trusted_keys has signed: sign it with `leadhost plugin publish FILE --key KEY_FILE`"
        ),
        Some(key) => format!(
            "the component {digest} is signed by {key}, which is not in plugins.trusted_keys: have it signed by a trusted key, or add this key there on every host and restart them"
        ),
    }
}

impl From<RolloutError> for DeployError {
    fn from(error: RolloutError) -> Self {
        Self::Rollout(error)
    }
}
