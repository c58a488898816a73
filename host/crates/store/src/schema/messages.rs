//! Tables of messaging and the desk.

use super::table::{Ends, TableSchema, column, nullable};
use crate::sql::SqlType::{Bytes, Json, Number, Text, Time, Truth, Uuid};

pub static SENDS: TableSchema = TableSchema {
    name: "sends",
    key: &["message_id"],
    leads_with_workspace: true,
    feed: None,
    ends: &[Ends::With("message_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("message_id", Uuid),
        column("conversation_id", Uuid),
        column("contact_id", Uuid),
        column("connection_id", Text),
        column("recipient", Text),
        column("payload", Json),
        column("attempts", Number),
        column("until_at", Time),
    ],
    exported: &[],
};

/// Of hosts of the former release, which may still run: this one writes none, and removes them.
pub static KEPT_SENDS: TableSchema = TableSchema {
    name: "kept_sends",
    key: &["message_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("message_id"), Ends::At("until_at")],
    columns: &[
        column("workspace_id", Uuid),
        column("message_id", Uuid),
        column("conversation_id", Uuid),
        column("connection_id", Text),
        column("sent_at", Time),
        column("until_at", Time),
        column("digest", Text),
        column("outcome", Text),
        column("recipient", Text),
        column("payload", Json),
        nullable("response_head", Json),
        nullable("response_body", Bytes),
    ],
    exported: &[],
};

pub static CHANNEL_REFS: TableSchema = TableSchema {
    name: "channel_refs",
    key: &["connection_id", "external_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("message_id"), Ends::At("until_at")],
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("external_id", Text),
        nullable("message_id", Uuid),
        nullable("progress", Json),
        nullable("recipient_id", Text),
        nullable("until_at", Time),
    ],
    exported: &[],
};

pub static HOLDS: TableSchema = TableSchema {
    name: "holds",
    key: &["connection_id", "contact_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("contact_id"), Ends::At("until_at")],
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("contact_id", Uuid),
        column("until_at", Time),
    ],
    exported: &[],
};

pub static TEMPLATE_LISTS: TableSchema = TableSchema {
    name: "template_lists",
    key: &["connection_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("synced_at", Time),
        nullable("error", Text),
        column("unlisted", Truth),
        column("templates", Json),
    ],
    exported: &[],
};

pub static IDEMPOTENCY: TableSchema = TableSchema {
    name: "idempotency",
    key: &["partner_id", "route", "key"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::At("until_at")],
    columns: &[
        column("workspace_id", Uuid),
        column("partner_id", Uuid),
        column("route", Text),
        column("key", Text),
        column("fingerprint", Text),
        nullable("message_id", Uuid),
        nullable("answer", Json),
        column("until_at", Time),
    ],
    exported: &[],
};
