//! Opens the store: takes the folder for itself, brings the schema up to date
//! and starts the checkpointer. A file that another process serves, that a newer
//! version wrote, or that this SQLite could damage is refused with words that
//! say what to do.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::db::Db;
use crate::clock::Clock;
use crate::domain::id::uuid_at;
use crate::limits;
use crate::store::StoreError;
use crate::store::error::odd;
use crate::store::seen::Seen;

/// In order; a migration is added, never edited.
const MIGRATIONS: [&str; 11] = [
    include_str!("../../../migrations/sqlite/0001_begin.sql"),
    include_str!("../../../migrations/sqlite/0002_answers.sql"),
    include_str!("../../../migrations/sqlite/0003_messages.sql"),
    include_str!("../../../migrations/sqlite/0004_gateway.sql"),
    include_str!("../../../migrations/sqlite/0005_analytics.sql"),
    include_str!("../../../migrations/sqlite/0006_deletion.sql"),
    include_str!("../../../migrations/sqlite/0007_publishers.sql"),
    include_str!("../../../migrations/sqlite/0008_turns.sql"),
    include_str!("../../../migrations/sqlite/0009_shares.sql"),
    include_str!("../../../migrations/sqlite/0010_shared_keys.sql"),
    include_str!("../../../migrations/sqlite/0011_times.sql"),
];

/// The first version without the fault by which two connections that write and
/// checkpoint at the same moment can damage the file.
const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

const SQLITE_VERSION: &str = "select sqlite_version()";
const SCHEMA_VERSION: &str = "pragma user_version";
const STORE_ID: &str = "select id from store";
const NEW_STORE: &str = "
insert into store (one, id, last_lease)
values (1, ?1, 0)
on conflict do nothing";

/// Held for as long as the store is open; the kernel lets go of it with the process.
pub fn lock(database: &Path) -> Result<File, StoreError> {
    let path = database.with_extension("lock");
    let fail = |what: &str, error: std::io::Error| {
        StoreError::Open(format!("cannot {what} {}: {error}", path.display()))
    };
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| fail("open", error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Who holds it is only told; that somebody does is certain.
            if file.read_to_string(&mut holder).is_err() || holder.trim().is_empty() {
                holder = "unknown".to_owned();
            }
            return Err(StoreError::Open(format!(
                "{} is served by another process (id {}): stop it first, or give this one another data folder",
                database.display(),
                holder.trim()
            )));
        }
        Err(TryLockError::Error(error)) => return Err(fail("lock", error)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{}", std::process::id()))
        .map_err(|error| fail("write", error))?;
    Ok(file)
}

/// A file that was put in the place of another one must not lie beside that
/// one's log: SQLite would write the log into it. A copy made by `backup` has
/// never had a log, and its header says so.
pub fn refuse_foreign_log(database: &Path) -> Result<(), StoreError> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let log = std::path::PathBuf::from(log);
    let log_bytes = std::fs::metadata(&log).map_or(0, |log| log.len());
    if log_bytes == 0 || has_had_a_log(database) {
        return Ok(());
    }
    Err(StoreError::Open(format!(
        "{} is a copy that was put back, but beside it lies the log of the file that was there before, {} ({log_bytes} bytes), which would be written into it: move that log and the -shm beside it out of the folder, and start again",
        database.display(),
        log.display()
    )))
}

/// The file's format versions, which say how it is written. No service has it
/// open yet: closing a file lets go of all locks that a process has on it.
fn has_had_a_log(database: &Path) -> bool {
    let mut head = [0; 20];
    let read = File::open(database).and_then(|mut file| file.read_exact(&mut head));
    // Shorter than a header: it is new, or SQLite will say what is wrong with it.
    read.is_err() || head[18] == WITH_A_LOG || head[19] == WITH_A_LOG
}

const WITH_A_LOG: u8 = 2;

/// Beside the file: where its store lives now.
fn moved_note(database: &Path) -> std::path::PathBuf {
    database.with_extension("moved")
}

/// Says that the store lives elsewhere now. Who serves both would have two stores
/// that think they are one.
pub fn leave(database: &Path, to: &str) -> Result<(), StoreError> {
    let note = moved_note(database);
    let write = || {
        let mut file = File::create(&note)?;
        writeln!(file, "{to}")?;
        file.sync_all()
    };
    write().map_err(|error: std::io::Error| {
        StoreError::Open(format!("cannot write {}: {error}", note.display()))
    })
}

