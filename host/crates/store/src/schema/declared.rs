//! Tables for the declarations of operators, and for plugins.

use uuid::Uuid;

use super::described::table;
use crate::sql::Json;
use crate::{Activation, PluginRecord, PluginRefusal, Product};
use leadhost_domain::audit::AuditRow;
use leadhost_domain::connection::{Connection, ConnectionPause, ConnectionSketch};
use leadhost_domain::repair::Repair;
use leadhost_domain::rollout::{Rollout, RolloutReport};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;
use leadhost_domain::workspace::{Agent, Owner, Partner, Workspace};

table! {
    pub static WORKSPACES: "workspaces" { key: &["id"] }

    impl Workspace |row| {
        id, slug, name, region, time_zone, rate_limit, created_at: Micros, keyed_from: Option<Micros>,
    }
}

table! {
    pub static PARTNERS: "partners" { key: &["id"] }

    impl Partner |row| { workspace_id => workspace, id, name, created_at: Micros, }
}

table! {
    pub static AGENTS: "agents" { key: &["id"] }

    impl Agent |row| {
        workspace_id => workspace, id, name, number, kind, channel, adapter, internal,
    }
}

table! {
    pub static OWNERS: "owners" { key: &["id"] }

    impl Owner |row| { workspace_id => workspace, id, name, email, }
}

table! {
    pub static PRODUCTS: "products" { key: &["id"], feed: Some(Entity::Products) }

    impl Product |row| {
        workspace_id: Uuid, id, external_id, name, description, cursor_us: i64, created_at: Micros,
        updated_at: Micros, import_at: Option<Micros>,
    }
}

table! {
    pub static CONNECTIONS: "connections" { key: &["id"] }

    impl Connection |row| {
        workspace_id => workspace, id, kind, partner_id => partner, name, plugin, config: Json,
        config_version, agent_id => agent, allow [jsonb], checks [jsonb], routes [jsonb],
        secrets [jsonb], sealed, fingerprint: String, region, time_zone, dedupe_by_content,
        settings [jsonb], paused_at: Option<Micros>, paused_reason: Option<String>,
        secret_times: Option<Json> [jsonb], secret_times_version: Option<i64>,
        ;
        config = row.get::<Json>("config")?.0,
        secrets_at = row.get::<Option<_>>("secret_times")?.unwrap_or_default(),
        paused = match row.get("paused_at")? {
            Some(since) => Some(ConnectionPause {
                since,
                reason: row.get::<Option<_>>("paused_reason")?.unwrap_or_default(),
            }),
            None => None,
        },
    }
}

table! {
    pub static CONNECTION_SKETCHES: "connection_sketches" { key: &["connection_id"] }

    impl ConnectionSketch |row| {
        connection_id => connection, generation, sketch [jsonb], change [jsonb], updated_at => at,
        lead_fields => fields [jsonb],
    }
}

table! {
    pub static KEYS: "keys" { key: &["id"] }

    {
        id: Uuid, digest: Vec<u8>, kind: String, workspace_id: Option<Uuid>, partner_id: Option<Uuid>,
        role: Option<String>, label: String, hint: String, created_at: Micros,
        expires_at: Option<Micros>, revoked_at: Option<Micros>, last_used_at: Option<Micros>,
    }
}

table! {
    pub static PLUGINS: "plugins" { key: &["digest"] }

    impl PluginRecord |row| {
        digest, description, contract, bytes, checks, golden, origin,
        publisher: Option<String> [read],
        stored_at, wasm: Vec<u8>,
        ;
        publisher = row.get("publisher")?,
    }
}

table! {
    pub static ACTIVATIONS: "activations" { key: &["name"] }

    impl Activation |row| { name, digest, previous, generation, activated_at, }
}

table! {
    pub static REFUSALS: "refusals" { key: &["number"] }

    impl PluginRefusal |row| { number: i64, origin, digest, reason, at, plugin, overtaken_at, }
}

table! {
    pub static AUDIT: "audit" { key: &["number"] }

    impl AuditRow |row| {
        number, at, key_id, label, role, address, act, target, outcome, begun, detail, hash,
    }
}

table! {
    pub static AUDIT_CHECKPOINT: "audit_checkpoint" { key: &["id"] }

    { id: i64, number: i64, hash: String }
}

table! {
    pub static ROLLOUTS: "rollouts" { key: &["name"] }

    impl Rollout |row| {
        name, number, candidate, stable, stage, paused, step, plan [jsonb], generation,
        spent_seconds: u64 [read], started_by, started_at, stage_at, why, spent_at,
        ;
        recorded_spent = std::time::Duration::from_secs(row.get("spent_seconds")?),
    }
}

table! {
    pub static ROLLOUT_REPORTS: "rollout_reports" { key: &["name", "number", "host_id"] }

    impl RolloutReport |row| {
        name, number, host_id => host, host => host_name, generation, error, reported_at => at,
        seen [jsonb],
    }
}

table! {
    pub static REPAIRS: "repairs" { key: &["id"] }

    impl Repair |row| {
        id, plan [jsonb], state, generation, cursor_id => cursor, counts [jsonb], started_by, started_at,
        ended_at, why,
    }
}
