//! What went through channels. What is not out yet is a row of the queue too, and
//! one whose call was under way is due when its lease would have ended: whoever
//! takes it then finds that nobody knows its outcome.

use super::Kind::{Int, Json, Text, Time, Truth, Uuid, Whole};
use super::{Table, renamed, same, whole};

pub const CONVERSATIONS: Table = whole(
    "conversations",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("contact_id", Uuid),
        same("deal_id", Uuid),
        same("agent_id", Whole),
        same("agent_type", Text),
        same("source", Text),
        same("channel", Text),
        same("status", Text),
        same("created_at", Time),
        same("updated_at", Time),
        same("first_message_at", Time),
        same("answered_at", Time),
        same("last_message_at", Time),
        same("no_response_at", Time),
        same("transferred_at", Time),
        same("appointment_at", Time),
        same("closed_at", Time),
        same("props", Json),
        same("messaged_at", Time),
        same("transfer", Truth),
        same("respond_by", Time),
        same("close_by", Time),
    ],
);

pub const MESSAGES: Table = whole(
    "messages",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("conversation_id", Uuid),
        same("created_at", Time),
        same("actor", Text),
        same("kind", Text),
        same("content", Text),
        same("metadata", Json),
        same("delivered_at", Time),
        same("read_at", Time),
        same("contact_id", Uuid),
        same("agent_id", Whole),
        same("state", Text),
    ],
);

pub const SENDS: Table = whole(
    "sends",
    &["message_id"],
    &[
        same("workspace_id", Uuid),
        same("message_id", Uuid),
        same("conversation_id", Uuid),
        same("contact_id", Uuid),
        same("connection_id", Text),
        same("recipient", Text),
        same("payload", Json),
        same("attempts", Whole),
        same("until_at", Time),
    ],
);

pub const CHANNEL_REFS: Table = whole(
    "channel_refs",
    &["connection_id", "external_id"],
    &[
        same("workspace_id", Uuid),
        same("connection_id", Text),
        same("external_id", Text),
        same("message_id", Uuid),
        same("progress", Json),
        same("recipient_id", Text),
        same("until_at", Time),
    ],
);

pub const HOLDS: Table = whole(
    "holds",
    &["connection_id", "contact_id"],
    &[
        same("workspace_id", Uuid),
        same("connection_id", Text),
        // Of a whole number.
        renamed(
            "case contact_id when '' then '00000000-0000-0000-0000-000000000000' else contact_id end",
            "contact_id",
            Uuid,
        ),
        same("until_at", Time),
    ],
);

pub const MESSAGE_ERRORS: Table = whole(
    "message_errors",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("conversation_id", Uuid),
        same("deal_id", Uuid),
        same("agent_id", Whole),
        same("message_id", Uuid),
        same("external_id", Text),
        same("recipient_id", Text),
        same("code", Text),
        same("title", Text),
        same("description", Text),
        same("details", Text),
        same("template_name", Text),
        same("channel", Text),
        same("occurred_at", Time),
    ],
);

pub const TEMPLATE_LISTS: Table = whole(
    "template_lists",
    &["connection_id"],
    &[
        same("workspace_id", Uuid),
        same("connection_id", Text),
        same("synced_at", Time),
        same("error", Text),
        same("unlisted", Truth),
        same("templates", Json),
    ],
);

pub const IDEMPOTENCY: Table = whole(
    "idempotency",
    &["partner_id", "route", "key"],
    &[
        same("workspace_id", Uuid),
        same("partner_id", Uuid),
        same("route", Text),
        same("key", Text),
        same("fingerprint", Text),
        same("message_id", Uuid),
        same("answer", Json),
        same("until_at", Time),
    ],
);

pub const QUEUE_OF_SENDS: Table = Table {
    name: "queue of sends",
    from: "sends",
    into: "queue",
    key: &["message_id"],
    only: None,
    arrived: Some("item = -2"),
    columns: &[
        same("workspace_id", Uuid),
        renamed("message_id", "delivery_id", Uuid),
        renamed("-2", "item", Int),
        same("connection_id", Text),
        renamed("state", "status", Text),
        renamed("null", "digest", Text),
        renamed("0", "body_bytes", Whole),
        same("due_at", Time),
        renamed("0", "lease", Whole),
        renamed("null", "lease_until", Time),
        same("until_at", Time),
    ],
};
