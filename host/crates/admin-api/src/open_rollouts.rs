use crate::prelude::*;
use leadhost_domain::rollout::RolloutStage;

/// A version of a rollout.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RolloutVersion {
    /// Null if the store no longer has the version.
    pub version: Option<String>,
    pub digest: Digest,
}

/// The open rollout of a plugin, in short.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenRollout {
    pub candidate: RolloutVersion,
    pub stage: RolloutStage,
    pub paused: bool,
    /// The part of the deliveries that the candidate gets now, or that a shadow compares. Null before the
    /// first step, when it gets none, and in the probation, when it gets all of them.
    pub percent: Option<u8>,
    /// Seconds until the stage or step may end. They stand still during a pause.
    pub seconds_left: u64,
    /// The condition that a stage or step waits for: hosts that prepare the versions, or after its time more
    /// comparisons. Null if it waits for nothing else.
    pub waits_for: Option<String>,
}
