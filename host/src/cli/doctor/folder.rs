//! The data folder: its owner, its permissions and its key files', and its disk.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::finding::Findings;
use crate::cli::client;
use crate::cli::prelude::*;
use leadhost_config::disk;
use leadhost_egress::seal::{self, Environment};

const ABOUT: &str = "folder";

/// Checks the data folder. Returns whether this user may open the files in it. `keeps_days`: the value of
/// `retention.deliveries_days`.
pub fn check(folder: &Path, keeps_days: i64, findings: &mut Findings) -> bool {
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
    disk(folder, keeps_days, findings);
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

pub fn check_sealing_key(folder: &Path, findings: &mut Findings) {
    let environment = Environment::read();
    if let Err(error) = seal::check_key(folder, &environment) {
        findings.problem(
            "keys",
            format!("The service does not start: {error}."),
            format!(
                "Put the key back. If the service has it in its environment as {}, run this command with it, too.",
                seal::KEY_VARIABLE
            ),
        );
    }
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

fn disk(folder: &Path, keeps_days: i64, findings: &mut Findings) {
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
                "Make room: with less than {} MiB the service is not ready. {}",
                limits::DISK_RESERVE_BYTES >> 20,
                takes(folder, keeps_days)
            ),
        );
    } else if free < limits::DOCTOR_LOW_DISK_BYTES {
        findings.warning(
            ABOUT,
            what,
            format!("Make room. {}", takes(folder, keeps_days)),
        );
    } else {
        findings.ok(ABOUT, what);
    }
}

/// The names of the database file and its companions begin with this.
const STORE: &str = "leadhost.db";

/// Returns what takes the room of the data folder, and the setting that bounds the store.
fn takes(folder: &Path, keeps_days: i64) -> String {
    let (mut store, mut other) = (0, 0);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else {
            continue;
        };
        let bytes = if found.is_dir() {
            size_of_files(&entry.path())
        } else {
            found.len()
        };
        if entry.file_name().to_string_lossy().starts_with(STORE) {
            store += bytes
        } else {
            other += bytes
        }
    }
    format!(
        "In the data folder the store takes {}, with the bodies of the deliveries, and everything else {}. retention.deliveries_days is {keeps_days}: with fewer days the store keeps fewer bodies, and reuses their room.",
        size::readable(store),
        size::readable(other),
    )
}

fn size_of_files(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_contents_of_the_folder_are_named_with_the_retention() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: usize| {
            std::fs::write(folder.path().join(name), vec![0; bytes]).expect("a file");
        };
        write("leadhost.db", 2_048);
        write("leadhost.db-wal", 1_024);
        std::fs::create_dir(folder.path().join("compiled")).expect("a folder");
        write("compiled/one", 4_096);
        let said = takes(folder.path(), 30);
        assert!(said.contains("the store takes 3 KiB"), "{said}");
        assert!(said.contains("everything else 4 KiB"), "{said}");
        assert!(said.contains("retention.deliveries_days is 30"), "{said}");
    }

    #[test]
    fn a_missing_sealing_key_is_a_problem() {
        let folder = tempfile::tempdir().expect("a folder");
        let none = Environment::default();
        assert!(seal::check_key(folder.path(), &none).is_ok());
        seal::Sealer::from_folder(folder.path(), &none).expect("a new key");
        assert!(seal::check_key(folder.path(), &none).is_ok());
        std::fs::remove_file(folder.path().join(seal::KEY_FILE)).expect("a key file");
        let error = seal::check_key(folder.path(), &none).expect_err("no key");
        assert!(error.to_string().contains("there is no key"), "{error}");
    }
}
