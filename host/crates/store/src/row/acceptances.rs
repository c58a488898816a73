//! Acceptances that wait for a second key.

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::acceptance::FirstAcceptance;
use leadhost_domain::plugin::Digest;

/// Reads an acceptance.
pub fn acceptance(row: &impl RowColumns) -> Result<FirstAcceptance, StoreError> {
    Ok(FirstAcceptance {
        digest: Digest(row.text("digest")?),
        key: row.id("key_id")?,
        label: row.text("label")?,
        name: row.text("name")?,
        concerns: row.json("concerns")?,
        at: row.time("accepted_at")?,
        until: row.time("expires_at")?,
    })
}
