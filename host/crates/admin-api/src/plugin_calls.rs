use super::activity::ActivityPeriod;
use crate::prelude::*;

/// The calls of a plugin's versions in a period, on one host.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginCallHistory {
    /// The host that answers. Each host counts its own calls, in memory.
    pub host: String,
    /// When it began to count: at its start.
    pub counted_since: Micros,
    pub period: ActivityPeriod,
    /// When each slot begins, the oldest first. The last one has not ended.
    pub slots: Vec<Micros>,
    pub allowed: AllowedPerCall,
    /// One for each version that was called, the one with the most calls first.
    pub versions: Vec<VersionCallHistory>,
}

/// The limits of one call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedPerCall {
    /// Milliseconds of processor time (`plugins.deadline_ms`).
    pub processor_ms: u64,
    /// Milliseconds of processor time inside a request (`plugins.inline_ms`). A delivery that needs
    /// more waits for the worker.
    pub inline_processor_ms: u64,
    /// Bytes of all memories of the instance together (`plugins.memory_mib`).
    pub memory_bytes: u64,
    /// Bytes that the plugin may return (`plugins.output_mib`).
    pub output_bytes: u64,
}

/// The calls of one version, slot by slot. Trials and comparisons are not among them.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionCallHistory {
    /// The version that the plugin gives itself.
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// Calls by outcome: `ok`, `trapped`, `out_of_time`, `out_of_time_inline`, `out_of_memory`,
    /// `too_much_output`, `refused`, `lacks`, `busy`, `circuit_open` or `shutting_down`.
    pub outcomes: BTreeMap<String, Vec<u64>>,
    /// Microseconds of processor time of a call, on average. 0 if there was none.
    pub mean_processor_micros: Vec<u64>,
    /// Bytes of memory of the call that needed most.
    pub most_memory_bytes: Vec<u64>,
    /// All calls of the period.
    pub calls: u64,
    /// Microseconds of processor time of the longest call of the period.
    pub longest_processor_micros: u64,
    /// Bytes of memory of the call of the period that needed most.
    pub largest_memory_bytes: u64,
}

/// The golden cases that a version carries.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CarriedCases {
    pub version: String,
    /// The SHA-256 of the component.
    pub digest: Digest,
    /// In the order in which they run.
    pub cases: Vec<CarriedCase>,
}

/// A golden case.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CarriedCase {
    pub name: String,
    /// A description of the golden case, in one line.
    pub about: String,
    /// The function that it calls, such as `convert`.
    pub call: String,
    /// The size of its body.
    pub body_bytes: u64,
    /// The body, if this case is the only one that was asked for and the body is text. Null otherwise.
    pub body: Option<String>,
    /// The expected answer, if this case is the only one that was asked for. Null otherwise.
    pub expect: Option<serde_json::Value>,
}
