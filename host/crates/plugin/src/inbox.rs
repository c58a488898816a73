//! The watched folder: reports component files that are new or changed, once they are
//! complete, files that were removed, and entries that it passes over although they look like components.
//! Other modules decide what to do with them.
//!
//! A file is complete when it has not changed for a moment and its sections end where the
//! file ends. The inbox waits for a half-written file. A file that stays broken is reported
//! all the same, so that its refusal is visible. Only names that end in `.wasm` and do not
//! begin with a dot count. The folder is also polled, since some file systems send no
//! notifications. A file counts as changed if its change time differs: many programs that copy keep its
//! length and its modification time.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use crate::prelude::*;
use leadhost_golden::{SectionError, read_section};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// A complete file whose content was not reported before.
#[derive(Debug)]
pub struct InboxFile {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub enum InboxEvent {
    Complete(InboxFile),
    /// A component file, or an entry that was passed over, was removed.
    Removed(PathBuf),
    PassedOver(PathBuf, &'static str),
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
    change_notice: Arc<Notify>,
    /// Sends change notifications while it is alive.
    _watcher: Option<RecommendedWatcher>,
}

/// How long a file must have been unchanged.
const QUIET: Duration = Duration::from_millis(250);
/// How long the inbox waits for an incomplete file.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the folder is polled without a notification.
pub const POLL: Duration = Duration::from_secs(2);

impl Inbox {
    /// Watches a folder. Files that are already there are reported first.
    pub fn watch(dir: &Path) -> Result<Self, InboxError> {
        fs::read_dir(dir).map_err(|source| InboxError {
            path: dir.to_owned(),
            source,
        })?;
        let change_notice = Arc::new(Notify::new());
        Ok(Self {
            folder: Arc::new(Mutex::new(Folder::new(dir))),
            _watcher: watcher(dir, Arc::clone(&change_notice)),
            change_notice,
        })
    }

    /// Waits for the next event. Dropping the future loses no event.
    pub async fn next(&mut self) -> InboxEvent {
        loop {
            let wait = self.look().await;
            if let Some(event) = lock(&self.folder).ready.pop_front() {
                return event;
            }
            // Look again after this long, with or without a notification.
            let _ = tokio::time::timeout(wait, self.change_notice.notified()).await;
        }
    }

    async fn look(&self) -> Duration {
        let folder = Arc::clone(&self.folder);
        tokio::task::spawn_blocking(move || lock(&folder).look(Instant::now()))
            .await
            .unwrap_or(POLL)
    }
}

fn watcher(dir: &Path, change_notice: Arc<Notify>) -> Option<RecommendedWatcher> {
    let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the folder causes events too; reacting to them would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            change_notice.notify_one();
        }
    })
    .and_then(|mut watcher| {
        watcher.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    match made {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(inbox = %dir.display(), %error, "inbox change notifications are not available; polling every two seconds");
            None
        }
    }
}

fn lock(folder: &Mutex<Folder>) -> MutexGuard<'_, Folder> {
    folder.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Folder {
    dir: PathBuf,
    files: HashMap<PathBuf, TrackedFile>,
    /// The content that was last reported for each path.
    reported: HashMap<PathBuf, Digest>,
    /// The entries that look like component files, and why they are none.
    passed_over: BTreeMap<PathBuf, &'static str>,
    ready: VecDeque<InboxEvent>,
    unreadable: bool,
}

struct TrackedFile {
    stamp: Stamp,
    changed: Instant,
    settled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    /// No program can set it.
    changed: (i64, i64),
}

