//! Keys of partners, workspaces and operators.

pub mod create;
pub mod list;
pub mod revoke;

use crate::admin_api::keys::{KeyState, KeyView};
use crate::domain::key::KeyRecord;
use crate::domain::time::Micros;

/// Returns a key as operators see it: everything but its text.
fn to_view(
    key: KeyRecord,
    workspace: Option<String>,
    partner: Option<String>,
    now: Micros,
) -> KeyView {
    let state = if key.revoked_at.is_some() {
        KeyState::Revoked
    } else if key.is_live(now) {
        KeyState::Live
    } else {
        KeyState::Expired
    };
    KeyView {
        id: key.id,
        kind: key.kind,
        workspace,
        partner,
        role: key.role,
        label: key.label,
        hint: key.hint,
        state,
        created_at: key.created_at,
        expires_at: key.expires_at,
        revoked_at: key.revoked_at,
        last_used_at: key.last_used_at,
    }
}
