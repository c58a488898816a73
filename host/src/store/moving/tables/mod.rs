//! What is moved: each table, in an order in which what is referred to comes
//! first, with the kind of each of its columns. A column that is not here is made
//! anew where the store arrives: leases are dropped, and what waits becomes rows
//! of the queue.

mod declared;
mod leads;
mod messages;
mod partners;

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

pub const TABLES: [Table; 36] = [
    declared::WORKSPACES,
    declared::PARTNERS,
    declared::AGENTS,
    declared::OWNERS,
    declared::PRODUCTS,
    declared::TOMBSTONES,
    declared::CONNECTIONS,
    declared::KEYS,
    declared::PLUGINS,
    declared::ACTIVATIONS,
    declared::REFUSALS,
    leads::FEED_CLOCK,
    leads::CONTACTS,
    leads::CONTACT_KEYS,
    leads::SHARED_KEYS,
    leads::DEALS,
    partners::DEAL_HISTORY,
    partners::DEAL_LOGS,
    messages::CONVERSATIONS,
    partners::TICKETS,
    messages::MESSAGES,
    messages::SENDS,
    messages::CHANNEL_REFS,
    messages::HOLDS,
    messages::MESSAGE_ERRORS,
    messages::TEMPLATE_LISTS,
    messages::IDEMPOTENCY,
    leads::DEDUPE,
    leads::DELIVERIES,
    leads::ITEMS,
    leads::FETCHES,
    leads::ANSWERS,
    leads::QUEUE_OF_DELIVERIES,
    leads::QUEUE_OF_FETCHES,
    messages::QUEUE_OF_SENDS,
    partners::ERASURES,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sqlx::Row as _;

    use super::TABLES;
    use crate::clock::SystemClock;
    use crate::store::sqlite;

    /// What stays behind, and why.
    const STAY: [(&str, &str); 9] = [
        (
            "store",
            "the database has a row of its own, written at the end",
        ),
        ("rollup_runs", REBUILT),
        ("rollup_builds", REBUILT),
        ("rollup_keys", REBUILT),
        ("rollup_facts", REBUILT),
        ("rollup_slots", REBUILT),
        ("rollup_cubes", REBUILT),
        ("rollup_days", REBUILT),
        ("rollup_zones", "three requests tell it anew"),
    ];

    const REBUILT: &str = "analytics follows the feeds, which arrive with their stamps: \
        the first run counts them from their beginning";

    #[tokio::test]
    async fn every_table_is_moved_or_has_its_reason_to_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let (_lock, _, mut connection) = sqlite::alone(&file, &SystemClock)
            .await
            .expect("a new store opens");
        let rows = sqlx::query(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
        )
        .fetch_all(&mut connection)
        .await;
        let there: BTreeSet<String> = rows
            .expect("it lists")
            .iter()
            .map(|row| row.get("name"))
            .collect();
        let stay = STAY.iter().map(|(table, _)| *table);
        let moved = TABLES.iter().map(|table| table.from);
        let known: BTreeSet<String> = stay.chain(moved).map(str::to_owned).collect();
        assert_eq!(there, known);
        for (table, _) in STAY {
            assert!(TABLES.iter().all(|moved| moved.from != table), "{table}");
        }
    }
}