pub fn refuse_moved(database: &Path) -> Result<(), StoreError> {
    let note = moved_note(database);
    match std::fs::read_to_string(&note) {
        Ok(to) => Err(StoreError::Open(format!(
            "the store of {} was moved to {} and lives there: serve that one; to serve this file all the same, as it was before the move, remove {}",
            database.display(),
            to.trim(),
            note.display(),
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::Open(format!(
            "cannot read {}: {error}",
            note.display()
        ))),
    }
}

/// Brings the schema up to date and answers the store's id.
pub async fn prepare(db: &Db, clock: &dyn Clock) -> Result<Uuid, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    check_version(connection).await?;
    migrate(connection).await?;
    sqlx::query(NEW_STORE)
        .bind(uuid_at(clock.now()).to_string())
        .execute(&mut *connection)
        .await?;
    let id: String = sqlx::query(STORE_ID)
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    transaction.commit().await?;
    id.parse().map_err(|_| odd("store", "id", id))
}

async fn check_version(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let text: String = sqlx::query(SQLITE_VERSION)
        .fetch_one(connection)
        .await?
        .try_get(0)?;
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let found = (next(), next(), next());
    if found < OLDEST_SQLITE {
        return Err(StoreError::Open(format!(
            "the SQLite in this binary is {text}, which can damage a file under load: build it with 3.51.3 or newer"
        )));
    }
    Ok(())
}

async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let found: i64 = sqlx::query(SCHEMA_VERSION)
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    if done > MIGRATIONS.len() {
        return Err(StoreError::Open(format!(
            "the database has schema version {found}, this program knows up to {}: start the newer version that wrote it",
            MIGRATIONS.len()
        )));
    }
    for (number, sql) in MIGRATIONS.iter().enumerate().skip(done) {
        sqlx::raw_sql(*sql).execute(&mut *connection).await?;
        // A pragma takes no parameters; what is put in is a number of ours.
        let version = format!("pragma user_version = {}", number + 1);
        sqlx::raw_sql(sqlx::AssertSqlSafe(version))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

const NEWEST: &str = "select coalesce(max(last_us), 0) from feed_clock";

/// The newest stamp of any feed.
pub async fn newest(db: &Db) -> Result<i64, StoreError> {
    let row = sqlx::query(NEWEST).fetch_one(db.readers()).await?;
    Ok(row.try_get(0)?)
}

/// Notes now and then how far the store is. Ends with the store.
pub async fn keep_noting(db: Weak<Db>, seen: Arc<Seen>) {
    let mut noted = None;
    let mut tick = tokio::time::interval(Duration::from_secs(limits::SEEN_EVERY_SECONDS));
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(db) = db.upgrade() else { break };
        let commits = db.commits();
        if noted == Some(commits) {
            continue;
        }
        // What cannot be read now is read the next time.
        if let Ok(newest) = newest(&db).await {
            seen.note(newest);
            noted = Some(commits);
        }
    }
}

const IMPATIENT: &str = "pragma busy_timeout = 10";
const PASSIVE: &str = "pragma wal_checkpoint(passive)";
const RESTART: &str = "pragma wal_checkpoint(restart)";
const TRUNCATE: &str = "pragma wal_checkpoint(truncate)";

/// Between two words about checkpoints that fail for the same reason again and again.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Moves committed pages from the log into the file, beside the writer. Ends
/// with the store.
pub async fn checkpoint(db: Weak<Db>, log: std::path::PathBuf) {
    let mut seen = 0;
    let mut connection: Option<SqliteConnection> = None;
    let mut told: Option<Instant> = None;
    let mut tick = tokio::time::interval(Duration::from_millis(limits::CHECKPOINT_EVERY_MS));
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(db) = db.upgrade() else { break };
        let commits = db.commits();
        let done = if commits != seen {
            checkpoint_once(&db, &mut connection).await
        } else if is_large(&log) {
            // Giving back so much of a file takes a while: not while others write.
            truncate(&db, &mut connection).await
        } else {
            continue;
        };
        match done {
            Ok(()) => {
                seen = commits;
                told = None;
            }
            Err(error) => {
                // The log grows until a later one gets through; nothing is lost by it.
                if told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
                    tracing::warn!(%error, "a checkpoint did not get through; it is tried again");
                    told = Some(Instant::now());
                }
                connection = None;
            }
        }
    }
    if let Some(connection) = connection {
        drop(connection.close().await);
    }
}

/// Moves all that is committed into the file, and forgets the log, unless somebody
/// reads it right now: then a later one does.
pub async fn empty_log(db: &Db) -> Result<(), StoreError> {
    let mut connection = db.another().await?;
    sqlx::query(IMPATIENT).execute(&mut connection).await?;
    for _ in 0..limits::LOG_EMPTIED_ATTEMPTS {
        let row = sqlx::query(TRUNCATE).fetch_one(&mut connection).await?;
        let is_busy: i64 = row.try_get(0)?;
        if is_busy == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(limits::CHECKPOINT_EVERY_MS)).await;
    }
    drop(connection.close().await);
    Ok(())
}

fn is_large(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|log| log.len() > limits::LOG_BYTES)
}

async fn impatient<'a>(
    db: &Arc<Db>,
    connection: &'a mut Option<SqliteConnection>,
) -> Result<&'a mut SqliteConnection, StoreError> {
    match connection {
        Some(connection) => Ok(connection),
        none => {
            let connection = none.insert(db.another().await?);
            // Waiting for long reads, as a backup's, it would hold up the writer.
            sqlx::query(IMPATIENT).execute(&mut *connection).await?;
            Ok(connection)
        }
    }
}

async fn checkpoint_once(
    db: &Arc<Db>,
    connection: &mut Option<SqliteConnection>,
) -> Result<(), StoreError> {
    let connection = impatient(db, connection).await?;
    let row = sqlx::query(PASSIVE).fetch_one(&mut *connection).await?;
    let pages: i64 = row.try_get(1)?;
    // A log that never rests is never reused from its start: past a size the
    // writer waits once, and begins anew.
    if u64::try_from(pages).unwrap_or(0) * limits::LOG_PAGE_BYTES > limits::LOG_BYTES {
        // It waits until all is moved: what was written during the first pass goes in
        // a second one, and so on, so that little is left for which it waits.
        for _ in 0..limits::CHECKPOINT_PASSES {
            sqlx::query(PASSIVE).execute(&mut *connection).await?;
        }
        sqlx::query(RESTART).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn truncate(
    db: &Arc<Db>,
    connection: &mut Option<SqliteConnection>,
) -> Result<(), StoreError> {
    let connection = impatient(db, connection).await?;
    sqlx::query(TRUNCATE).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    SQLITE_VERSION,
    SCHEMA_VERSION,
    STORE_ID,
    NEW_STORE,
    NEWEST,
    IMPATIENT,
    PASSIVE,
    RESTART,
    TRUNCATE,
];
