//! A file beside the database that only takes up space. On a full disk its space is given back: the start needs a
//! few pages, and a checkpoint moves the log into a database file that has to grow. Until the file can be made again,
//! writes are refused, so that they do not use up that space.

use std::fs::File;
use std::io::{self, Write as _};

use super::commits::Commits;
use crate::prelude::*;
use leadhost_config::disk;

pub struct Reserve {
    file: PathBuf,
}

impl Reserve {
    pub fn beside(database: &Path) -> Self {
        Self {
            file: database.with_extension("reserve"),
        }
    }

    pub fn release(&self) {
        if let Err(error) = std::fs::remove_file(&self.file)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, file = %self.file.display(), "reserve of the disk not released");
        }
    }

    /// Gives the space back and refuses writes, unless the disk has room: a file may have a bound of its own.
    pub fn release_if_full(&self, commits: &Commits) {
        if let Err(error) = self.has_room() {
            self.release();
            self.close(commits, &error);
        }
    }

    /// Takes the space up again, and lets writes begin if that succeeds.
    pub fn renew(&self, commits: &Commits) {
        match self.has_room().and_then(|()| self.fill()) {
            Ok(()) if commits.set_full(false) => {
                tracing::info!("disk has room again, writes are accepted");
            }
            Ok(()) => {}
            Err(error) => self.close(commits, &error),
        }
    }

    fn close(&self, commits: &Commits, error: &io::Error) {
        if commits.set_full(true) {
            tracing::error!(
                %error,
                folder = %self.folder().display(),
                needed_bytes = limits::DISK_RESERVE_BYTES,
                "disk is full, writes are refused until it has room"
            );
        }
    }

    fn has_room(&self) -> io::Result<()> {
        let free = disk::free_bytes(self.folder());
        if free.is_none_or(|free| free >= limits::DISK_RESERVE_BYTES) {
            Ok(())
        } else {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    /// Writes the bytes, since not every file system can allocate them otherwise.
    fn fill(&self) -> io::Result<()> {
        let fill = || File::create(&self.file)?.write_all(&vec![0; limits::RESERVE_FILE_BYTES]);
        let filled = fill();
        if filled.is_err() {
            self.release();
        }
        filled
    }

    fn folder(&self) -> &Path {
        let folder = self
            .file
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        folder.unwrap_or_else(|| Path::new("."))
    }
}
