use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use super::signing_key;
use crate::cli::prelude::*;
use leadhost_plugin::signature;

#[derive(Args)]
pub struct Keygen {
    /// The new file; an existing file is never replaced
    file: PathBuf,
}

impl Keygen {
    pub fn run(self) -> CommandResult {
        let failed = |what: &str| failed!("cannot write a key to {}: {what}", self.file.display());
        let key =
            signature::new_key().ok_or_else(|| failed("the system provides no randomness"))?;
        let public =
            signature::public_key(&key).ok_or_else(|| failed("the new key is unusable"))?;
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.file)
            .and_then(|mut file| file.write_all(signing_key::to_pem(&key).as_bytes()))
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => failed(
                    "the file already exists, and replacing it would lose a key; name another file",
                ),
                _ => failed(&error.to_string()),
            })?;
        say!(
            "Created the signing key {}: keep it secret, in a place that only the build can read.\nThe publisher of components signed with it is {public}.",
            self.file.display()
        );
        Ok(())
    }
}
