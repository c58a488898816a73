//! The source of a move: a SQLite file that no service uses meanwhile. It is read on
//! blocking threads, in the order of each table's key, in pages bounded in rows and in
//! bytes. One page is read while the previous one is written. Reading can resume after
//! the last row of any page.

use std::fs::File;
use std::sync::{MutexGuard, PoisonError};

use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{Connection, Row, ToSql, params_from_iter};
use tokio::sync::mpsc;

use super::value::{self, MovedValue};
use crate::error::odd;
use crate::prelude::*;
use crate::schema::table::TableSchema;
use crate::sqlite;
use leadhost_domain::clock::Clock;

/// Identifies a row: the values of its key columns.
pub type RowKey = Vec<KeyPart>;

/// Stored with its kind, since a text may look like an id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPart {
    Id(Uuid),
    Number(i64),
    Text(String),
}

pub struct MoveSource {
    connection: Arc<Mutex<Connection>>,
    file: PathBuf,
    pub id: Uuid,
    _lock: File,
}

#[derive(Debug, Default)]
pub struct MovingPage {
    pub rows: Vec<Vec<MovedValue>>,
    /// The key of the last row. `None`: no rows follow this page.
    pub last: Option<RowKey>,
    pub replaced: u64,
}

/// The pages of a table, as they are read.
pub struct Pages(mpsc::Receiver<Result<MovingPage, StoreError>>);

/// Pages that may wait to be written.
const READ_AHEAD: usize = 1;

/// The counters of the store. They also show whether the store was served since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub last_lease: i64,
    pub last_agent: i64,
    pub last_stamp: i64,
    pub deliveries: i64,
    pub activations: i64,
}

const COUNTERS: &str = "
select
  (select last_lease from store) as last_lease,
  (select last_agent from store) as last_agent,
  coalesce((select max(last_us) from feed_clock), 0) as last_stamp,
  (select count(*) from deliveries) as deliveries,
  coalesce((select sum(generation) from activations), 0) as activations";

/// Columns that are not copied as they are, with their table and the expression that is
/// read instead. Leases are dropped, because their holders are not hosts of the target. A
/// send whose call was under way becomes due when its lease would have ended; the host
/// that claims it then finds its outcome unknown.
const SUBSTITUTED: [(&str, &str, &str); 2] =
    [("queue", "lease", "0"), ("queue", "lease_until_at", "null")];