impl Stamp {
    fn read(path: &Path) -> std::io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Folder {
    fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            files: HashMap::new(),
            reported: HashMap::new(),
            passed_over: BTreeMap::new(),
            ready: VecDeque::new(),
            unreadable: false,
        }
    }

    /// Finds complete files. Returns how long to wait before the next look.
    fn look(&mut self, now: Instant) -> Duration {
        let (paths, passed_over) = match self.component_files() {
            Ok(found) => {
                self.unreadable = false;
                found
            }
            Err(error) => {
                if !self.unreadable {
                    tracing::warn!(inbox = %self.dir.display(), %error, "inbox cannot be read");
                }
                self.unreadable = true;
                return POLL;
            }
        };
        let files = self.files.extract_if(|path, _| !paths.contains(path));
        let before = std::mem::replace(&mut self.passed_over, passed_over);
        let is_gone =
            |path: &PathBuf| !self.passed_over.contains_key(path) && !paths.contains(path);
        let gone = files.map(|(path, _)| path);
        for path in gone.chain(before.keys().filter(|path| is_gone(path)).cloned()) {
            // The same bytes are told again if they come back.
            self.reported.remove(&path);
            self.ready.push_back(InboxEvent::Removed(path));
        }
        for (path, why) in &self.passed_over {
            if before.get(path) != Some(why) {
                self.ready
                    .push_back(InboxEvent::PassedOver(path.clone(), why));
            }
        }
        let mut wait = POLL;
        for path in paths {
            // The file was removed in the meantime.
            let Ok(stamp) = Stamp::read(&path) else {
                continue;
            };
            let tracked = self.files.entry(path.clone()).or_insert(TrackedFile {
                stamp,
                changed: now,
                settled: false,
            });
            if tracked.stamp != stamp {
                *tracked = TrackedFile {
                    stamp,
                    changed: now,
                    settled: false,
                };
            }
            if tracked.settled {
                continue;
            }
            let quiet = now.saturating_duration_since(tracked.changed);
            if quiet < QUIET {
                wait = wait.min(QUIET - quiet);
                continue;
            }
            match self.take(&path, stamp, quiet) {
                FileState::Settled => {
                    if let Some(tracked) = self.files.get_mut(&path) {
                        tracked.settled = true;
                    }
                }
                FileState::NotYet => wait = wait.min(QUIET),
            }
        }
        wait
    }

    fn take(&mut self, path: &Path, stamp: Stamp, quiet: Duration) -> FileState {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "inbox file cannot be read; skipped until it changes");
                return FileState::Settled;
            }
        };
        let unchanged = Stamp::read(path).is_ok_and(|after| after == stamp);
        if !unchanged || (!is_whole(&bytes) && quiet < PATIENCE) {
            return FileState::NotYet;
        }
        let digest = Digest::compute(&bytes);
        if self.reported.get(path) != Some(&digest) {
            self.reported.insert(path.to_owned(), digest);
            self.ready.push_back(InboxEvent::Complete(InboxFile {
                path: path.to_owned(),
                bytes,
            }));
        }
        FileState::Settled
    }

    /// Returns the component files, and the entries that only look like one.
    fn component_files(&self) -> std::io::Result<(Vec<PathBuf>, BTreeMap<PathBuf, &'static str>)> {
        let (mut paths, mut passed_over) = (Vec::new(), BTreeMap::new());
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let ending = path.extension().filter(|_| !hidden);
            let Some(ending) = ending.filter(|ending| ending.eq_ignore_ascii_case("wasm")) else {
                continue;
            };
            match no_component(&path, ending == "wasm") {
                None => paths.push(path),
                Some(why) => {
                    passed_over.insert(path, why);
                }
            }
        }
        paths.sort();
        Ok((paths, passed_over))
    }
}

/// Returns why the entry is no component file, if it is none.
fn no_component(path: &Path, has_name: bool) -> Option<&'static str> {
    if !has_name {
        return Some("its name has to end in `.wasm`, in lower case: rename it");
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Some("it is not a file"),
        Ok(metadata) if metadata.nlink() == 0 => Some(
            "its file was replaced or removed where it comes from, and the mount still shows the old one: mount its folder instead of the file",
        ),
        Err(_) if path.is_symlink() => Some("it is a link to a file that is not there"),
        Ok(_) | Err(_) => None,
    }
}

