//! Tables of feeds and erasures.

use super::table::{TableSchema, column, nullable};
use crate::sql::SqlType::{Json, Number, Text, Time, Uuid};

pub static FEED_CLOCK: TableSchema = TableSchema {
    name: "feed_clock",
    key: &["workspace_id", "entity"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("entity", Number),
        column("last_us", Number),
        column("forgotten_us", Number),
    ],
    exported: &[],
};

pub static TOMBSTONES: TableSchema = TableSchema {
    name: "tombstones",
    key: &["workspace_id", "entity", "cursor_us"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("entity", Number),
        column("cursor_us", Number),
        column("id", Uuid),
    ],
    exported: &[],
};

pub static ERASURES: TableSchema = TableSchema {
    name: "erasures",
    key: &["id"],
    leads_with_workspace: false,
    feed: None,
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("id", Uuid),
        column("contact_id", Uuid),
        column("found_by", Text),
        column("key_id", Uuid),
        column("began_at", Time),
        nullable("done_at", Time),
        column("erased", Json),
        column("remaining", Json),
    ],
    exported: &[],
};
