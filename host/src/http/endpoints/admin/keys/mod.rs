//! Keys of partners, workspaces and operators.

pub mod create;
pub mod list;
pub mod revoke;

use serde_json::{Value, json};

use crate::domain::key::KeyRecord;
use crate::domain::time::Micros;

/// Returns a key as operators see it: everything but its text.
fn shown(key: &KeyRecord, workspace: Option<&str>, partner: Option<&str>, now: Micros) -> Value {
    let state = if key.revoked_at.is_some() {
        "revoked"
    } else if key.is_live(now) {
        "live"
    } else {
        "expired"
    };
    json!({
        "id": key.id,
        "kind": key.kind.as_str(),
        "workspace": workspace,
        "partner": partner,
        "label": key.label,
        "hint": key.hint,
        "state": state,
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "revokedAt": key.revoked_at,
        "lastUsedAt": key.last_used_at,
    })
}
