//! The lock file that keeps a second process away from a store or a data folder. The kernel
//! releases the lock when the process ends.

use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::StoreError;
use leadhost_domain::limits;

pub fn beside(database: &Path) -> PathBuf {
    database.with_extension("lock")
}

/// Returns whether two paths of files that need not exist are the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match (path.parent().map(Path::canonicalize), path.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.join(name),
            _ => path,
        }
    };
    whole(one) == whole(other)
}

/// Locks `what` by its lock file for as long as the returned file is open. A process that is being killed holds its lock
/// for a moment more, so a lock that is taken is tried again for some seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the store is not open yet, so nothing else can be done meanwhile"
)]
pub fn hold(path: &Path, what: impl Display) -> Result<File, StoreError> {
    let mut tries = limits::LOCK_TRIES;
    hold_if(path, what, || {
        tries -= 1;
        std::thread::sleep(limits::LOCK_AGAIN);
        tries > 0
    })
}

/// Tries until `again` returns false.
fn hold_if(
    path: &Path,
    what: impl Display,
    mut again: impl FnMut() -> bool,
) -> Result<File, StoreError> {
    let fail = |verb: &str, error: std::io::Error| {
        StoreError::Open(format!("cannot {verb} {}: {error}", path.display()))
    };
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| fail("open", error))?;
    let mut locked = file.try_lock();
    while matches!(locked, Err(TryLockError::WouldBlock)) && again() {
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // The holder's id is only informative; that there is a holder is certain.
            if file.read_to_string(&mut holder).is_err() || holder.trim().is_empty() {
                holder = "unknown".to_owned();
            }
            return Err(StoreError::Open(format!(
                "{what} is served by another process (id {}): stop that process first, or use another data folder",
                holder.trim()
            )));
        }
        Err(TryLockError::Error(error)) => return Err(fail("lock", error)),
    }
    // In place: a full disk may not give the file another block for the one that it frees.
    let id = std::process::id().to_string();
    file.rewind()
        .and_then(|()| file.write_all(id.as_bytes()))
        .and_then(|()| file.set_len(id.len() as u64))
        .map_err(|error| fail("write", error))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_holder_ends_meanwhile_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("leadhost.lock");
        let holder = hold(&path, "the store").expect("it is free");
        let refused = hold_if(&path, "the store", || false).expect_err("it is held");
        assert!(refused.to_string().contains("another process"), "{refused}");
        let mut holder = Some(holder);
        hold_if(&path, "the store", || holder.take().is_some()).expect("it is free again");
    }

    #[test]
    fn a_lock_is_the_same_file_however_its_folder_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).expect("a link");
        let lock = folder.path().join("leadhost.lock");
        let check = |other: &str, expect: bool| {
            assert_eq!(
                is_same(&lock, &folder.path().join(other)),
                expect,
                "{other}"
            );
        };
        check("leadhost.lock", true);
        check("./leadhost.lock", true);
        check("link/leadhost.lock", true);
        check("other.lock", false);
        check("none/leadhost.lock", false);
    }
}
