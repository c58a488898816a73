//! What operators declare, and the plugins.

use super::Kind::{Bytes, Json, Jsonb, Small, Text, Time, Truth, Uuid, Whole};
use super::{Table, same, whole};

pub const WORKSPACES: Table = whole(
    "workspaces",
    &["id"],
    &[
        same("id", Uuid),
        same("slug", Text),
        same("name", Text),
        same("region", Text),
        same("time_zone", Text),
        same("rate_limit", Whole),
        same("created_at", Time),
    ],
);

pub const PARTNERS: Table = whole(
    "partners",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("name", Text),
        same("created_at", Time),
    ],
);

pub const AGENTS: Table = whole(
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
        same("internal", Truth),
    ],
);

pub const OWNERS: Table = whole(
    "owners",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("name", Text),
        same("email", Text),
    ],
);

pub const PRODUCTS: Table = whole(
    "products",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Uuid),
        same("external_id", Text),
        same("name", Text),
        same("description", Text),
        same("cursor_us", Whole),
        same("created_at", Time),
        same("updated_at", Time),
        same("import_at", Time),
    ],
);

pub const TOMBSTONES: Table = whole(
    "tombstones",
    &["workspace_id", "entity", "cursor_us"],
    &[
        same("workspace_id", Uuid),
        same("entity", Small),
        same("cursor_us", Whole),
        same("id", Uuid),
    ],
);

pub const CONNECTIONS: Table = whole(
    "connections",
    &["id"],
    &[
        same("workspace_id", Uuid),
        same("id", Text),
        same("kind", Text),
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
        same("settings", Jsonb),
        same("paused_at", Time),
        same("paused_reason", Text),
    ],
);

pub const KEYS: Table = whole(
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
        same("created_at", Time),
        same("expires_at", Time),
        same("revoked_at", Time),
        same("last_used_at", Time),
    ],
);

pub const PLUGINS: Table = whole(
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
        same("publisher", Text),
        same("stored_at", Time),
        same("wasm", Bytes),
    ],
);

pub const ACTIVATIONS: Table = whole(
    "activations",
    &["name"],
    &[
        same("name", Text),
        same("digest", Text),
        same("previous", Text),
        same("generation", Whole),
        same("activated_at", Time),
    ],
);

pub const REFUSALS: Table = whole(
    "refusals",
    &["number"],
    &[
        same("number", Whole),
        same("origin", Text),
        same("digest", Text),
        same("reason", Text),
        same("at", Time),
    ],
);
