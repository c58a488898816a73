//! What leads and partners' work on deals leave behind.

use super::{Table, column, jsonb, nullable, nullable_jsonb};
use crate::domain::row::Entity;
use crate::store::sql::Kind::{Bytes, Json, Number, Text, Time, Uuid};

pub static QUEUE: Table = Table {
    name: "queue",
    key: &["delivery_id", "item"],
    leads_with_workspace: false,
    feed: None,
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
};

pub static DELIVERIES: Table = Table {
    name: "deliveries",
    key: &["id"],
    leads_with_workspace: true,
    feed: None,
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
};

pub static ITEMS: Table = Table {
    name: "items",
    key: &["delivery_id", "item"],
    leads_with_workspace: true,
    feed: None,
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
};

pub static FETCHES: Table = Table {
    name: "fetches",
    key: &["delivery_id", "item"],
    leads_with_workspace: true,
    feed: None,
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
};

pub static ANSWERS: Table = Table {
    name: "answers",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
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
};

pub static DEDUPE: Table = Table {
    name: "dedupe",
    key: &["connection_id", "key"],
    leads_with_workspace: false,
    feed: None,
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
};

pub static CONTACTS: Table = Table {
    name: "contacts",
    key: &["id"],
    leads_with_workspace: true,
    feed: Some(Entity::Contacts),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("name", Text),
        nullable("email", Text),
        nullable("phone_number", Text),
        nullable("banned_at", Time),
        column("props", Json),
        jsonb("edited"),
        column("created_at", Time),
        column("updated_at", Time),
    ],
};

pub static CONTACT_KEYS: Table = Table {
    name: "contact_keys",
    key: &["workspace_id", "key"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("key", Text),
        column("contact_id", Uuid),
    ],
};

pub static SHARED_KEYS: Table = Table {
    name: "shared_keys",
    key: &["workspace_id", "key", "contact_id"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("key", Text),
        column("contact_id", Uuid),
    ],
};

pub static DEALS: Table = Table {
    name: "deals",
    key: &["id"],
    leads_with_workspace: true,
    feed: Some(Entity::Deals),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("person_id", Uuid),
        nullable("agent_id", Number),
        nullable("owner_id", Uuid),
        column("status", Text),
        nullable("title", Text),
        column("props", Json),
        jsonb("edited"),
        column("created_at", Time),
        column("updated_at", Time),
        column("stage_code", Text),
        nullable("product_id", Uuid),
        nullable("external_id", Text),
        nullable("connection_id", Text),
        nullable("delivery_id", Uuid),
        nullable("partner_id", Uuid),
    ],
};

pub static DEAL_HISTORY: Table = Table {
    name: "deal_history",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("number", Number),
        column("workspace_id", Uuid),
        column("deal_id", Uuid),
        column("at", Time),
        column("who", Json),
        column("changes", Json),
    ],
};

pub static DEAL_LOGS: Table = Table {
    name: "deal_logs",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
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
};
