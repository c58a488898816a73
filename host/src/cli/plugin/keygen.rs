//! `leadhost plugin keygen`: creates a signing key, without a service.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use clap::Args;

use super::signing_key;
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::plugin::signature;

#[derive(Args)]
pub struct Keygen {
    /// The new file; an existing file is never replaced
    file: PathBuf,
}

impl Keygen {
    /// Writes a new signing key to the file, which only its owner may read, and prints the
    /// public key.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the file exists or cannot be written, or the system provides no
    /// randomness.
    pub fn run(self) -> Result<(), Failure> {
        let failed = |what: &str| {
            Failure::new(format!(
                "cannot write a key to {}: {what}",
                self.file.display()
            ))
        };
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
        say(&format!(
            "Created the signing key {}: keep it secret, and where the build can read it.\nThe publisher of components signed with it is {public}.",
            self.file.display()
        ));
        Ok(())
    }
}
