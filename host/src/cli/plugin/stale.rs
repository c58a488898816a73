//! Whether a project was changed since its build.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders and files that builds write.
const BUILT: [&str; 8] = [
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
    "venv",
    "zig-cache",
    "zig-out",
];

/// The endings of source files, in all languages of projects.
const SOURCES: [&str; 9] = ["c", "go", "h", "js", "mjs", "py", "rs", "ts", "zig"];

/// How deep folders are looked through.
const DEPTH: usize = 8;

/// Returns whether a file or folder of this name is none of the project's own: a build writes it, or it
/// is hidden.
pub fn is_built(name: &str) -> bool {
    name.starts_with('.') || BUILT.contains(&name)
}

pub fn newer_source(project: &Path, built: &Path) -> Option<PathBuf> {
    let built = std::fs::metadata(built).and_then(|built| built.modified());
    find(project, built.ok()?, DEPTH)
}

fn find(folder: &Path, built: SystemTime, depth: usize) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if is_built(&name.to_string_lossy()) {
            continue;
        }
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            let within = depth
                .checked_sub(1)
                .and_then(|depth| find(&path, built, depth));
            if within.is_some() {
                return within;
            }
        } else if is_source(&path) {
            let changed = entry.metadata().and_then(|file| file.modified());
            if changed.is_ok_and(|changed| changed > built) {
                return Some(path);
            }
        }
    }
    None
}

fn is_source(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SOURCES.contains(&ending))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_source_that_was_changed_after_the_build_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            let file = File::create(&path).expect("it is made");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            file.set_modified(time).expect("it is set");
            path
        };
        let built = at("build/plugin.wasm", 100);
        at("src/lib.rs", 99);
        at("README.md", 200);
        at("target/debug/gen.rs", 200);
        at(".cache/x.py", 200);
        assert_eq!(newer_source(folder.path(), &built), None);
        let changed = at("src/deep/er.rs", 101);
        assert_eq!(newer_source(folder.path(), &built), Some(changed));
        assert_eq!(
            newer_source(folder.path(), &folder.path().join("none")),
            None
        );
    }
}
