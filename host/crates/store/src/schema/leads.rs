//! Tables of leads, and of partners' work on deals.

use super::table::{Ends, TableSchema, column, jsonb, nullable, nullable_jsonb};
use crate::sql::SqlType::{Bytes, Json, Number, Text, Time, Uuid};

pub static QUEUE: TableSchema = TableSchema {
    name: "queue",
    key: &["delivery_id", "item"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("delivery_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("delivery_id", Uuid),
        column("item", Number),
        column("connection_id", Text),
        column("status", Text),
        nullable("digest", Text),
        column("body_bytes", Number),
        nullable("due_at", Time),
        column("lease", Number),
        nullable("lease_until_at", Time),
        nullable("until_at", Time),
    ],
    exported: &[],
};

pub static DELIVERIES: TableSchema = TableSchema {
    name: "deliveries",
    key: &["id"],
    leads_with_workspace: true,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("connection_id", Text),
        column("received_at", Time),
        column("method", Text),
        column("path", Text),
        column("query", Json),
        column("headers", Json),
        column("body_bytes", Number),
        column("status", Text),
        nullable("error", Text),
        column("notes", Json),
        nullable_jsonb("ran"),
        column("attempts", Number),
        nullable("next_attempt_at", Time),
        nullable("presented", Bytes),
        nullable("peer", Text),
        column("body", Bytes),
    ],
    exported: &[],
};

pub static ITEMS: TableSchema = TableSchema {
    name: "items",
    key: &["delivery_id", "item"],
    leads_with_workspace: true,
    feed: None,
    ends: &[Ends::With("delivery_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("delivery_id", Uuid),
        column("item", Number),
        column("status", Text),
        nullable("external_id", Text),
        nullable("deal_id", Uuid),
        nullable("contact_id", Uuid),
        nullable("message", Text),
    ],
    exported: &[],
};

pub static DELIVERY_KEYS: TableSchema = TableSchema {
    name: "delivery_keys",
    key: &["delivery_id", "key"],
    leads_with_workspace: true,
    feed: None,
    ends: &[Ends::With("delivery_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("delivery_id", Uuid),
        column("key", Number),
    ],
    exported: &[],
};

pub static FETCHES: TableSchema = TableSchema {
    name: "fetches",
    key: &["delivery_id", "item"],
    leads_with_workspace: true,
    feed: None,
    ends: &[Ends::With("delivery_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("delivery_id", Uuid),
        column("item", Number),
        column("connection_id", Text),
        nullable("dedupe_key", Text),
        nullable("external_id", Text),
        column("hop", Number),
        column("due_at", Time),
        column("until_at", Time),
        column("attempts", Number),
        jsonb("ran"),
        column("request", Json),
        column("state", Bytes),
        nullable("response_head", Json),
        nullable("response_body", Bytes),
    ],
    exported: &[],
};

pub static ANSWERS: TableSchema = TableSchema {
    name: "answers",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("delivery_id")],
    columns: &[
        column("number", Number),
        column("workspace_id", Uuid),
        column("delivery_id", Uuid),
        column("item", Number),
        column("hop", Number),
        nullable("external_id", Text),
        column("request", Json),
        column("response_head", Json),
        column("response_body", Bytes),
    ],
    exported: &[],
};

pub static DEDUPE: TableSchema = TableSchema {
    name: "dedupe",
    key: &["connection_id", "key"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::At("until_at")],
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("key", Text),
        column("delivery_id", Uuid),
        column("item", Number),
        nullable("until_at", Time),
        nullable("deal_id", Uuid),
        nullable("contact_id", Uuid),
    ],
    exported: &[],
};

pub static CONTACT_KEYS: TableSchema = TableSchema {
    name: "contact_keys",
    key: &["workspace_id", "key"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("contact_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("key", Text),
        column("contact_id", Uuid),
    ],
    exported: &[],
};

pub static SHARED_KEYS: TableSchema = TableSchema {
    name: "shared_keys",
    key: &["workspace_id", "key", "contact_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("contact_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("key", Text),
        column("contact_id", Uuid),
    ],
    exported: &[],
};

pub static DEAL_HISTORY: TableSchema = TableSchema {
    name: "deal_history",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("deal_id")],
    columns: &[
        column("number", Number),
        column("workspace_id", Uuid),
        column("deal_id", Uuid),
        column("at", Time),
        column("who", Json),
        column("changes", Json),
    ],
    exported: &[],
};

pub static DEAL_LOGS: TableSchema = TableSchema {
    name: "deal_logs",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("deal_id")],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("deal_id", Uuid),
        column("created_at", Time),
        column("partner_id", Uuid),
        column("key_id", Uuid),
        column("kind", Text),
        column("subject", Text),
        nullable("description", Text),
        column("metadata", Json),
    ],
    exported: &[],
};

pub static REPAIR_CHANGES: TableSchema = TableSchema {
    name: "repair_changes",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("number", Number),
        column("workspace_id", Uuid),
        column("repair_id", Uuid),
        column("delivery_id", Uuid),
        column("item", Number),
        column("kind", Text),
        column("row_id", Uuid),
        column("contact_id", Uuid),
        column("field", Text),
        nullable("value_before", Json),
        nullable("value_after", Json),
        nullable("undone", Text),
    ],
    exported: &[],
};