enum FileState {
    /// Reported, already known, or unreadable: nothing to do until it changes.
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

/// Returns whether the file is complete. A file that is no component counts as complete:
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

    struct WatchedFolder {
        dir: tempfile::TempDir,
        folder: Folder,
        now: Instant,
    }

    impl WatchedFolder {
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

        /// Returns the files that are reported after so many milliseconds.
        fn after(&mut self, millis: u64) -> Vec<Vec<u8>> {
            self.now += Duration::from_millis(millis);
            self.folder.look(self.now);
            let bytes = |event| match event {
                InboxEvent::Complete(file) => Some(file.bytes),
                InboxEvent::Removed(_) | InboxEvent::PassedOver(..) => None,
            };
            self.folder.ready.drain(..).filter_map(bytes).collect()
        }
    }

    #[test]
    fn a_file_is_reported_when_it_is_quiet_and_only_once() {
        let mut watched = WatchedFolder::new();
        watched.write("a.wasm", &component("a"));
        assert!(watched.after(0).is_empty());
        assert!(watched.after(100).is_empty());
        assert_eq!(watched.after(200), [component("a")]);
        assert!(watched.after(10_000).is_empty());
    }

    #[test]
    fn a_half_written_file_is_not_reported() {
        let mut watched = WatchedFolder::new();
        let whole = component("some name");
        watched.write("a.wasm", &whole[..10]);
        assert!(watched.after(0).is_empty());
        assert!(watched.after(1_000).is_empty());
        watched.write("a.wasm", &whole);
        assert!(watched.after(1_000).is_empty(), "it just changed");
        assert_eq!(watched.after(300), [whole]);
    }

    #[test]
    fn a_file_that_stays_broken_is_reported_in_the_end() {
        let mut watched = WatchedFolder::new();
        let half = &component("some name")[..10];
        watched.write("a.wasm", half);
        watched.after(0);
        assert!(watched.after(4_000).is_empty());
        assert_eq!(watched.after(1_500), [half]);
    }

    #[test]
    fn a_file_is_reported_again_only_if_its_content_changed() {
        let mut watched = WatchedFolder::new();
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        watched.after(300);
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        assert!(watched.after(300).is_empty());
        watched.write("a.wasm", &component("b"));
        watched.after(0);
        assert_eq!(watched.after(300), [component("b")]);
    }

    #[test]
    fn a_file_that_comes_back_is_reported_again() {
        let mut watched = WatchedFolder::new();
        for _ in 0..2 {
            watched.write("a.wasm", &component("a"));
            watched.after(0);
            assert_eq!(watched.after(300), [component("a")]);
            fs::remove_file(watched.dir.path().join("a.wasm")).unwrap();
            watched.after(300);
        }
    }

    /// As `cp -p` does: the same file, of the same length, with the same modification time.
    #[test]
    fn a_file_that_is_overwritten_in_place_is_reported() {
        let mut watched = WatchedFolder::new();
        let path = watched.dir.path().join("a.wasm");
        let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        watched.write("a.wasm", &component("a"));
        for name in ["b", "c", "d"] {
            fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(at)
                .unwrap();
            watched.after(0);
            assert_eq!(watched.after(300).len(), 1, "before {name}");
            // The change time has the resolution of the kernel's clock.
            let changed = || fs::metadata(&path).unwrap().ctime_nsec();
            let before = changed();
            while changed() == before {
                watched.write("a.wasm", &component(name));
            }
        }
    }

    #[test]
    fn a_link_that_is_swapped_is_reported() {
        use std::os::unix::fs::symlink;
        let mut watched = WatchedFolder::new();
        let dir = watched.dir.path().to_owned();
        for name in ["a", "b"] {
            fs::create_dir(dir.join(format!("..{name}"))).unwrap();
            fs::write(dir.join(format!("..{name}/x.wasm")), component(name)).unwrap();
        }
        symlink("..a", dir.join("..data")).unwrap();
        symlink("..data/x.wasm", dir.join("x.wasm")).unwrap();
        watched.after(0);
        assert_eq!(watched.after(300), [component("a")]);
        symlink("..b", dir.join("..data_tmp")).unwrap();
        fs::rename(dir.join("..data_tmp"), dir.join("..data")).unwrap();
        watched.after(0);
        assert_eq!(watched.after(300), [component("b")]);
    }

