//! Opens the store: locks the folder and brings the schema up to date. It refuses a file
//! that another process serves, that another version wrote, or that this SQLite could
//! damage, with an error that says what to do.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::Weak;

use rusqlite::{Connection, TransactionBehavior};

use super::connections::{SqliteOptions, log_of};
use super::db::Db;
use super::error::DAMAGED;
use super::threads::{End, JobLength, beside, connection, ending};
use crate::high_water_mark::HighWaterMark;
use crate::lock_file;
use crate::migrations::SQLITE as MIGRATIONS;
use crate::prelude::*;
use crate::sql::steps;
use leadhost_domain::clock::{Clock, SystemClock};
use leadhost_domain::id::uuid_at;

/// The first version of SQLite without the fault by which two connections that write and
/// checkpoint at the same moment can damage the file.
const OLDEST_SQLITE: i32 = 3_051_003;

const SCHEMA_VERSION: &str = "pragma user_version";
const STORE_ID: &str = "select id from store";
const NEW_STORE: &str = "
insert into store (one, id, last_lease)
values (1, ?1, 0)
on conflict do nothing";

/// Locks the store for as long as the returned file is open. The kernel releases the lock
/// when the process ends.
pub fn lock(database: &Path) -> Result<File, StoreError> {
    lock_file::hold(&lock_file::beside(database), database.display())
}

/// Refuses a restored file beside which the log of the previous file still lies: SQLite
/// would write that log into it. The header of a copy made by `backup` shows that it has
/// never had a log.
pub fn refuse_foreign_log(database: &Path) -> Result<(), StoreError> {
    let log = log_of(database);
    let log_bytes = std::fs::metadata(&log).map_or(0, |log| log.len());
    if log_bytes == 0 || has_had_a_log(database) {
        return Ok(());
    }
    Err(StoreError::Open(format!(
        "{} is a restored copy, but the log of the previous file, {} ({log_bytes} bytes), is still beside it, and SQLite would write it into the copy: move that log and its -shm file out of the folder, then start again",
        database.display(),
        log.display()
    )))
}

/// Reads the format versions in the file's header. Only called while no service has the file
/// open, because closing a file releases all locks that a process has on it.
fn has_had_a_log(database: &Path) -> bool {
    let mut head = [0; 20];
    let read = File::open(database).and_then(|mut file| file.read_exact(&mut head));
    // The file is shorter than a header: it is new, or SQLite will report what is wrong with
    // it.
    read.is_err() || head[18] == WITH_A_LOG || head[19] == WITH_A_LOG
}

const WITH_A_LOG: u8 = 2;

/// Refuses a file of a version that this program cannot read, and leaves it unchanged. Other
/// errors are reported when the file is opened.
pub fn refuse_other_version(database: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(database).map_or(0, |file| file.len()) == 0 {
        return Ok(());
    }
    let options = SqliteOptions::to_read(database.to_owned(), Arc::new(SystemClock));
    let found = options.open();
    match found.and_then(|connection| schema_version(&connection)) {
        Ok(version) => MIGRATIONS.refuse_other(version),
        Err(_) => Ok(()),
    }
}

/// Returns the path of the note beside the file that says where the store has moved.
fn moved_note(database: &Path) -> std::path::PathBuf {
    database.with_extension("moved")
}

/// Writes the note that the store has moved. If both copies were served, there would be two
/// stores with the same id.
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

