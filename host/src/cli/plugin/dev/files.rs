//! The files of a project, and the wait for a change of one. Build output is ignored: usual
//! folders of builds, hidden files, and the names in `.gitignore`. Only contents count, so a build
//! that writes the same file again causes no other build.

use std::collections::HashSet;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use sha2::{Digest as _, Sha256};

use crate::cli::plugin::component_file::GOLDEN;
use crate::cli::plugin::stale::is_built;
use crate::cli::prelude::*;

/// How often the project is looked at. An editor saves in several steps: as long must nothing have changed.
const POLL: Duration = Duration::from_millis(200);

/// Files of a project. More are not a project's own.
const FILES: usize = 20_000;

/// Bytes that are read of a file; a change after them does not count.
const FILE_BYTES: u64 = 16 << 20;

/// The contents of all files, as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesState {
    /// What a build may read.
    pub sources: [u8; 32],
    golden: [u8; 32],
}

/// A file, its length and when it changed: the files are read again only if one of these is new.
type FileStamp = (PathBuf, u64, i64, i64);

pub struct ProjectFiles<'a> {
    root: &'a Path,
}

impl<'a> ProjectFiles<'a> {
    pub fn of(root: &'a Path) -> Self {
        Self { root }
    }

    /// Returns an error once the folder of the project is no longer where it was.
    pub fn check_root(&self) -> CommandResult {
        if is_there(self.root) {
            return Ok(());
        }
        Err(failed!(
            "the folder {} was moved away or removed while `plugin dev` watched it, so nothing is served",
            self.root.display()
        )
        .hint("run the command again with the folder in which the project is now"))
    }

    /// Reads all files.
    pub fn state(&self) -> CommandResult<FilesState> {
        Ok(self.read(&self.stamps()?))
    }

    fn stamps(&self) -> CommandResult<Vec<FileStamp>> {
        self.check_root()?;
        let mut files = Vec::new();
        self.list(self.root, &ignored(self.root), &mut files)?;
        files.sort();
        Ok(files)
    }

    fn read(&self, files: &[FileStamp]) -> FilesState {
        let (mut sources, mut golden) = (Sha256::new(), Sha256::new());
        for (path, ..) in files {
            let name = path.strip_prefix(self.root).unwrap_or(path);
            let hash = if name.starts_with(GOLDEN) {
                &mut golden
            } else {
                &mut sources
            };
            hash.update(name.as_os_str().as_encoded_bytes());
            // A file that has been removed meanwhile is another state at the next look.
            let content = read(path).unwrap_or_default();
            hash.update([0]);
            hash.update(Sha256::digest(&content));
        }
        FilesState {
            sources: sources.finalize().into(),
            golden: golden.finalize().into(),
        }
    }

