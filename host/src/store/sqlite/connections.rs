//! How connections to the file are opened, and what each is set to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};

use crate::clock::SharedClock;
use crate::limits;
use crate::store::StoreError;

/// How a connection is opened. What one is set to stands here, for all of them.
#[derive(Clone)]
pub struct Opening {
    file: PathBuf,
    clock: SharedClock,
    writes: bool,
    /// Pages that the file may have; 0: as many as the disk has room for. Connections
    /// that come later have the same bound.
    max_pages: Arc<AtomicU32>,
}

/// Bytes of a page of a file that is made now; one that is there keeps its own. Whole pages
/// go to the log and are synced, and most rows are far smaller than one: it is SQLite's own
/// default.
const PAGE_BYTES: u32 = 4 << 10;

/// As many pages as SQLite lets a file have.
const MOST_PAGES: u32 = 4_294_967_294;

/// What every connection is set to.
const SETTINGS: [(&str, &str); 7] = [
    // An answer says that the commit is on the disk: with less than this, it may be gone
    // when the power was.
    ("synchronous", "full"),
    // SQLite looks after references only where a connection asks for it.
    ("foreign_keys", "on"),
    // The checkpointer moves the log: a commit never waits for the file to be tidied.
    ("wal_autocheckpoint", "0"),
    // What is removed is overwritten, so that it is gone from the file too.
    ("secure_delete", "on"),
    // What is sorted is of people: it lies in no file outside the data folder, and asks a
    // full disk for nothing.
    ("temp_store", "memory"),
    // KiB of pages that a connection has at hand, which is what less than 0 means: the upper
    // pages of every tree, and those that were written last. Each thread has its own.
    ("cache_size", "-16000"),
    // Pages are read by calls: of a mapped file, a page that the disk does not give is a
    // signal that ends the process, where a call is one error.
    ("mmap_size", "0"),
];

impl Opening {
    pub fn to_write(file: PathBuf, clock: SharedClock) -> Self {
        Self {
            file,
            clock,
            writes: true,
            max_pages: Arc::default(),
        }
    }

    pub fn to_read(file: PathBuf, clock: SharedClock) -> Self {
        Self {
            writes: false,
            ..Self::to_write(file, clock)
        }
    }

    /// Where SQLite keeps the log of the file.
    pub fn log(&self) -> PathBuf {
        log_of(&self.file)
    }

    /// What connections that come later may let the file grow to.
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
        connection.busy_timeout(Duration::from_secs(limits::STORE_BUSY_SECONDS))?;
        connection.set_prepared_statement_cache_capacity(limits::STORE_STATEMENTS);
        if self.writes {
            // Before anything is in the file: later it changes nothing.
            connection.execute_batch(&format!("pragma page_size = {PAGE_BYTES}"))?;
            // Who reads and who writes do not wait for each other, and a commit is one sync.
            // The file remembers it: who only reads finds it so.
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
        // As in PostgreSQL: the wall clock of the feeds, and the greatest that is not null.
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
        // By bytes, as PostgreSQL calls that order.
        connection.create_collation("C", |one, other| one.as_bytes().cmp(other.as_bytes()))?;
        Ok(connection)
    }
}

/// Where SQLite keeps the log of this file.
pub fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// Lets the file grow to this many pages by this connection, as a full disk would; 0: to
/// any. One that is larger already does not grow.
pub fn bound(connection: &Connection, pages: u32) -> Result<(), StoreError> {
    let most = if pages == 0 { MOST_PAGES } else { pages };
    Ok(connection.execute_batch(&format!("pragma max_page_count = {most}"))?)
}
