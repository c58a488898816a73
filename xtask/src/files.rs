//! Files and folders: each failure names the path.

use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use crate::failure::{Context, Failure};

pub fn text(path: impl AsRef<Path>) -> Result<String, Failure> {
    let path = path.as_ref();
    fs::read_to_string(path).context(format!("reading {}", path.display()))
}

pub fn bytes(path: impl AsRef<Path>) -> Result<Vec<u8>, Failure> {
    let path = path.as_ref();
    fs::read(path).context(format!("reading {}", path.display()))
}

pub fn json(path: impl AsRef<Path>) -> Result<Value, Failure> {
    let path = path.as_ref();
    serde_json::from_str(&text(path)?).context(format!("reading {}", path.display()))
}

pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let path = path.as_ref();
    fs::write(path, content).context(format!("writing {}", path.display()))
}

pub fn create(path: impl AsRef<Path>) -> Result<File, Failure> {
    let path = path.as_ref();
    File::create(path).context(format!("creating {}", path.display()))
}

pub fn make_folder(path: impl AsRef<Path>) -> Result<(), Failure> {
    let path = path.as_ref();
    fs::create_dir_all(path).context(format!("creating {}", path.display()))
}

/// Removes a folder, if it is there.
pub fn remove_folder(path: impl AsRef<Path>) -> Result<(), Failure> {
    let path = path.as_ref();
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a file atomically, and only when its content changes: a watcher of
/// the folder sees neither partial files nor repeats. Returns whether it wrote.
pub fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool, Failure> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.join(format!(".{name}.{}", std::process::id()));
    write(&partial, content)?;
    fs::rename(&partial, path).context(format!("replacing {}", path.display()))?;
    Ok(true)
}

/// One task at a time in a folder, until the file is dropped: a second one would remove what the first one uses.
pub fn lock(folder: &Path) -> Result<File, Failure> {
    make_folder(folder)?;
    let file = create(folder.join("lock"))?;
    file.try_lock().map_err(|_| {
        Failure::new(format!("this task already runs in {}", folder.display()))
            .hint("wait for its end, or stop it with Ctrl-C in its terminal")
    })?;
    Ok(file)
}

/// Replaces what stands between two marks of a page.
pub fn between<'a>(
    page: &'a str,
    begin: &str,
    end: &str,
) -> Result<(&'a str, &'a str, &'a str), Failure> {
    let parts = page.split_once(begin).and_then(|(before, rest)| {
        let (inside, after) = rest.split_once(end)?;
        Some((before, inside, after))
    });
    let (begin, end) = (begin.trim(), end.trim());
    parts.ok_or_else(|| {
        Failure::new("the page has no place for the table")
            .hint(format!("put it between `{begin}` and `{end}`"))
    })
}
