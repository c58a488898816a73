//! Files that the service writes to its data folder for commands and scripts on the same machine:
//! its addresses, and files that only their owner may read.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use tokio::task::JoinHandle;

use crate::cli::client::{ADDRESSES_FILE, ServiceFile};
use crate::cli::prelude::*;
use leadhost_admin_api::identity::ServiceSecret;
use leadhost_http::listen::Addresses;

/// The file of addresses, which exists while the service runs.
pub struct AddressesFile {
    path: PathBuf,
    text: String,
    /// Writes it later, if the disk is full at the start.
    retries: Option<JoinHandle<()>>,
}

/// Time between two attempts to write the file on a full disk.
const AGAIN: Duration = Duration::from_secs(2);

impl AddressesFile {
    pub fn write(
        folder: &Path,
        addresses: &Addresses,
        secret: &ServiceSecret,
        has_tls: bool,
    ) -> CommandResult<Self> {
        let path = folder.join(ADDRESSES_FILE);
        let content = json!(ServiceFile {
            admin: addresses.admin.to_string(),
            secret: secret.clone(),
            data: addresses.data.to_string(),
            gateway: addresses.gateway.to_string(),
            tls: has_tls,
            process: std::process::id(),
        });
        let text = format!("{content:#}\n");
        let retries = match write_atomically(&path, &text) {
            Ok(()) => None,
            // Requests are served all the same: they may be reads.
            Err(error) if error.kind() == ErrorKind::StorageFull => {
                tracing::error!(%error, file = %path.display(), "addresses not saved, retrying; commands do not find the service until then");
                Some(tokio::spawn(retry(path.clone(), text.clone())))
            }
            Err(error) => return Err(not_written(&path, &error)),
        };
        Ok(Self {
            path,
            text,
            retries,
        })
    }
}

async fn retry(path: PathBuf, text: String) {
    while write_atomically(&path, &text).is_err() {
        tokio::time::sleep(AGAIN).await;
    }
    tracing::info!(file = %path.display(), "addresses saved");
}

impl Drop for AddressesFile {
    fn drop(&mut self) {
        if let Some(retries) = &self.retries {
            retries.abort();
        }
        // A file that another process has written since is that one's.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // A stale file only makes the next command fail with a clear error.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a file atomically, readable by its owner only.
pub fn write_private(path: &Path, text: &str) -> CommandResult {
    write_atomically(path, text).map_err(|error| not_written(path, &error))
}

fn not_written(path: &Path, error: &std::io::Error) -> CommandFailure {
    failed!("cannot write {}: {error}", path.display())
}

fn write_atomically(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    // A leftover file may have other permissions.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
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
}

/// Returns the lines of `try-it.sh` beside the workspace file, with the paths of this service
/// filled in, or none without such a file.
pub fn invitation(workspace_file: &Path, folder: &Path, keys: &Path) -> Option<String> {
    let script = workspace_file.with_file_name("try-it.sh");
    let text = std::fs::read_to_string(script).ok()?;
    // The head of the script is only for running it as a file.
    let (_, lines) = text.split_once("# ---\n")?;
    let whole = |path: &Path| {
        path.canonicalize()
            .unwrap_or_else(|_| path.to_owned())
            .display()
            .to_string()
    };
    Some(format!(
        "\nThe service is running. In another terminal:\n\nkeys='{}' service='{}' leadhost='{}'\n{lines}",
        whole(keys),
        whole(&folder.join(ADDRESSES_FILE)),
        whole(&std::env::current_exe().unwrap_or_else(|_| PathBuf::from("leadhost"))),
    ))
}
