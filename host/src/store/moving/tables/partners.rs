//! What partners did to deals, and what the desk has in its hands.

use super::Kind::{Json, Text, Time, Uuid, Whole};
use super::{Table, same, whole};

pub const DEAL_HISTORY: Table = whole(
    "deal_history",
    &["number"],
    &[
        same("workspace_id", Uuid),
        same("number", Whole),
        same("deal_id", Uuid),
        same("at", Time),
        same("who", Json),
        same("changes", Json),
    ],
);

pub const DEAL_LOGS: Table = whole(
    "deal_logs",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("deal_id", Uuid),
        same("created_at", Time),
        same("partner_id", Uuid),
        same("key_id", Uuid),
        same("kind", Text),
        same("subject", Text),
        same("description", Text),
        same("metadata", Json),
    ],
);

pub const TICKETS: Table = whole(
    "tickets",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("conversation_id", Uuid),
        same("deal_id", Uuid),
        same("contact_id", Uuid),
        same("agent_id", Whole),
        same("agent_type", Text),
        same("source", Text),
        same("owner_id", Uuid),
        same("status", Text),
        same("special_instructions", Text),
        same("opened_at", Time),
        same("answered_at", Time),
        same("resolved_at", Time),
        same("updated_at", Time),
    ],
);

/// What was erased, which names nobody.
pub const ERASURES: Table = whole(
    "erasures",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("contact_id", Uuid),
        same("found_by", Text),
        same("key_id", Uuid),
        same("began_at", Time),
        same("done_at", Time),
        same("erased", Json),
        same("remaining", Json),
    ],
);
