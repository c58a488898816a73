//! What is moved: each table, in an order in which what is referred to comes
//! first, with the kind of each of its columns. A column that is not here is made
//! anew where the store arrives: leases are dropped, and what waits becomes rows
//! of the queue.

/// A table's way from SQLite to PostgreSQL.
pub struct Table {
    /// Its name for people, and for the record of how far the move is.
    pub name: &'static str,
    pub from: &'static str,
    pub into: &'static str,
    /// Columns of SQLite that name a row, by which it is read in order.
    pub key: &'static [&'static str],
    /// Only these rows of SQLite's.
    pub only: Option<&'static str>,
    /// Only these rows of PostgreSQL's are this table's.
    pub arrived: Option<&'static str>,
    pub columns: &'static [Column],
}

pub struct Column {
    /// An expression over SQLite's row.
    pub from: &'static str,
    pub into: &'static str,
    pub kind: Kind,
}

/// What a column holds, and as what it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Uuid,
    Text,
    Whole,
    Int,
    Small,
    Truth,
    Time,
    /// JSON that others wrote: letter by letter.
    Json,
    /// JSON whose shape is ours.
    Jsonb,
    Bytes,
}

impl Kind {
    /// Of a parameter that holds one value a row.
    pub fn array(self) -> &'static str {
        match self {
            Self::Uuid => "uuid[]",
            Self::Text | Self::Json | Self::Jsonb => "text[]",
            Self::Whole | Self::Int | Self::Small => "bigint[]",
            Self::Truth => "boolean[]",
            Self::Time => "timestamptz[]",
            Self::Bytes => "bytea[]",
        }
    }

    /// From the parameter's type to the column's.
    pub fn cast(self) -> &'static str {
        match self {
            Self::Int => "::integer",
            Self::Small => "::smallint",
            Self::Json => "::json",
            Self::Jsonb => "::jsonb",
            Self::Uuid | Self::Text | Self::Whole | Self::Truth | Self::Time | Self::Bytes => "",
        }
    }

    /// From the column's type to one that is read back.
    pub fn back(self) -> &'static str {
        match self {
            Self::Int | Self::Small => "::bigint",
            Self::Json | Self::Jsonb => "::text",
            Self::Uuid | Self::Text | Self::Whole | Self::Truth | Self::Time | Self::Bytes => "",
        }
    }
}

const fn same(name: &'static str, kind: Kind) -> Column {
    Column {
        from: name,
        into: name,
        kind,
    }
}

const fn renamed(from: &'static str, into: &'static str, kind: Kind) -> Column {
    Column { from, into, kind }
}

const fn whole(
    name: &'static str,
    key: &'static [&'static str],
    columns: &'static [Column],
) -> Table {
    Table {
        name,
        from: name,
        into: name,
        key,
        only: None,
        arrived: None,
        columns,
    }
}

use Kind::{Bytes, Int, Json, Jsonb, Small, Text, Time, Truth, Uuid, Whole};

