//! Copies the store's file while a service may be writing to it.
//!
//! A separate read-only connection reads the whole file in one snapshot, so the copy is the
//! store as it was at one commit. The service continues beside it, or need not run at all.
//! The copy gets its name only once it is complete, checked and on the disk. No existing
//! file is ever replaced.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::pin::pin;

use rusqlite::{Connection, InterruptHandle};
use rustix::fs::{CWD, RenameFlags};

use super::connections::SqliteOptions;
use super::open;
use super::threads::beside;
use crate::prelude::*;
use leadhost_domain::clock::SystemClock;

const SIZE: &str = "
select (page_count - freelist_count) * page_size
from pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
const COPY: &str = "vacuum into ?1";
const CHECK: &str = "pragma integrity_check(5)";
const CONTENTS: &str = "
select
  (select id from store) as store,
  (select count(*) from workspaces) as workspaces,
  (select count(*) from deliveries) as deliveries,
  (select count(*) from contacts) as contacts,
  (select count(*) from deals) as deals,
  (select count(*) from conversations) as conversations,
  (select count(*) from messages) as messages,
  (select max(last_us) from feed_clock) as newest";

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupSummary {
    pub store: String,
    pub bytes: u64,
    /// The numbers of the main kinds of rows.
    pub rows: Vec<(&'static str, u64)>,
    /// The newest stamp of any feed. The copy contains the exports up to it.
    pub newest: Option<Micros>,
}

/// Copies the store of `file` into the new file `to`. From time to time, `progress`
/// receives the bytes written and the approximate total.
pub async fn backup(
    file: &Path,
    to: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<BackupSummary, StoreError> {
    if !file.is_file() {
        return Err(StoreError::Open(format!(
            "there is no store at {}",
            file.display()
        )));
    }
    open::refuse_foreign_log(file)?;
    let part = PartialCopy::begin(to)?;
    // An absolute path: SQLite takes a name that begins with `file:` for a URI.
    let written = std::path::absolute(&part.path)
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok())
        .ok_or_else(|| {
            StoreError::Refused(format!(
                "cannot back up to {}: SQLite accepts only file names in UTF-8",
                to.display()
            ))
        })?;
    let from = file.to_owned();
    let (source, about) = beside(move || {
        let source = connect(from)?;
        open::refuse_old(&source)?;
        let about: i64 = source.query_row(SIZE, [], |row| row.get(0))?;
        Ok((source, u64::try_from(about).unwrap_or_default()))
    })
    .await
    .map_err(|error| open::for_file(file, error))?;
    copy(source, written.clone(), || progress(part.bytes(), about))
        .await
        .map_err(|error| open::for_file(file, error))?;
    let contents = beside(move || look_into(PathBuf::from(written))).await?;
    let bytes = part.bytes();
    part.keep_as(to)?;
    Ok(BackupSummary { bytes, ..contents })
}

/// The interval at which the progress is reported.
const LOOK: Duration = Duration::from_millis(250);

/// A read-only connection. It assigns no stamps, so the clock does not matter.
fn connect(file: PathBuf) -> Result<Connection, StoreError> {
    SqliteOptions::to_read(file, Arc::new(SystemClock)).open()
}

async fn copy(source: Connection, to: String, mut look: impl FnMut()) -> Result<(), StoreError> {
    let _unless_given_up = Interrupt(source.get_interrupt_handle());
    let mut copying = pin!(beside(move || {
        source.execute(COPY, [to])?;
        Ok(())
    }));
    let mut tick = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            copied = &mut copying => return copied,
            _ = tick.tick() => look(),
        }
    }
}

/// Ends a copy whose caller has gone away.
struct Interrupt(InterruptHandle);

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

const COUNTED: [&str; 6] = [
    "workspaces",
    "deliveries",
    "contacts",
    "deals",
    "conversations",
    "messages",
];

/// Reads the contents of the copy. A damaged copy is an error.
fn look_into(copy: PathBuf) -> Result<BackupSummary, StoreError> {
    let connection = connect(copy)?;
    let mut check = connection.prepare(CHECK)?;
    let mut complaints = check.query([])?;
    while let Some(row) = complaints.next()? {
        let text: String = row.get(0)?;
        if text != "ok" {
            return Err(StoreError::Inconsistent {
                what: format!(
                    "the copy fails SQLite's integrity check ({text}): the source file is damaged"
                ),
            });
        }
    }
    let contents = connection.query_row(CONTENTS, [], |row| {
        let store: [u8; 16] = row.get("store")?;
        let newest: Option<i64> = row.get("newest")?;
        let mut rows = Vec::with_capacity(COUNTED.len());
        for kind in COUNTED {
            let count: i64 = row.get(kind)?;
            rows.push((kind, u64::try_from(count).unwrap_or_default()));
        }
        Ok(BackupSummary {
            store: Uuid::from_bytes(store).to_string(),
            bytes: 0,
            rows,
            newest: newest.map(Micros),
        })
    })?;
    Ok(contents)
}

/// The incomplete copy: a file that only its owner can read, removed if the backup fails.
struct PartialCopy {
    path: PathBuf,
    kept: bool,
}

impl PartialCopy {
    fn begin(to: &Path) -> Result<Self, StoreError> {
        if to.symlink_metadata().is_ok() {
            return Err(taken(to));
        }
        let mut path = to.as_os_str().to_owned();
        path.push(".part");
        let path = PathBuf::from(path);
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| {
                StoreError::Refused(if error.kind() == io::ErrorKind::AlreadyExists {
                    format!(
                        "{} exists: a backup to this name is running or was interrupted. If none is running, remove the file",
                        path.display()
                    )
                } else {
                    format!("cannot create {}: {error}", to.display())
                })
            })?;
        Ok(Self { path, kept: false })
    }

    fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |file| file.len())
    }

    /// Gives the copy its name, durably: its bytes are on the disk before, and the name
    /// afterwards.
    fn keep_as(mut self, to: &Path) -> Result<(), StoreError> {
        let fail = |error: io::Error| {
            StoreError::Refused(format!("cannot write {}: {error}", to.display()))
        };
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(fail)?;
        rename_to_new(&self.path, to)?;
        self.kept = true;
        let folder = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(fail)
    }
}

impl Drop for PartialCopy {
    fn drop(&mut self) {
        if !self.kept {
            // If the file stays, the next backup refuses it by name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn rename_to_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    let renamed = rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    let renamed = match renamed.map_err(io::Error::from) {
        // Some file systems, such as network ones, do not support this rename: check first,
        // then rename.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            if to.symlink_metadata().is_ok() {
                return Err(taken(to));
            }
            std::fs::rename(from, to)
        }
        renamed => renamed,
    };
    renamed.map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            taken(to)
        } else {
            StoreError::Refused(format!("cannot write {}: {error}", to.display()))
        }
    })
}

fn taken(to: &Path) -> StoreError {
    StoreError::Refused(format!(
        "{} already exists: a backup never replaces a file. Choose another name",
        to.display()
    ))
}
