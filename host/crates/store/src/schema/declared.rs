//! Tables for the declarations of operators, and for plugins.

use super::table::{TableSchema, column, jsonb, nullable, nullable_jsonb};
use crate::sql::SqlType::{Bytes, Json, Number, Text, Time, Truth, Uuid};
use leadhost_domain::row::Entity;

pub static WORKSPACES: TableSchema = TableSchema {
    name: "workspaces",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("id", Uuid),
        column("slug", Text),
        column("name", Text),
        column("region", Text),
        column("time_zone", Text),
        column("rate_limit", Number),
        column("created_at", Time),
        nullable("keyed_from", Time),
    ],
    exported: &[],
};

pub static PARTNERS: TableSchema = TableSchema {
    name: "partners",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("name", Text),
        column("created_at", Time),
    ],
    exported: &[],
};

pub static AGENTS: TableSchema = TableSchema {
    name: "agents",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Number),
        column("name", Text),
        nullable("number", Text),
        column("kind", Text),
        nullable("channel", Text),
        nullable("adapter", Text),
        column("internal", Truth),
    ],
    exported: &[],
};

pub static OWNERS: TableSchema = TableSchema {
    name: "owners",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("name", Text),
        column("email", Text),
    ],
    exported: &[],
};

pub static PRODUCTS: TableSchema = TableSchema {
    name: "products",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Products),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("external_id", Text),
        column("name", Text),
        nullable("description", Text),
        column("cursor_us", Number),
        column("created_at", Time),
        column("updated_at", Time),
        nullable("import_at", Time),
    ],
    exported: &[],
};

pub static CONNECTIONS: TableSchema = TableSchema {
    name: "connections",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Text),
        column("kind", Text),
        nullable("partner_id", Uuid),
        column("name", Text),
        column("plugin", Text),
        column("config", Json),
        column("config_version", Number),
        nullable("agent_id", Number),
        jsonb("allow"),
        jsonb("checks"),
        jsonb("routes"),
        jsonb("secrets"),
        column("sealed", Bytes),
        column("fingerprint", Text),
        column("region", Text),
        column("time_zone", Text),
        column("dedupe_by_content", Truth),
        jsonb("settings"),
        nullable("paused_at", Time),
        nullable("paused_reason", Text),
        nullable_jsonb("secret_times"),
        nullable("secret_times_version", Number),
    ],
    exported: &[],
};

pub static CONNECTION_SKETCHES: TableSchema = TableSchema {
    name: "connection_sketches",
    key: &["connection_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("connection_id", Text),
        column("generation", Number),
        jsonb("sketch"),
        nullable_jsonb("change"),
        column("updated_at", Time),
        nullable_jsonb("lead_fields"),
    ],
    exported: &[],
};

pub static KEYS: TableSchema = TableSchema {
    name: "keys",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("id", Uuid),
        column("digest", Bytes),
        column("kind", Text),
        nullable("workspace_id", Uuid),
        nullable("partner_id", Uuid),
        nullable("role", Text),
        column("label", Text),
        column("hint", Text),
        column("created_at", Time),
        nullable("expires_at", Time),
        nullable("revoked_at", Time),
        nullable("last_used_at", Time),
    ],
    exported: &[],
};

pub static PLUGINS: TableSchema = TableSchema {
    name: "plugins",
    key: &["digest"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("digest", Text),
        column("description", Json),
        column("contract", Text),
        column("bytes", Number),
        column("checks", Json),
        column("golden", Number),
        column("origin", Text),
        nullable("publisher", Text),
        column("stored_at", Time),
        column("wasm", Bytes),
    ],
    exported: &[],
};

pub static ACTIVATIONS: TableSchema = TableSchema {
    name: "activations",
    key: &["name"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("name", Text),
        column("digest", Text),
        nullable("previous", Text),
        column("generation", Number),
        column("activated_at", Time),
    ],
    exported: &[],
};

pub static REFUSALS: TableSchema = TableSchema {
    name: "refusals",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("number", Number),
        column("origin", Text),
        nullable("digest", Text),
        column("reason", Text),
        column("at", Time),
        nullable("plugin", Text),
        nullable("overtaken_at", Time),
    ],
    exported: &[],
};

pub static AUDIT: TableSchema = TableSchema {
    name: "audit",
    key: &["number"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("number", Number),
        column("at", Time),
        nullable("key_id", Uuid),
        column("label", Text),
        nullable("role", Text),
        column("address", Text),
        column("act", Text),
        column("target", Text),
        column("outcome", Text),
        nullable("begun", Number),
        column("detail", Text),
        column("hash", Text),
    ],
    exported: &[],
};

pub static AUDIT_CHECKPOINT: TableSchema = TableSchema {
    name: "audit_checkpoint",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("id", Number),
        column("number", Number),
        column("hash", Text),
    ],
    exported: &[],
};

pub static ROLLOUTS: TableSchema = TableSchema {
    name: "rollouts",
    key: &["name"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("name", Text),
        column("number", Number),
        column("candidate", Text),
        column("stable", Text),
        column("stage", Text),
        column("paused", Truth),
        column("step", Number),
        jsonb("plan"),
        column("generation", Number),
        column("spent_seconds", Number),
        column("started_by", Text),
        column("started_at", Time),
        column("stage_at", Time),
        nullable("why", Text),
        nullable("spent_at", Time),
    ],
    exported: &[],
};

pub static ROLLOUT_REPORTS: TableSchema = TableSchema {
    name: "rollout_reports",
    key: &["name", "number", "host_id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("name", Text),
        column("number", Number),
        column("host_id", Uuid),
        column("host", Text),
        column("generation", Number),
        nullable("error", Text),
        column("reported_at", Time),
        jsonb("seen"),
    ],
    exported: &[],
};

pub static REPAIRS: TableSchema = TableSchema {
    name: "repairs",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("id", Uuid),
        jsonb("plan"),
        column("state", Text),
        column("generation", Number),
        nullable("cursor_id", Uuid),
        jsonb("counts"),
        column("started_by", Text),
        column("started_at", Time),
        nullable("ended_at", Time),
        nullable("why", Text),
    ],
    exported: &[],
};
