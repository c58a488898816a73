//! Tables of analytics.

use uuid::Uuid;

use super::described::table;
use super::table::Ends;
use leadhost_domain::time::Micros;

table! {
    pub static ROLLUP_RUNS: "rollup_runs" { key: &["metric_set"] }

    { metric_set: i64, as_of: Micros, finished_at: Micros, changes: i64 }
}

table! {
    pub static ROLLUP_BUILDS: "rollup_builds" { key: &["build"], ends: &[Ends::With("build")] }

    {
        workspace_id: Uuid, metric_set: i64, build: i64, state: String, after_us: i64, began_us: i64,
        step: i64, version: i64, held_at: Option<Micros>, held: bool,
    }
}

table! {
    pub static ROLLUP_KEYS: "rollup_keys" { key: &["key"] }

    { workspace_id: Uuid, key: i64, agent_type: String, agent_id: i64, source: String }
}

table! {
    pub static ROLLUP_FACTS: "rollup_facts" { key: &["build", "id"], ends: &[Ends::With("build")] }

    { workspace_id: Uuid, build: i64, id: Uuid, slot: i64, key: i64, measured: i64 }
}

table! {
    pub static ROLLUP_SLOTS: "rollup_slots" {
        key: &["build", "slot", "key"],
        ends: &[Ends::With("build")],
    }

    {
        workspace_id: Uuid, build: i64, slot: i64, key: i64, count_1: i64, count_2: i64, count_3: i64,
        count_4: i64, count_5: i64,
    }
}

table! {
    pub static ROLLUP_CUBES: "rollup_cubes" { key: &["build", "zone"], ends: &[Ends::With("build")] }

    { workspace_id: Uuid, build: i64, zone: String, tzdata: String, filled_slot: i64 }
}

table! {
    pub static ROLLUP_DAYS: "rollup_days" {
        key: &["build", "zone", "day"],
        ends: &[Ends::With("build")],
    }

    { workspace_id: Uuid, build: i64, zone: String, day: i64, cells: String }
}

table! {
    pub static ROLLUP_ZONES: "rollup_zones" { key: &["workspace_id", "zone"] }

    { workspace_id: Uuid, zone: String, requests: i64, used_at: Micros }
}
