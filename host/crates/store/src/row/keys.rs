//! Keys, and the callers that they admit.

use std::collections::BTreeMap;

use super::{RowColumns, agents};
use crate::{Caller, StoreError};
use leadhost_domain::id::KeyId;
use leadhost_domain::key::{KeyKind, KeyRecord};
use leadhost_domain::time::Micros;
use leadhost_domain::workspace::Partner;

/// Reads a key with the workspace and the partner that it belongs to, if any.
pub fn caller(row: &impl RowColumns) -> Result<Caller, StoreError> {
    let key = record(row)?;
    let workspace = match key.workspace {
        Some(_) => Some(agents::workspace(row)?),
        None => None,
    };
    let partner = match key.partner {
        Some(id) => Some(Partner {
            id,
            workspace: row.id("partner_workspace_id")?,
            name: row.text("partner_name")?,
        }),
        None => None,
    };
    Ok(Caller::new(key, workspace, partner))
}

/// Reads a key without its digest.
pub fn record(row: &impl RowColumns) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: row.id("key_id")?,
        kind: row.word("keys", "kind", KeyKind::from_text)?,
        workspace: row.id_if("key_workspace_id")?,
        partner: row.id_if("partner_id")?,
        role: row.word_if("keys", "role", |word| word.parse().ok())?,
        label: row.text("label")?,
        hint: row.text("hint")?,
        created_at: row.time("created_at")?,
        expires_at: row.time_if("expires_at")?,
        revoked_at: row.time_if("revoked_at")?,
        last_used_at: row.time_if("last_used_at")?,
    })
}

/// Returns the latest use of each key, rounded down to the minute, so that a key in constant use
/// causes few writes. A key must occur once: an update from a list would take any one of several
/// rows.
pub fn latest(used: &[(KeyId, Micros)]) -> BTreeMap<KeyId, Micros> {
    let mut latest = BTreeMap::new();
    for (id, at) in used {
        let minute = at.minute();
        let entry = latest.entry(*id).or_insert(minute);
        *entry = minute.max(*entry);
    }
    latest
}
