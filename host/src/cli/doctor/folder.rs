//! The data folder: its owner, its permissions, those of the key files, and its disk.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::finding::Findings;
use crate::cli::client;
use crate::disk;
use crate::domain::text::quoted;
use crate::limits;
use crate::seal;

const ABOUT: &str = "folder";

/// Checks the data folder. Returns whether this user may open the files in it.
pub fn check(folder: &Path, findings: &mut Findings) -> bool {
    let shown = folder.display();
    let found = match std::fs::metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.warning(
                ABOUT,
                format!("The data folder {shown} does not exist."),
                "The first start creates it; if a service ran here before, name its folder with --data-dir.",
            );
            return true;
        }
        Err(error) => {
            findings.problem(
                ABOUT,
                format!("The data folder {shown} cannot be read: {error}."),
                "Run the command as the user of the service.",
            );
            return false;
        }
    };
    if !found.is_dir() {
        findings.problem(
            ABOUT,
            format!("The data folder {shown} is not a folder."),
            "Name another one with store.data_dir.",
        );
        return false;
    }
    disk(folder, findings);
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own {
        findings.problem(
            ABOUT,
            format!(
                "The data folder {shown} belongs to the user with the id {}, and this command runs as {own}.",
                found.uid()
            ),
            format!(
                "Run the command and the service as the owner of the folder, or run chown {own} {}.",
                quoted(&folder.to_string_lossy())
            ),
        );
        return false;
    }
    if is_private(folder, "The data folder", 0o700, findings) {
        findings.ok(
            ABOUT,
            format!("The data folder {shown} belongs to this user alone."),
        );
    }
    for name in [seal::KEY_FILE, client::KEY_FILE] {
        let file = folder.join(name);
        if file.exists() && is_private(&file, "The key file", 0o600, findings) {
            findings.ok(
                "keys",
                format!("Only this user may read the key file {}.", file.display()),
            );
        }
    }
    true
}

fn is_private(path: &Path, kind: &str, wanted: u32, findings: &mut Findings) -> bool {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 == 0 => true,
        Ok(found) => {
            findings.problem(
                ABOUT,
                format!(
                    "{kind} {shown} is open to other users of this machine (mode {:o}).",
                    found.permissions().mode() & 0o777
                ),
                format!("Run chmod {wanted:o} {}.", quoted(&path.to_string_lossy())),
            );
            false
        }
        Err(error) => {
            findings.problem(
                ABOUT,
                format!("{kind} {shown} cannot be read: {error}."),
                "Run the command as the user of the service.",
            );
            false
        }
    }
}

fn disk(folder: &Path, findings: &mut Findings) {
    const ABOUT: &str = "disk";
    let Some(free) = disk::free_bytes(folder) else {
        findings.warning(
            ABOUT,
            "The system does not say how much space the disk of the data folder has.",
            "Look at it with the tools of the system.",
        );
        return;
    };
    let what = format!("The disk of the data folder has {} MiB free.", free >> 20);
    if free < limits::DISK_RESERVE_BYTES {
        findings.problem(
            ABOUT,
            what,
            format!(
                "Make room: with less than {} MiB the service is not ready.",
                limits::DISK_RESERVE_BYTES >> 20
            ),
        );
    } else if free < limits::DOCTOR_LOW_DISK_BYTES {
        findings.warning(
            ABOUT,
            what,
            "Make room, or shorten retention.deliveries_days.",
        );
    } else {
        findings.ok(ABOUT, what);
    }
}