/// Refuses a file whose store was moved elsewhere.
pub fn refuse_moved(database: &Path) -> Result<(), StoreError> {
    let note = moved_note(database);
    match std::fs::read_to_string(&note) {
        Ok(to) => Err(StoreError::Open(format!(
            "the store of {} was moved to {}: serve that database instead. To serve this file anyway, as it was before the move, remove {}",
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

/// Names the file in the error of a damaged one, and says what to do.
pub fn for_file(database: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Inconsistent { what } if what.starts_with(DAMAGED) => {
            StoreError::Open(format!(
                "{}: {what}. Move the file out of the folder, with its -wal and -shm files if they are there, and restore a copy",
                database.display()
            ))
        }
        error => error,
    }
}

/// Brings the schema up to date and returns the store's id.
pub async fn prepare(db: &Db, clock: &dyn Clock) -> Result<Uuid, StoreError> {
    let new = uuid_at(clock.now());
    let (steps, id) = ending(steps!(|tx| prepare_on(connection(tx)?, new)), End::Commit);
    db.write(steps).await?;
    id.take()
}

/// Opens the file for a reader that needs all of it and is alone on it. Brings the schema up
/// to date, and returns the lock, the store's id and a connection.
pub async fn alone(
    database: &Path,
    clock: &dyn Clock,
) -> Result<(File, Uuid, Connection), StoreError> {
    let lock = lock(database)?;
    refuse_foreign_log(database)?;
    refuse_other_version(database)?;
    // No stamps are assigned here, so the clock does not matter.
    let options = SqliteOptions::to_write(database.to_owned(), Arc::new(SystemClock));
    let new = uuid_at(clock.now());
    let (id, connection) = beside(move || {
        let mut connection = options.open()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id = prepare_on(&transaction, new)?;
        transaction.commit()?;
        Ok((id, connection))
    })
    .await
    .map_err(|error| for_file(database, error))?;
    Ok((lock, id, connection))
}

/// Runs in a transaction. A store without an id gets `new`.
fn prepare_on(connection: &Connection, new: Uuid) -> Result<Uuid, StoreError> {
    check_version()?;
    migrate(connection)?;
    connection.execute(NEW_STORE, [new.as_bytes()])?;
    let id: [u8; 16] = connection.query_row(STORE_ID, [], |row| row.get(0))?;
    Ok(Uuid::from_bytes(id))
}

fn check_version() -> Result<(), StoreError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::Open(format!(
            "this binary contains SQLite {}, which can damage a file under load: build it with SQLite 3.51.3 or newer",
            rusqlite::version()
        )));
    }
    Ok(())
}

fn migrate(connection: &Connection) -> Result<(), StoreError> {
    for (version, sql) in MIGRATIONS.missing(schema_version(connection)?)? {
        connection.execute_batch(sql)?;
        // A pragma takes no parameters. The value is our own number.
        connection.execute_batch(&format!("pragma user_version = {version}"))?;
    }
    Ok(())
}

fn schema_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row(SCHEMA_VERSION, [], |row| row.get(0))?)
}

/// Returns the schema version of a file that this program can serve. `None` if it has no schema yet.
pub fn supported_version(connection: &Connection) -> Result<Option<i64>, StoreError> {
    let found = schema_version(connection)?;
    MIGRATIONS.refuse_other(found)?;
    Ok(Some(found).filter(|found| *found > 0))
}

/// For read-only access: refuses a file from before the first release. Additions of a newer
/// version do no harm.
pub fn refuse_old(connection: &Connection) -> Result<(), StoreError> {
    MIGRATIONS.refuse_old(schema_version(connection)?)
}

const NEWEST: &str = "select coalesce(max(last_us), 0) from feed_clock";

/// Returns the newest stamp of any feed, in microseconds since 1970.
pub async fn newest(db: &Db) -> Result<i64, StoreError> {
    let (steps, newest) = ending(
        steps!(|tx| Ok(connection(tx)?.query_row(NEWEST, [], |row| row.get(0))?)),
        End::Undo,
    );
    db.read(JobLength::Short, steps).await?;
    newest.take()
}

pub async fn note_newest(db: &Db) -> Result<(), StoreError> {
    db.high_water_mark().note(newest(db).await?);
    Ok(())
}

/// Records the newest stamp from time to time. Ends with the store.
pub async fn keep_noting(db: Weak<Db>, high_water_mark: Arc<HighWaterMark>) {
    let mut noted = None;
    let mut tick = tokio::time::interval(limits::SEEN_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(db) = db.upgrade() else { break };
        let commits = db.commits();
        if noted == Some(commits) {
            continue;
        }
        // If it cannot be read now, it is read the next time.
        if let Ok(newest) = newest(&db).await {
            high_water_mark.note(newest);
            noted = Some(commits);
        }
    }
}
