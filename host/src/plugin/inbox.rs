//! The watched folder: tells which component files came or changed, once they
//! are complete. What to do with them is decided elsewhere.
//!
//! A file is complete when it has been quiet for a moment and its sections end
//! where the file ends; a half-written one is waited for. One that stays broken
//! is handed on all the same, so that somebody hears why it is refused. Only
//! names that end in `.wasm` and do not begin with a dot count. The folder is
//! also looked at from time to time, since some file systems tell of nothing.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leadhost_golden::{SectionError, read_section};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::domain::plugin::Digest;
use crate::limits;

/// A file that is complete and that was not handed on with this content before.
#[derive(Debug)]
pub struct InboxFile {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the inbox {} cannot be read: create the folder, or leave plugins.inbox empty", path.display()
)]
pub struct InboxError {
    pub path: PathBuf,
    #[source]
    pub source: std::io::Error,
}

pub struct Inbox {
    folder: Arc<Mutex<Folder>>,
    stirred: Arc<Notify>,
    /// Tells of changes for as long as it lives.
    _watcher: Option<RecommendedWatcher>,
}

/// So long a file must have been quiet.
const QUIET: Duration = Duration::from_millis(250);
/// So long a file that is not whole is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// So often the folder is looked at without being told.
pub const POLL: Duration = Duration::from_secs(2);

impl Inbox {
    /// Files that are there already come first.
    pub fn watch(dir: &Path) -> Result<Self, InboxError> {
        fs::read_dir(dir).map_err(|source| InboxError {
            path: dir.to_owned(),
            source,
        })?;
        let stirred = Arc::new(Notify::new());
        Ok(Self {
            folder: Arc::new(Mutex::new(Folder::new(dir))),
            _watcher: watcher(dir, Arc::clone(&stirred)),
            stirred,
        })
    }

    /// Waits for the next file. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> InboxFile {
        loop {
            let wait = self.look().await;
            if let Some(file) = lock(&self.folder).ready.pop_front() {
                return file;
            }
            // Told or not, look again after that long.
            let _ = tokio::time::timeout(wait, self.stirred.notified()).await;
        }
    }

    async fn look(&self) -> Duration {
        let folder = Arc::clone(&self.folder);
        tokio::task::spawn_blocking(move || lock(&folder).look(Instant::now()))
            .await
            .unwrap_or(POLL)
    }
}

fn watcher(dir: &Path, stirred: Arc<Notify>) -> Option<RecommendedWatcher> {
    let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Looking at the folder is an event too: told of it, it would be
        // looked at without end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            stirred.notify_one();
        }
    })
    .and_then(|mut watcher| {
        watcher.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    match made {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(inbox = %dir.display(), %error, "the system does not tell of changes in the inbox; it is looked at every two seconds");
            None
        }
    }
}

fn lock(folder: &Mutex<Folder>) -> MutexGuard<'_, Folder> {
    folder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of the folder, without tasks and timers.
struct Folder {
    dir: PathBuf,
    files: HashMap<PathBuf, Known>,
    /// What was last handed on under each path.
    handed_on: HashMap<PathBuf, Digest>,
    ready: VecDeque<InboxFile>,
    unreadable: bool,
}

struct Known {
    stamp: Stamp,
    changed: Instant,
    settled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            inode: metadata.ino(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        })
    }
}