pub const TABLES: [Table; 23] = [
    whole(
        "workspaces",
        &["id"],
        &[
            same("id", Uuid),
            same("slug", Text),
            same("name", Text),
            same("region", Text),
            same("time_zone", Text),
            same("rate_limit", Whole),
            renamed("created_us", "created_at", Time),
        ],
    ),
    whole(
        "partners",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Uuid),
            same("name", Text),
            renamed("created_us", "created_at", Time),
        ],
    ),
    whole(
        "agents",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Whole),
            same("name", Text),
            same("number", Text),
            same("kind", Text),
            same("channel", Text),
            same("adapter", Text),
            same("config", Json),
            same("internal", Truth),
        ],
    ),
    whole(
        "owners",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Uuid),
            same("name", Text),
            same("email", Text),
        ],
    ),
    whole(
        "products",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Uuid),
            same("external_id", Text),
            same("name", Text),
            same("description", Text),
        ],
    ),
    whole(
        "connections",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Text),
            same("partner_id", Uuid),
            same("name", Text),
            same("plugin", Text),
            same("config", Json),
            same("config_version", Whole),
            same("agent_id", Whole),
            same("allow", Jsonb),
            same("checks", Jsonb),
            same("routes", Jsonb),
            same("secrets", Jsonb),
            same("sealed", Bytes),
            same("fingerprint", Text),
            same("region", Text),
            same("time_zone", Text),
            same("dedupe_by_content", Truth),
            renamed("paused_us", "paused_at", Time),
            same("paused_reason", Text),
        ],
    ),
    whole(
        "keys",
        &["id"],
        &[
            same("id", Uuid),
            same("digest", Bytes),
            same("kind", Text),
            same("workspace_id", Uuid),
            same("partner_id", Uuid),
            same("label", Text),
            same("hint", Text),
            renamed("created_us", "created_at", Time),
            renamed("expires_us", "expires_at", Time),
            renamed("revoked_us", "revoked_at", Time),
            renamed("last_used_us", "last_used_at", Time),
        ],
    ),
    whole(
        "plugins",
        &["digest"],
        &[
            same("digest", Text),
            same("description", Json),
            same("contract", Text),
            same("bytes", Whole),
            same("checks", Json),
            same("golden", Whole),
            same("origin", Text),
            renamed("stored_us", "stored_at", Time),
            same("wasm", Bytes),
        ],
    ),
    whole(
        "activations",
        &["name"],
        &[
            same("name", Text),
            same("digest", Text),
            same("previous", Text),
            same("generation", Whole),
            renamed("activated_us", "activated_at", Time),
        ],
    ),
    whole(
        "refusals",
        &["number"],
        &[
            same("number", Whole),
            same("origin", Text),
            same("digest", Text),
            same("reason", Text),
            renamed("at_us", "at", Time),
        ],
    ),
    whole(
        "feed_clock",
        &["workspace_id", "entity"],
        &[
            same("workspace_id", Uuid),
            same("entity", Small),
            same("last_us", Whole),
        ],
    ),
    whole(
        "contacts",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("cursor_us", Whole),
            same("id", Uuid),
            same("name", Text),
            same("email", Text),
            same("phone_number", Text),
            renamed("banned_us", "banned_at", Time),
            same("props", Json),
            same("edited", Jsonb),
            renamed("created_us", "created_at", Time),
            renamed("updated_us", "updated_at", Time),
        ],
    ),
    whole(
        "contact_keys",
        &["workspace_id", "key"],
        &[
            same("workspace_id", Uuid),
            same("key", Text),
            same("contact_id", Uuid),
        ],
    ),
    whole(
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
            renamed("created_us", "created_at", Time),
            renamed("updated_us", "updated_at", Time),
            same("stage_code", Text),
            same("product_id", Uuid),
            same("external_id", Text),
            same("connection_id", Text),
            same("delivery_id", Uuid),
        ],
    ),
    whole(
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
            renamed("created_us", "created_at", Time),
            renamed("updated_us", "updated_at", Time),
            renamed("first_message_us", "first_message_at", Time),
            renamed("answered_us", "answered_at", Time),
            renamed("last_message_us", "last_message_at", Time),
            renamed("no_response_us", "no_response_at", Time),
            renamed("transferred_us", "transferred_at", Time),
            renamed("appointment_us", "appointment_at", Time),
            renamed("closed_us", "closed_at", Time),
            same("props", Json),
        ],
    ),
    whole(
        "messages",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("cursor_us", Whole),
            same("id", Uuid),
            same("conversation_id", Uuid),
            renamed("created_us", "created_at", Time),
            same("actor", Text),
            same("kind", Text),
            same("content", Text),
            same("metadata", Json),
            renamed("delivered_us", "delivered_at", Time),
            renamed("read_us", "read_at", Time),
        ],
    ),
    whole(
        "dedupe",
        &["connection_id", "key"],
        &[
            same("workspace_id", Uuid),
            same("connection_id", Text),
            same("key", Text),
            same("delivery_id", Uuid),
            same("item", Int),
            renamed("until_us", "until_at", Time),
            same("deal_id", Uuid),
            same("contact_id", Uuid),
        ],
    ),
    whole(
        "deliveries",
        &["id"],
        &[
            same("workspace_id", Uuid),
            same("id", Uuid),
            same("connection_id", Text),
            renamed("received_us", "received_at", Time),
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
            renamed("next_attempt_us", "next_attempt_at", Time),
            same("presented", Bytes),
            same("body", Bytes),
        ],
    ),
    whole(
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
    ),
    whole(
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
            renamed("due_us", "due_at", Time),
            renamed("until_us", "until_at", Time),
            same("attempts", Whole),
            same("ran", Jsonb),
            same("request", Json),
            same("state", Bytes),
            same("response_head", Json),
            same("response_body", Bytes),
        ],
    ),
    whole(
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
    ),
    Table {
        name: "queue of deliveries",
        from: "deliveries",
        into: "queue",
        key: &["id"],
        only: Some("status in ('queued', 'failed', 'parked', 'unrouted', 'quarantined')"),
        arrived: Some("item < 0"),
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
                "case when status in ('queued', 'failed') then next_attempt_us end",
                "due_at",
                Time,
            ),
            renamed("0", "lease", Whole),
            renamed("null", "lease_until", Time),
        ],
    },
    Table {
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
            renamed("due_us", "due_at", Time),
            renamed("0", "lease", Whole),
            renamed("null", "lease_until", Time),
        ],
    },
];
