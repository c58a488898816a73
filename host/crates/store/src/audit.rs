//! Pages of the audit.

use leadhost_domain::audit::AuditCheckpoint;
use leadhost_domain::time::Micros;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only acts of keys with this label.
    pub actor: Option<String>,
    pub act: Option<String>,
    pub since: Option<Micros>,
    pub before: Option<i64>,
    /// Without the rows with which acts began whose outcome another row has.
    pub folded: bool,
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditExtent {
    /// The number of the newest row, or 0.
    pub newest: i64,
    /// The last row that was removed after its retention.
    pub removed: AuditCheckpoint,
}
