//! `leadhost plugin keygen`: needs no service.

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
    /// Where the new key goes; a file that is there is left alone
    file: PathBuf,
}

impl Keygen {
    pub fn run(self) -> Result<(), Failure> {
        let failed = |what: &str| {
            Failure::new(format!(
                "cannot write a key to {}: {what}",
                self.file.display()
            ))
        };
        let key = signature::new_key().ok_or_else(|| failed("the system gives no randomness"))?;
        let public = signature::public_key(&key).ok_or_else(|| failed("it is unusable"))?;
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.file)
            .and_then(|mut file| file.write_all(signing_key::to_pem(&key).as_bytes()))
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    failed("the file is there already, and a key that is written over is lost; name another file")
                }
                _ => failed(&error.to_string()),
            })?;
        say(&format!(
            "{} is the key to sign with: keep it secret, and where a build can read it.\nComponents signed with it come from {public}.",
            self.file.display()
        ));
        Ok(())
    }
}
