//! Files that begin with the SHA-256 of the rest, so that one that is damaged, or half-written
//! before a power cut, is detected.

use std::fs::{self, File};
use std::io::{Error, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

const HASH: usize = 32;

/// Reads a file. `None` if it is damaged.
pub fn read(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = fs::read(path)?;
    let is_intact = bytes.len() >= HASH && bytes[..HASH] == Sha256::digest(&bytes[HASH..])[..];
    Ok(is_intact.then(|| {
        bytes.drain(..HASH);
        bytes
    }))
}

/// Writes a file at once: a reader sees the former file or this one. It is on the disk afterwards.
pub fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path
        .parent()
        .ok_or_else(|| Error::other("it has no folder"))?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&Sha256::digest(content))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}
