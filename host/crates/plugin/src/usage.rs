//! The usage of one call, measured against its limits. Only callers that show it to a person ask for it.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct CallUsage {
    pub processor: Duration,
    /// The bytes of all linear memories together. They never shrink, so this is their peak.
    pub memory: u64,
    /// The instructions that the guest executed, by the engine's fuel; known only if the engine is one
    /// that counts them.
    pub instructions: Option<u64>,
    /// Standard output and error, line by line, also of a call that failed.
    pub log: Vec<String>,
}
