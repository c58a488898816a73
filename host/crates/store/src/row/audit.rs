//! Rows of the audit.

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::audit::AuditRow;

/// Reads a row of the audit.
pub fn audit_row(row: &impl RowColumns) -> Result<AuditRow, StoreError> {
    Ok(AuditRow {
        number: row.number("number")?,
        at: row.time("at")?,
        key_id: row.id_if("key_id")?,
        label: row.text("label")?,
        role: row.word_if("audit", "role", |word| word.parse().ok())?,
        address: row.text("address")?,
        act: row.text("act")?,
        target: row.text("target")?,
        outcome: row.word("audit", "outcome", |word| word.parse().ok())?,
        begun: row.number_if("begun")?,
        detail: row.text("detail")?,
        hash: row.text("hash")?,
    })
}
