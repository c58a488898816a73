use crate::prelude::*;
use leadhost_domain::audit::{AuditCheckpoint, AuditRow};

/// A page of the audit.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    pub rows: Vec<AuditRow>,
    /// The `before` of the next page, or its `after` if the request has one. Null on the last page.
    pub next: Option<i64>,
    /// The last row that was removed after its retention, which the first row of the chain follows: 0 and empty if
    /// none was.
    #[serde(default)]
    pub checkpoint: AuditCheckpoint,
}

columns! {
    AuditRow as row {
        "Row" => row.number,
        "Time" => row.at,
        "Key" => row.actor(),
        "Role" => row.role.map(Cell::word),
        "From" => &row.address,
        "Act" => &row.act,
        "Target" => &row.target,
        "Outcome" => Cell::word(row.outcome),
        "Detail" commands => &row.detail,
    }
}
