//! Opens connections to the file, with their settings.

use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};

use crate::prelude::*;
use leadhost_domain::clock::SharedClock;

#[derive(Clone)]
pub struct SqliteOptions {
    file: PathBuf,
    clock: SharedClock,
    writes: bool,
    /// The maximum number of pages of the file. 0: as many as fit on the disk. Later
    /// connections have the same limit.
    max_pages: Arc<AtomicU32>,
}

/// Bytes of a page of a new file; an existing file keeps its own size. Whole pages are
/// written to the log and synced, and most rows are much smaller than a page. This is
/// SQLite's own default.
const PAGE_BYTES: u32 = 4 << 10;

/// The maximum number of pages that SQLite allows.
const MOST_PAGES: u32 = 4_294_967_294;

/// The settings of every connection.
const SETTINGS: [(&str, &str); 7] = [
    // An answer means that the commit is on the disk. With a lower level, a power cut may
    // lose it.
    ("synchronous", "full"),
    // SQLite checks foreign keys only on connections that ask for it.
    ("foreign_keys", "on"),
    // The checkpointer moves the log. A commit never waits for a checkpoint.
    ("wal_autocheckpoint", "0"),
    // Removed data is overwritten, so that it is gone from the file too.
    ("secure_delete", "on"),
    // Sorted data may be personal: it must not be written to files outside the data folder,
    // and must not need space on a full disk.
    ("temp_store", "memory"),
    // The page cache of a connection in KiB, which a negative number means: enough for the
    // upper pages of every tree and those that were written last. Each thread has its own
    // cache.
    ("cache_size", "-16000"),
    // Pages are read with system calls. If a page of a mapped file cannot be read, a signal
    // ends the process; a failed call is one error.
    ("mmap_size", "0"),
];

impl SqliteOptions {
    /// Describes connections that read and write this file, and create it if it does not
    /// exist.
    pub fn to_write(file: PathBuf, clock: SharedClock) -> Self {
        Self {
            file,
            clock,
            writes: true,
            max_pages: Arc::default(),
        }
    }

    /// Describes connections that only read this file.
    pub fn to_read(file: PathBuf, clock: SharedClock) -> Self {
        Self {
            writes: false,
            ..Self::to_write(file, clock)
        }
    }

    pub fn log(&self) -> PathBuf {
        log_of(&self.file)
    }

    /// Limits the pages of the file on connections that are opened later.
    pub fn note_bound(&self, pages: u32) {
        self.max_pages.store(pages, Ordering::Relaxed);
    }

    pub fn open(&self) -> Result<Connection, StoreError> {
        let access = if self.writes {
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
        // Each connection stays on its thread.
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.busy_timeout(limits::STORE_BUSY_PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(limits::STORE_STATEMENTS);
        if self.writes {
            // Must be set before the file has contents; later it has no effect.
            connection.execute_batch(&format!("pragma page_size = {PAGE_BYTES}"))?;
            // Readers and writers do not wait for each other, and a commit is one sync. The
            // mode is stored in the file, so read-only connections need not set it.
            connection.execute_batch("pragma journal_mode = wal")?;
            let pages = self.max_pages.load(Ordering::Relaxed);
            if pages > 0 {
                bound(&connection, pages)?;
            }
        }
        for (setting, value) in SETTINGS {
            connection.execute_batch(&format!("pragma {setting} = {value}"))?;
        }
        let clock = Arc::clone(&self.clock);
        let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        // As in PostgreSQL: the wall clock of the feeds, and the greatest non-null value.
        connection.create_scalar_function(
            "feed_now",
            0,
            FunctionFlags::SQLITE_UTF8,
            move |_| Ok(clock.now().0),
        )?;
        connection.create_scalar_function("greatest", 2, pure, |numbers| {
            let (one, other): (Option<i64>, Option<i64>) = (numbers.get(0)?, numbers.get(1)?);
            Ok(one.max(other))
        })?;
        // Compares bytes, like PostgreSQL's collation of this name.
        connection.create_collation("C", |one, other| one.as_bytes().cmp(other.as_bytes()))?;
        Ok(connection)
    }
}

/// Returns the path of the log that SQLite keeps for this file.
pub fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// Limits the file to this many pages on this connection, as a full disk would. 0 lifts the
/// limit. A file that is already larger does not grow.
pub fn bound(connection: &Connection, pages: u32) -> Result<(), StoreError> {
    let most = if pages == 0 { MOST_PAGES } else { pages };
    Ok(connection.execute_batch(&format!("pragma max_page_count = {most}"))?)
}