impl Folder {
    fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            files: HashMap::new(),
            handed_on: HashMap::new(),
            ready: VecDeque::new(),
            unreadable: false,
        }
    }

    /// Finds what is complete; the answer is when to look again.
    fn look(&mut self, now: Instant) -> Duration {
        let paths = match self.component_files() {
            Ok(paths) => {
                self.unreadable = false;
                paths
            }
            Err(error) => {
                if !self.unreadable {
                    tracing::warn!(inbox = %self.dir.display(), %error, "the inbox cannot be read");
                }
                self.unreadable = true;
                return POLL;
            }
        };
        self.files.retain(|path, _| paths.contains(path));
        let mut wait = POLL;
        for path in paths {
            // A file that went away in the meantime is not there.
            let Ok(stamp) = Stamp::of(&path) else {
                continue;
            };
            let known = self.files.entry(path.clone()).or_insert(Known {
                stamp,
                changed: now,
                settled: false,
            });
            if known.stamp != stamp {
                *known = Known {
                    stamp,
                    changed: now,
                    settled: false,
                };
            }
            if known.settled {
                continue;
            }
            let quiet = now.saturating_duration_since(known.changed);
            if quiet < QUIET {
                wait = wait.min(QUIET - quiet);
                continue;
            }
            match self.take(&path, stamp, quiet) {
                Taken::Settled => {
                    if let Some(known) = self.files.get_mut(&path) {
                        known.settled = true;
                    }
                }
                Taken::NotYet => wait = wait.min(QUIET),
            }
        }
        wait
    }

    fn take(&mut self, path: &Path, stamp: Stamp, quiet: Duration) -> Taken {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a file in the inbox cannot be read; it is left until it changes");
                return Taken::Settled;
            }
        };
        let unchanged = Stamp::of(path).is_ok_and(|after| after == stamp);
        if !unchanged || (!is_whole(&bytes) && quiet < PATIENCE) {
            return Taken::NotYet;
        }
        let digest = Digest::of(&bytes);
        if self.handed_on.get(path) != Some(&digest) {
            self.handed_on.insert(path.to_owned(), digest);
            self.ready.push_back(InboxFile {
                path: path.to_owned(),
                bytes,
            });
        }
        Taken::Settled
    }

    fn component_files(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let component = path.extension().is_some_and(|ending| ending == "wasm");
            if component && !hidden && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

enum Taken {
    /// Handed on, known already, or unreadable: nothing to do until it changes.
    Settled,
    NotYet,
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(limits::INBOX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::INBOX_FILE_BYTES {
        return Err(std::io::Error::other(format!(
            "it has more than {} bytes",
            limits::INBOX_FILE_BYTES
        )));
    }
    Ok(bytes)
}

/// Whether nothing is missing at the end. What is no component at all is whole:
/// more bytes would not make it one.
fn is_whole(bytes: &[u8]) -> bool {
    const HEADER: usize = 8;
    match read_section(bytes) {
        Ok(_) | Err(SectionError::Repeated) => true,
        Err(SectionError::Malformed { .. }) => false,
        Err(SectionError::NotAComponent) => bytes.len() >= HEADER,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const EMPTY_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    /// An empty component with a custom section named `name`.
    fn component(name: &str) -> Vec<u8> {
        let mut bytes = EMPTY_COMPONENT.to_vec();
        bytes.push(0);
        bytes.push(u8::try_from(name.len() + 1).unwrap());
        bytes.push(u8::try_from(name.len()).unwrap());
        bytes.extend_from_slice(name.as_bytes());
        bytes
    }

    struct Watched {
        dir: tempfile::TempDir,
        folder: Folder,
        now: Instant,
    }

    impl Watched {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let folder = Folder::new(dir.path());
            Self {
                dir,
                folder,
                now: Instant::now(),
            }
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            fs::write(self.dir.path().join(name), bytes).unwrap();
        }

        /// What is handed on, after so many milliseconds.
        fn after(&mut self, millis: u64) -> Vec<Vec<u8>> {
            self.now += Duration::from_millis(millis);
            self.folder.look(self.now);
            self.folder.ready.drain(..).map(|file| file.bytes).collect()
        }
    }

    #[test]
    fn a_file_is_handed_on_once_it_is_quiet_and_once_only() {
        let mut watched = Watched::new();
        watched.write("a.wasm", &component("a"));
        assert!(watched.after(0).is_empty());
        assert!(watched.after(100).is_empty());
        assert_eq!(watched.after(200), [component("a")]);
        assert!(watched.after(10_000).is_empty());
    }

    #[test]
    fn a_half_written_file_is_waited_for() {
        let mut watched = Watched::new();
        let whole = component("some name");
        watched.write("a.wasm", &whole[..10]);
        assert!(watched.after(0).is_empty());
        assert!(watched.after(1_000).is_empty());
        watched.write("a.wasm", &whole);
        assert!(watched.after(1_000).is_empty(), "it just changed");
        assert_eq!(watched.after(300), [whole]);
    }

    #[test]
    fn a_file_that_stays_broken_is_handed_on_in_the_end() {
        let mut watched = Watched::new();
        let half = &component("some name")[..10];
        watched.write("a.wasm", half);
        watched.after(0);
        assert!(watched.after(4_000).is_empty());
        assert_eq!(watched.after(1_500), [half]);
    }

    #[test]
    fn touched_or_put_back_it_is_the_same_file_but_new_content_is_new() {
        let mut watched = Watched::new();
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        watched.after(300);
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        assert!(watched.after(300).is_empty());
        fs::remove_file(watched.dir.path().join("a.wasm")).unwrap();
        watched.after(300);
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        assert!(watched.after(300).is_empty());
        watched.write("a.wasm", &component("b"));
        watched.after(0);
        assert_eq!(watched.after(300), [component("b")]);
    }

    #[test]
    fn other_and_hidden_files_do_not_count() {
        let mut watched = Watched::new();
        watched.write("a.txt", b"text");
        watched.write(".a.wasm", &component("a"));
        fs::create_dir(watched.dir.path().join("b.wasm")).unwrap();
        watched.after(0);
        assert!(watched.after(300).is_empty());
    }

    #[tokio::test]
    async fn the_folder_tells_of_a_file_that_comes_later() {
        let dir = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::watch(dir.path()).unwrap();
        let temporary = dir.path().join(".a.tmp");
        fs::write(&temporary, component("a")).unwrap();
        fs::rename(&temporary, dir.path().join("a.wasm")).unwrap();
        let file = inbox.next().await;
        assert_eq!(file.bytes, component("a"));
        assert_eq!(file.path, dir.path().join("a.wasm"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Inbox::watch(Path::new("/nonexistent/inbox")).err().unwrap();
        assert!(error.to_string().contains("/nonexistent/inbox"));
    }
}
