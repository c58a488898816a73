//! The way of a lead, and what it made.

use super::Kind::{Bytes, Int, Json, Jsonb, Small, Text, Time, Uuid, Whole};
use super::{Table, renamed, same, whole};

pub const FEED_CLOCK: Table = whole(
    "feed_clock",
    &["workspace_id", "entity"],
    &[
        same("workspace_id", Uuid),
        same("entity", Small),
        same("last_us", Whole),
        same("forgotten_us", Whole),
    ],
);

pub const CONTACTS: Table = whole(
    "contacts",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("name", Text),
        same("email", Text),
        same("phone_number", Text),
        same("banned_at", Time),
        same("props", Json),
        same("edited", Jsonb),
        same("created_at", Time),
        same("updated_at", Time),
    ],
);

pub const CONTACT_KEYS: Table = whole(
    "contact_keys",
    &["workspace_id", "key"],
    &[
        same("workspace_id", Uuid),
        same("key", Text),
        same("contact_id", Uuid),
    ],
);

pub const SHARED_KEYS: Table = whole(
    "shared_keys",
    &["workspace_id", "key", "contact_id"],
    &[
        same("workspace_id", Uuid),
        same("key", Text),
        same("contact_id", Uuid),
    ],
);

pub const DEALS: Table = whole(
    "deals",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("cursor_us", Whole),
        same("id", Uuid),
        same("person_id", Uuid),
        same("agent_id", Whole),
        same("owner_id", Uuid),
        same("status", Text),
        same("title", Text),
        same("props", Json),
        same("edited", Jsonb),
        same("created_at", Time),
        same("updated_at", Time),
        same("stage_code", Text),
        same("product_id", Uuid),
        same("external_id", Text),
        same("connection_id", Text),
        same("delivery_id", Uuid),
        same("partner_id", Uuid),
    ],
);

pub const DEDUPE: Table = whole(
    "dedupe",
    &["connection_id", "key"],
    &[
        same("workspace_id", Uuid),
        same("connection_id", Text),
        same("key", Text),
        same("delivery_id", Uuid),
        same("item", Int),
        same("until_at", Time),
        same("deal_id", Uuid),
        same("contact_id", Uuid),
    ],
);

pub const DELIVERIES: Table = whole(
    "deliveries",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("connection_id", Text),
        same("received_at", Time),
        same("method", Text),
        same("path", Text),
        same("query", Json),
        same("headers", Json),
        same("body_bytes", Whole),
        same("status", Text),
        same("error", Text),
        same("notes", Jsonb),
        same("ran", Jsonb),
        same("attempts", Whole),
        same("next_attempt_at", Time),
        same("presented", Bytes),
        same("body", Bytes),
        same("peer", Text),
    ],
);

pub const ITEMS: Table = whole(
    "items",
    &["delivery_id", "item"],
    &[
        same("workspace_id", Uuid),
        same("delivery_id", Uuid),
        same("item", Int),
        same("status", Text),
        same("external_id", Text),
        same("deal_id", Uuid),
        same("contact_id", Uuid),
        same("message", Text),
    ],
);

pub const FETCHES: Table = whole(
    "fetches",
    &["delivery_id", "item"],
    &[
        same("workspace_id", Uuid),
        same("delivery_id", Uuid),
        same("item", Int),
        same("connection_id", Text),
        same("dedupe_key", Text),
        same("external_id", Text),
        same("hop", Int),
        same("due_at", Time),
        same("until_at", Time),
        same("attempts", Whole),
        same("ran", Jsonb),
        same("request", Json),
        same("state", Bytes),
        same("response_head", Json),
        same("response_body", Bytes),
    ],
);

pub const ANSWERS: Table = whole(
    "answers",
    &["number"],
    &[
        same("number", Whole),
        same("workspace_id", Uuid),
        same("delivery_id", Uuid),
        same("item", Int),
        same("hop", Int),
        same("external_id", Text),
        same("request", Json),
        same("response_head", Json),
        same("response_body", Bytes),
    ],
);

pub const QUEUE_OF_DELIVERIES: Table = Table {
    name: "queue of deliveries",
    from: "deliveries",
    into: "queue",
    key: &["id"],
    only: Some("status in ('queued', 'failed', 'parked', 'unrouted', 'quarantined')"),
    arrived: Some("item = -1"),
    columns: &[
        same("workspace_id", Uuid),
        renamed("id", "delivery_id", Uuid),
        renamed("-1", "item", Int),
        same("connection_id", Text),
        same("status", Text),
        renamed("ran ->> 'digest'", "digest", Text),
        same("body_bytes", Whole),
        // Only these two are taken up by themselves.
        renamed(
            "case when status in ('queued', 'failed') then next_attempt_at end",
            "due_at",
            Time,
        ),
        renamed("0", "lease", Whole),
        renamed("null", "lease_until", Time),
    ],
};

pub const QUEUE_OF_FETCHES: Table = Table {
    name: "queue of fetches",
    from: "fetches",
    into: "queue",
    key: &["delivery_id", "item"],
    only: None,
    arrived: Some("item >= 0"),
    columns: &[
        same("workspace_id", Uuid),
        same("delivery_id", Uuid),
        same("item", Int),
        same("connection_id", Text),
        renamed("'fetch'", "status", Text),
        renamed("ran ->> 'digest'", "digest", Text),
        renamed("0", "body_bytes", Whole),
        same("due_at", Time),
        renamed("0", "lease", Whole),
        renamed("null", "lease_until", Time),
    ],
};
