//! Tables of feeds and erasures.

use uuid::Uuid;

use super::described::table;
use crate::Erasure;

table! {
    pub static FEED_CLOCK: "feed_clock" { key: &["workspace_id", "entity"] }

    { workspace_id: Uuid, entity: i64, last_us: i64, forgotten_us: i64 }
}

table! {
    pub static TOMBSTONES: "tombstones" { key: &["workspace_id", "entity", "cursor_us"] }

    { workspace_id: Uuid, entity: i64, cursor_us: i64, id: Uuid }
}

table! {
    pub static ERASURES: "erasures" { key: &["id"] }

    impl Erasure |row| {
        workspace_id, id, contact_id, found_by, key_id, began_at, done_at, erased, remaining,
    }
}
