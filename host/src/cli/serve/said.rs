//! What the service leaves in its data folder for commands and scripts on the
//! same machine: the addresses that it took, and files that only their owner reads.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::client::ADDRESSES_FILE;
use crate::cli::failure::Failure;
use crate::http::server::Addresses;

/// The file of addresses, for as long as the service runs.
pub struct Said(PathBuf);

impl Said {
    pub fn write(folder: &Path, addresses: &Addresses) -> Result<Self, Failure> {
        let path = folder.join(ADDRESSES_FILE);
        let text = json!({
            "gateway": addresses.gateway,
            "data": addresses.data,
            "admin": addresses.admin,
            "process": std::process::id(),
        });
        write_private(&path, &format!("{text:#}\n"))?;
        Ok(Self(path))
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        // A stale file only costs the next command a clear refusal.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes a file whole, that only its owner reads: a reader sees the old one or
/// the new one.
pub fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let write = || -> std::io::Result<()> {
        // One that was left behind may have other permissions.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// The lines to try that lie beside the first workspace file, with this
/// service's files put in. None when there are none.
pub fn invitation(workspace_file: &Path, folder: &Path, keys: &Path) -> Option<String> {
    let script = workspace_file.with_file_name("try-it.sh");
    let text = std::fs::read_to_string(script).ok()?;
    // The script's own head is for who runs it as a file.
    let (_, lines) = text.split_once("# ---\n")?;
    let whole = |path: &Path| {
        path.canonicalize()
            .unwrap_or_else(|_| path.to_owned())
            .display()
            .to_string()
    };
    Some(format!(
        "\nThe service runs. In another terminal:\n\nkeys='{}' service='{}' leadhost='{}'\n{lines}",
        whole(keys),
        whole(&folder.join(ADDRESSES_FILE)),
        whole(&std::env::current_exe().unwrap_or_else(|_| PathBuf::from("leadhost"))),
    ))
}
