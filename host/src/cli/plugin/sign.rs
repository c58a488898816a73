//! `leadhost plugin sign`: signs a component file, without a service.

use std::path::PathBuf;

use clap::Args;

use super::{read_component, signing_key};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::plugin::signature;

#[derive(Args)]
pub struct Sign {
    /// The component, with its golden cases already packed
    file: PathBuf,
    /// The key file from `leadhost plugin keygen`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The output file for the signed component [default: the component's own file]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Sign {
    /// Signs the component, in place without `--output`, and prints the public key.
    ///
    /// # Errors
    ///
    /// [`Failure`] if a file cannot be read or written, the key is not an Ed25519 key, or the
    /// file is not a component.
    pub fn run(self) -> Result<(), Failure> {
        let component = read_component(&self.file)?;
        let key = signing_key::read(&self.key)?;
        let not_a_key = || signing_key::not_a_key(&self.key);
        let public = signature::public_key(&key).ok_or_else(not_a_key)?;
        let signed = signature::sign(&component, &key)
            .map_err(|error| Failure::new(format!("{}: {error}", self.file.display())))?
            .ok_or_else(not_a_key)?;
        let output = self.output.as_ref().unwrap_or(&self.file);
        std::fs::write(output, signed)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", output.display())))?;
        say(&format!("{} is signed by {public}.", output.display()));
        Ok(())
    }
}
