//! A copy of the store's file, made while a service may be writing to it.
//!
//! It is read by a connection of its own that never writes, all of it in one
//! snapshot, so the copy is the store as it was at one commit. The service goes
//! on beside it, and needs not run at all. The copy gets its name only when it is
//! whole, checked and on the disk; no file that is there is ever replaced.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use super::open;
use crate::domain::time::Micros;
use crate::store::{Backup, StoreError};

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

/// Copies the store of `file` into the new file `to`. `progress` hears, now and
/// then, how many bytes of about how many are written.
pub async fn backup(
    file: &Path,
    to: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<Backup, StoreError> {
    if !file.is_file() {
        return Err(StoreError::Open(format!(
            "there is no store at {}",
            file.display()
        )));
    }
    open::refuse_foreign_log(file)?;
    let part = Part::begin(to)?;
    let mut source = connect(file).await?;
    let about: i64 = sqlx::query(SIZE).fetch_one(&mut source).await?.try_get(0)?;
    let about = u64::try_from(about).unwrap_or_default();
    let written = part.path.to_str().ok_or_else(|| {
        StoreError::Refused(format!(
            "{}: SQLite takes names in UTF-8 only",
            to.display()
        ))
    })?;
    let mut copying = Box::pin(sqlx::query(COPY).bind(written).execute(&mut source));
    let mut tick = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            copied = &mut copying => {
                copied?;
                break;
            }
            _ = tick.tick() => progress(part.bytes(), about),
        }
    }
    drop(copying);
    source.close().await?;
    let (contents, bytes) = (look_into(&part.path).await?, part.bytes());
    part.keep_as(to)?;
    Ok(Backup { bytes, ..contents })
}

/// Between two looks at how far the copy is.
const LOOK: Duration = Duration::from_millis(250);

async fn connect(file: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(5))
        .disable_statement_logging();
    Ok(options.connect().await?)
}

/// What the copy holds; one that is damaged is an error.
async fn look_into(copy: &Path) -> Result<Backup, StoreError> {
    let mut connection = connect(copy).await?;
    let complaints = sqlx::query(CHECK).fetch_all(&mut connection).await?;
    for row in &complaints {
        let text: String = row.try_get(0)?;
        if text != "ok" {
            return Err(StoreError::Inconsistent {
                what: format!(
                    "the copy does not pass SQLite's check ({text}): the file that was copied is damaged"
                ),
            });
        }
    }
    let row = sqlx::query(CONTENTS).fetch_one(&mut connection).await?;
    let newest: Option<i64> = row.try_get("newest")?;
    let mut rows = Vec::new();
    for kind in [
        "workspaces",
        "deliveries",
        "contacts",
        "deals",
        "conversations",
        "messages",
    ] {
        let count: i64 = row.try_get(kind)?;
        rows.push((kind, u64::try_from(count).unwrap_or_default()));
    }
    let store: String = row.try_get("store")?;
    connection.close().await?;
    Ok(Backup {
        store,
        bytes: 0,
        rows,
        newest: newest.map(Micros),
    })
}

/// The copy until it is whole: a file of its owner's only, removed if it comes to nothing.
struct Part {
    path: PathBuf,
    kept: bool,
}

impl Part {
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
                        "{} is there: a backup to this name is under way, or was cut off; if none runs, remove it",
                        path.display()
                    )
                } else {
                    format!("cannot make {}: {error}", path.display())
                })
            })?;
        Ok(Self { path, kept: false })
    }

    fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |file| file.len())
    }

    /// Durably: what is named was written to the disk before, and the name after it.
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

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept {
            // What stays is refused by name at the next backup.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn rename_to_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    let renamed = rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    let renamed = match renamed.map_err(io::Error::from) {
        // A file system that knows no such rename, as some on a network: look, then rename.
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
        "{} is there already: a backup never replaces a file, name another",
        to.display()
    ))
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[SIZE, COPY, CHECK, CONTENTS];