    #[test]
    fn an_empty_file_is_reported() {
        let mut watched = WatchedFolder::new();
        watched.write("a.wasm", b"");
        watched.after(0);
        assert_eq!(watched.after(5_500), [b""]);
    }

    #[test]
    fn an_entry_that_only_looks_like_a_component_is_reported_once_with_a_reason() {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::symlink;
        let mut watched = WatchedFolder::new();
        let dir = watched.dir.path().to_owned();
        watched.write("a.WASM", &component("a"));
        symlink("nowhere.wasm", dir.join("b.wasm")).unwrap();
        fs::create_dir(dir.join("c.wasm")).unwrap();
        // As the mount of a file shows it when another one has taken its place.
        let replaced = tempfile::tempfile().unwrap();
        symlink(
            format!("/proc/self/fd/{}", replaced.as_raw_fd()),
            dir.join("d.wasm"),
        )
        .unwrap();
        let mut look = || {
            watched.now += Duration::from_secs(10);
            watched.folder.look(watched.now);
            let told = watched.folder.ready.drain(..).map(|event| match event {
                InboxEvent::PassedOver(path, why) => {
                    format!("{}: {why}", path.file_name().unwrap().display())
                }
                InboxEvent::Removed(path) => {
                    format!("{} is gone", path.file_name().unwrap().display())
                }
                InboxEvent::Complete(file) => format!("{:?}", file.path),
            });
            told.collect::<Vec<_>>()
        };
        let told = look();
        for (said, expect) in told.iter().zip([
            "a.WASM: its name has to end in `.wasm`",
            "b.wasm: it is a link",
            "c.wasm: it is not a file",
            "d.wasm: its file was replaced",
        ]) {
            assert!(said.starts_with(expect), "{said}");
        }
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(look().is_empty());
        fs::rename(dir.join("a.WASM"), dir.join("a.txt")).unwrap();
        assert_eq!(look(), ["a.WASM is gone"]);
    }

    #[test]
    fn a_removed_file_is_reported_once() {
        let mut watched = WatchedFolder::new();
        watched.write("a.wasm", &component("a"));
        watched.after(0);
        assert_eq!(watched.after(300), [component("a")]);
        let path = watched.dir.path().join("a.wasm");
        fs::remove_file(&path).unwrap();
        watched.folder.look(watched.now);
        watched.folder.look(watched.now);
        let events = &watched.folder.ready;
        assert!(
            matches!(events.front(), Some(InboxEvent::Removed(removed)) if *removed == path),
            "{events:?}"
        );
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn other_and_hidden_files_do_not_count() {
        let mut watched = WatchedFolder::new();
        watched.write("a.txt", b"text");
        watched.write(".a.wasm", &component("a"));
        fs::create_dir(watched.dir.path().join("b.wasm")).unwrap();
        watched.after(0);
        assert!(watched.after(300).is_empty());
    }

    #[tokio::test]
    async fn a_file_that_is_added_later_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::watch(dir.path()).unwrap();
        let temporary = dir.path().join(".a.tmp");
        fs::write(&temporary, component("a")).unwrap();
        fs::rename(&temporary, dir.path().join("a.wasm")).unwrap();
        let InboxEvent::Complete(file) = inbox.next().await else {
            panic!("no file was removed");
        };
        assert_eq!(file.bytes, component("a"));
        assert_eq!(file.path, dir.path().join("a.wasm"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Inbox::watch(Path::new("/nonexistent/inbox")).err().unwrap();
        assert!(error.to_string().contains("/nonexistent/inbox"));
    }
}