impl MoveSource {
    /// Locks the store. Its schema is brought up to date, and nothing else in it is
    /// changed.
    pub async fn open(file: &Path, clock: &dyn Clock) -> Result<Self, StoreError> {
        if !file.is_file() {
            return Err(StoreError::Open(format!(
                "there is no store at {}",
                file.display()
            )));
        }
        let (lock, id, connection) = sqlite::alone(file, clock).await?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            file: file.to_owned(),
            id,
            _lock: lock,
        })
    }

    pub fn leave(self, to: &str) -> Result<(), StoreError> {
        sqlite::leave(&self.file, to)
    }

    pub async fn counters(&self) -> Result<Counters, StoreError> {
        self.ask(|connection| {
            let counters = connection.query_row(COUNTERS, [], |row| {
                Ok(Counters {
                    last_lease: row.get("last_lease")?,
                    last_agent: row.get("last_agent")?,
                    last_stamp: row.get("last_stamp")?,
                    deliveries: row.get("deliveries")?,
                    activations: row.get("activations")?,
                })
            })?;
            Ok(counters)
        })
        .await
    }

    pub async fn count(&self, table: &TableSchema) -> Result<u64, StoreError> {
        let sql = format!("select count(*) from {}", table.name);
        self.ask(move |connection| {
            let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
        .await
    }

    /// Returns the rows after this one, in pages of at most `rows` rows. A page also ends
    /// once it has reached the limit of bytes.
    pub fn pages(&self, table: &'static TableSchema, after: Option<RowKey>, rows: u32) -> Pages {
        let (give, given) = mpsc::channel(READ_AHEAD);
        let connection = Arc::clone(&self.connection);
        tokio::task::spawn_blocking(move || {
            let connection = held(&connection);
            let give_page = |page: MovingPage| give.blocking_send(Ok(page)).is_ok();
            if let Err(error) = read(&connection, table, after.as_ref(), rows, give_page) {
                // The receiver may be gone.
                let _ = give.blocking_send(Err(error));
            }
        });
        Pages(given)
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = Arc::clone(&self.connection);
        let asked = tokio::task::spawn_blocking(move || question(&held(&connection)));
        asked.await.unwrap_or_else(|_| Err(ended_badly()))
    }
}

impl Pages {
    pub async fn next(&mut self) -> Result<MovingPage, StoreError> {
        let next = self.0.recv().await;
        next.unwrap_or_else(|| Err(ended_badly()))
    }
}

fn held(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ended_badly() -> StoreError {
    StoreError::Inconsistent {
        what: "the task that reads the file failed".to_owned(),
    }
}

/// Passes the rows after this one page by page, until `give` returns false.
fn read(
    connection: &Connection,
    table: &TableSchema,
    after: Option<&RowKey>,
    rows: u32,
    mut give: impl FnMut(MovingPage) -> bool,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(&select(table, after.is_some()))?;
    let mut found = statement.query(params_from_iter(after.into_iter().flatten()))?;
    let (mut page, mut bytes) = (MovingPage::default(), 0);
    while let Some(row) = found.next()? {
        bytes += page.add(table, row)?;
        if page.rows.len() >= rows as usize || bytes >= limits::MOVED_BYTES {
            page.last = Some(key_of(table, row)?);
            if !give(std::mem::take(&mut page)) {
                return Ok(());
            }
            bytes = 0;
        }
    }
    give(page);
    Ok(())
}

/// Returns the query that reads a table in the order of its key, optionally after a row
/// whose key is the parameters.
fn select(table: &TableSchema, past_a_row: bool) -> String {
    let columns = table.columns.iter().map(|column| {
        let substituted = SUBSTITUTED
            .iter()
            .find(|(of, name, _)| *of == table.name && *name == column.name);
        substituted.map_or(column.name, |(_, _, read)| *read)
    });
    let key = table.key.join(", ");
    let past = if past_a_row {
        let places: Vec<_> = (1..=table.key.len()).map(|n| format!("?{n}")).collect();
        format!(" where ({key}) > ({})", places.join(", "))
    } else {
        String::new()
    };
    format!(
        "select {} from {}{past} order by {key}",
        columns.collect::<Vec<_>>().join(", "),
        table.name,
    )
}

impl MovingPage {
    /// Adds a row. Returns the bytes of its long columns.
    fn add(&mut self, table: &TableSchema, row: &Row<'_>) -> Result<u64, StoreError> {
        let cells = value::moved_row(table, &SqlRow::Sqlite(row), &mut self.replaced)?;
        let bytes = cells.iter().map(|cell| match cell {
            SqlValue::Text(text) | SqlValue::Json(text) => text.len() as u64,
            SqlValue::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        });
        let bytes = bytes.sum();
        self.rows.push(cells);
        Ok(bytes)
    }
}

/// The key as it is in the file, because a replaced character sorts differently there.
fn key_of(table: &TableSchema, row: &Row<'_>) -> Result<RowKey, StoreError> {
    let parts = table.key.iter().map(|name| part_of(table, name, row));
    parts.collect()
}

fn part_of(table: &TableSchema, name: &str, row: &Row<'_>) -> Result<KeyPart, StoreError> {
    match row.get_ref(name)? {
        ValueRef::Integer(number) => Ok(KeyPart::Number(number)),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(KeyPart::Text(text.to_owned())),
            Err(error) => Err(odd(table.name, name, error)),
        },
        ValueRef::Blob(bytes) => match Uuid::from_slice(bytes) {
            Ok(id) => Ok(KeyPart::Id(id)),
            Err(error) => Err(odd(table.name, name, error)),
        },
        other => Err(odd(table.name, name, other.data_type())),
    }
}

impl ToSql for KeyPart {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Id(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Number(number) => ToSqlOutput::Owned(Owned::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moving::tables::moved;
    use crate::schema;
    use leadhost_domain::clock::SystemClock;

    /// Opens a new store, with what keeps it alive.
    async fn store() -> (tempfile::TempDir, File, Connection) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.db");
        let (lock, _, connection) = sqlite::alone(&file, &SystemClock)
            .await
            .expect("a new store opens");
        (folder, lock, connection)
    }

    fn pages(
        connection: &Connection,
        table: &TableSchema,
        after: Option<&RowKey>,
        rows: u32,
    ) -> Vec<MovingPage> {
        let mut pages = Vec::new();
        let give = |page| {
            pages.push(page);
            true
        };
        read(connection, table, after, rows, give).expect("it reads");
        pages
    }

    #[tokio::test]
    async fn rows_come_in_pages_and_continue_after_any_of_them() {
        let (_folder, _lock, connection) = store().await;
        connection
            .execute_batch(
                "insert into shared_keys (workspace_id, key, contact_id)
                 select unhex('0199000000007000800000000000000' || w.column1),
                   k.column1, unhex('0199000000007000800000000000001' || c.column1)
                 from (values (1), (2)) as w, (values ('a'), ('b')) as k,
                   (values (1), (2), (3)) as c",
            )
            .expect("it inserts");
        let table = &schema::SHARED_KEYS;
        let all = pages(&connection, table, None, 100);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].rows.len(), &all[0].last), (12, &None));
        for rows in 1..=13 {
            let some = pages(&connection, table, None, rows);
            let (last, before) = some.split_last().expect("a page");
            assert!(last.last.is_none());
            assert!(before.iter().all(|page| page.rows.len() == rows as usize));
            let together: Vec<_> = some.iter().flat_map(|page| page.rows.clone()).collect();
            assert_eq!(together, all[0].rows);
            for (place, page) in before.iter().enumerate() {
                let text = serde_json::to_string(&page.last).expect("JSON");
                let after: Option<RowKey> = serde_json::from_str(&text).expect("a key");
                assert_eq!(after, page.last);
                let rest = pages(&connection, table, after.as_ref(), 100);
                assert_eq!(rest[0].rows, together[(place + 1) * rows as usize..]);
            }
        }
    }

    #[tokio::test]
    async fn a_page_ends_once_it_is_large() {
        let (_folder, _lock, connection) = store().await;
        for _ in 0..3 {
            connection
                .execute(
                    "insert into refusals (origin, reason, at)
                     values ('x', replace(hex(zeroblob(?1)), '00', 'x'), 1)",
                    [limits::MOVED_BYTES.cast_signed()],
                )
                .expect("it inserts");
        }
        let found = pages(&connection, &schema::REFUSALS, None, 100);
        let rows: Vec<_> = found.iter().map(|page| page.rows.len()).collect();
        assert_eq!(rows, [1, 1, 1, 0]);
        assert_eq!(found[2].last, Some(vec![KeyPart::Number(3)]));
    }

    #[test]
    fn a_text_that_looks_like_an_id_stays_a_text() {
        let key = vec![
            KeyPart::Text(Uuid::nil().to_string()),
            KeyPart::Id(Uuid::nil()),
        ];
        let text = serde_json::to_string(&key).expect("JSON");
        assert_eq!(serde_json::from_str::<RowKey>(&text).expect("a key"), key);
    }

    // A sort would hold the whole table in memory, with every body.
    #[tokio::test]
    async fn every_table_is_read_in_the_order_of_an_index_without_a_sort() {
        let (_folder, _lock, connection) = store().await;
        for table in moved() {
            for past_a_row in [false, true] {
                let sql = format!("explain query plan {}", select(table, past_a_row));
                let mut statement = connection.prepare(&sql).expect("it prepares");
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next().expect("it explains") {
                    let step: String = row.get("detail").expect("a text");
                    assert!(!step.contains("TEMP B-TREE"), "{}: {step}", table.name);
                }
            }
        }
    }

    #[tokio::test]
    async fn leases_are_dropped() {
        for (table, name, _) in SUBSTITUTED {
            let of = moved().find(|of| of.name == table);
            let columns = of.expect("a table that moves").columns;
            assert!(columns.iter().any(|column| column.name == name), "{name}");
        }
        let (_folder, _lock, connection) = store().await;
        connection
            .execute_batch(
                "insert into queue (workspace_id, delivery_id, item, connection_id, status, due_at,
                   lease, lease_until_at)
                 values (zeroblob(16), zeroblob(16), -2, 'c', 'sending', 5, 7, 5)",
            )
            .expect("it inserts");
        let found = pages(&connection, &schema::QUEUE, None, 100);
        let held = |name: &str| {
            let place = schema::QUEUE.columns.iter().position(|of| of.name == name);
            found[0].rows[0][place.expect("a column")].clone()
        };
        assert_eq!(held("lease"), SqlValue::Number(0));
        assert_eq!(held("lease_until_at"), SqlValue::Null(SqlType::Time));
        assert_eq!(
            held("due_at"),
            SqlValue::Time(leadhost_domain::time::Micros(5))
        );
    }
}