    fn list(
        &self,
        folder: &Path,
        ignored: &HashSet<String>,
        files: &mut Vec<FileStamp>,
    ) -> CommandResult {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            // It was removed in the meantime.
            Err(_) if folder != self.root => return Ok(()),
            Err(error) => {
                // Since it was looked for.
                self.check_root()?;
                let folder = folder.display();
                return Err(failed!("cannot read the folder {folder}: {error}"));
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_left_out(&name, ignored) {
                continue;
            }
            // A link may lead to a folder above, without end.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.list(&entry.path(), ignored, files)?,
                Ok(_) => files.push(stamp(entry.path())),
                Err(_) => {}
            }
            if files.len() > FILES {
                return Err(
                    failed!("{} has more than {FILES} files", self.root.display()).hint(
                        "name the folder of one project; names in its .gitignore are left out",
                    ),
                );
            }
        }
        Ok(())
    }

    /// Waits until the files differ from `since` and have not changed for a moment.
    pub async fn changed(&self, since: FilesState) -> CommandResult {
        let (mut seen, mut stamps) = (since, None);
        loop {
            let now = tokio::task::block_in_place(|| self.stamps())?;
            if stamps.as_ref() != Some(&now) {
                seen = tokio::task::block_in_place(|| self.read(&now));
                stamps = Some(now);
            } else if seen != since {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

fn stamp(path: PathBuf) -> FileStamp {
    match path.metadata() {
        Ok(found) => (path, found.len(), found.ctime(), found.ctime_nsec()),
        Err(_) => (path, 0, 0, 0),
    }
}

/// Whether there is a folder at this path. One that was removed while it is the current folder can still be
/// read, but has no name.
fn is_there(folder: &Path) -> bool {
    folder
        .metadata()
        .is_ok_and(|found| found.is_dir() && found.nlink() > 0)
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    // A pipe would block, and a device would never end.
    if !path.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    let mut content = Vec::new();
    std::fs::File::open(path)?
        .take(FILE_BYTES)
        .read_to_end(&mut content)?;
    Ok(content)
}

/// Hidden files belong to tools and editors, which also write names that end in `~`.
fn is_left_out(name: &str, ignored: &HashSet<String>) -> bool {
    name.ends_with('~') || is_built(name) || ignored.contains(name)
}

/// Returns the plain names in the project's `.gitignore`. Patterns and paths do not count.
fn ignored(root: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    text.lines()
        .map(|line| line.trim().trim_matches('/'))
        .filter(|name| !name.is_empty() && !name.contains(['#', '!', '*', '?', '[', '/']))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Self {
            let project = Self(tempfile::tempdir().expect("a folder"));
            project.put("src/lib.rs", "1");
            project.put(".gitignore", "/out/\n*.log\n!keep\n# note\n\nzig\n");
            project
        }

        fn put(&self, name: &str, content: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, content).expect("a file");
        }

        fn files(&self) -> ProjectFiles<'_> {
            ProjectFiles::of(self.0.path())
        }
    }

    #[test]
    fn only_contents_of_sources_count() {
        let project = Project::new();
        let files = project.files();
        let state = || files.state().expect("it is read");
        let first = state();
        project.put("src/lib.rs", "1");
        for built in [
            "build/plugin.wasm",
            "target/x",
            "node_modules/a/b",
            "out/y",
            "src/zig",
            ".git/HEAD",
            "src/lib.rs~",
        ] {
            project.put(built, "2");
            assert_eq!(state(), first, "{built}");
        }
        for source in ["src/lib.rs", "golden/lead/body.json", "keep"] {
            let before = state();
            project.put(source, "3");
            assert_ne!(state(), before, "{source}");
        }
        let sources = state().sources;
        project.put("golden/lead/body.json", "4");
        assert_eq!(state().sources, sources, "no build reads a golden case");
        let before = state();
        let path = |name: &str| project.0.path().join(name);
        std::fs::rename(path("keep"), path("kept")).expect("it is there");
        assert_ne!(state(), before, "a name is a part of the state");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_in_a_new_folder_is_seen() {
        let project = Project::new();
        let files = project.files();
        let first = files.state().expect("it is read");
        project.put("src/new/a.rs", "1");
        files.changed(first).await.expect("it is read");
        let second = files.state().expect("it is read");
        assert_ne!(first, second);
        let change = async {
            tokio::task::yield_now().await;
            project.put("src/new/a.rs", "2");
        };
        let (changed, ()) = tokio::join!(files.changed(second), change);
        changed.expect("it is read");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn files_that_are_all_gone_are_a_change() {
        let project = Project::new();
        let files = project.files();
        let state = files.state().expect("it is read");
        std::fs::remove_dir_all(project.0.path().join("src")).expect("it is ours");
        files.changed(state).await.expect("it is read");
    }

    #[test]
    fn a_folder_that_is_gone_is_reported() {
        let project = Project::new();
        let files = project.files();
        std::fs::remove_dir_all(project.0.path()).expect("it is ours");
        let said = files.state().expect_err("it is gone").to_string();
        assert!(said.contains("was moved away or removed"), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_folder_that_is_moved_with_the_one_above_it_is_reported() {
        let base = tempfile::tempdir().expect("a folder");
        let above = base.path().join("above");
        let root = above.join("project");
        std::fs::create_dir_all(&root).expect("a folder");
        let files = ProjectFiles::of(&root);
        let state = files.state().expect("it is read");
        let move_away = async {
            tokio::task::yield_now().await;
            std::fs::rename(&above, base.path().join("elsewhere")).expect("it is ours");
        };
        let (changed, ()) = tokio::join!(files.changed(state), move_away);
        let said = changed.expect_err("it is gone").to_string();
        assert!(said.contains("was moved away or removed"), "{said}");
    }
}
