//! The disk of a folder.

use std::path::Path;

/// Returns the bytes that this process may still write to the disk of a folder. `None` if the system
/// does not say.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
