//! Tables of analytics.

use super::table::{Ends, TableSchema, column, nullable};
use crate::sql::SqlType::{Number, Text, Time, Truth, Uuid};

pub static ROLLUP_RUNS: TableSchema = TableSchema {
    name: "rollup_runs",
    key: &["metric_set"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("metric_set", Number),
        column("as_of", Time),
        column("finished_at", Time),
        column("changes", Number),
    ],
    exported: &[],
};

pub static ROLLUP_BUILDS: TableSchema = TableSchema {
    name: "rollup_builds",
    key: &["build"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("build")],
    columns: &[
        column("workspace_id", Uuid),
        column("metric_set", Number),
        column("build", Number),
        column("state", Text),
        column("after_us", Number),
        column("began_us", Number),
        column("step", Number),
        column("version", Number),
        nullable("held_at", Time),
        column("held", Truth),
    ],
    exported: &[],
};

pub static ROLLUP_KEYS: TableSchema = TableSchema {
    name: "rollup_keys",
    key: &["key"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("key", Number),
        column("agent_type", Text),
        column("agent_id", Number),
        column("source", Text),
    ],
    exported: &[],
};

pub static ROLLUP_FACTS: TableSchema = TableSchema {
    name: "rollup_facts",
    key: &["build", "id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("build")],
    columns: &[
        column("workspace_id", Uuid),
        column("build", Number),
        column("id", Uuid),
        column("slot", Number),
        column("key", Number),
        column("measured", Number),
    ],
    exported: &[],
};

pub static ROLLUP_SLOTS: TableSchema = TableSchema {
    name: "rollup_slots",
    key: &["build", "slot", "key"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("build")],
    columns: &[
        column("workspace_id", Uuid),
        column("build", Number),
        column("slot", Number),
        column("key", Number),
        column("count_1", Number),
        column("count_2", Number),
        column("count_3", Number),
        column("count_4", Number),
        column("count_5", Number),
    ],
    exported: &[],
};

pub static ROLLUP_CUBES: TableSchema = TableSchema {
    name: "rollup_cubes",
    key: &["build", "zone"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("build")],
    columns: &[
        column("workspace_id", Uuid),
        column("build", Number),
        column("zone", Text),
        column("tzdata", Text),
        column("filled_slot", Number),
    ],
    exported: &[],
};

pub static ROLLUP_DAYS: TableSchema = TableSchema {
    name: "rollup_days",
    key: &["build", "zone", "day"],
    leads_with_workspace: false,
    feed: None,
    ends: &[Ends::With("build")],
    columns: &[
        column("workspace_id", Uuid),
        column("build", Number),
        column("zone", Text),
        column("day", Number),
        column("cells", Text),
    ],
    exported: &[],
};

pub static ROLLUP_ZONES: TableSchema = TableSchema {
    name: "rollup_zones",
    key: &["workspace_id", "zone"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("zone", Text),
        column("requests", Number),
        column("used_at", Time),
    ],
    exported: &[],
};
