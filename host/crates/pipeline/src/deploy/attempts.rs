//! Attempts at components of the inbox. Each is noted in the data folder before it begins, and the note goes
//! when it has ended. An attempt that the process does not survive leaves its note: a component that ended
//! the process twice is not tried a third time, so that the service starts without it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::prelude::*;

/// The attempts at a component that the process may not survive.
const MOST: u64 = 2;

/// Notes that are kept, the newest.
const NOTES: usize = 16;

/// An attempt, until it is dropped. Its note has a byte for each attempt that has no end.
pub struct Attempt {
    note: Option<PathBuf>,
}

/// Notes that an attempt begins. Fails with the number of attempts that the process did not survive, if it
/// must not begin.
pub async fn begin(pipeline: &Pipeline, digest: &Digest) -> Result<Attempt, u64> {
    let folder = pipeline.config.store.data_dir.join("inbox-attempts");
    let name = digest.0.clone();
    let noted = tokio::task::spawn_blocking(move || note(&folder, &name));
    match noted.await.unwrap_or_else(|error| Err(error.into())) {
        Ok(attempt) => attempt,
        Err(error) => {
            // A full disk must not keep a component out.
            tracing::warn!(digest = digest.short(), %error, "attempt at an inbox file not noted");
            Ok(Attempt { note: None })
        }
    }
}

fn note(folder: &Path, name: &str) -> io::Result<Result<Attempt, u64>> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    let times = fs::metadata(&path).map_or(0, |file| file.len());
    if times >= MOST {
        return Ok(Err(times));
    }
    let mut file = File::options().create(true).append(true).open(&path)?;
    file.write_all(b".")?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    let attempt = Attempt { note: Some(path) };
    forget_oldest(folder)?;
    Ok(Ok(attempt))
}

fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        notes.push((entry.metadata()?.modified()?, entry.path()));
    }
    notes.sort();
    let surplus = notes.len().saturating_sub(NOTES);
    for (_, path) in &notes[..surplus] {
        fs::remove_file(path)?;
    }
    Ok(())
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(path) = &self.note {
            // If it stays, a later attempt removes it.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_ended_the_process_twice_is_not_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let begin = |name: &str| note(folder.path(), name).unwrap();
        let crash = |name: &str| std::mem::forget(begin(name).ok());
        crash("a");
        drop(begin("a").ok());
        crash("a");
        crash("b");
        crash("a");
        assert_eq!(
            begin("a").err(),
            Some(2),
            "an attempt that ended does not count"
        );
        assert!(begin("b").is_ok(), "another component");
        assert_eq!(begin("a").err(), Some(2), "until an operator decides");
    }

    #[test]
    fn the_notes_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..NOTES * 2 {
            std::mem::forget(note(folder.path(), &number.to_string()).unwrap().ok());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), NOTES);
    }
}
