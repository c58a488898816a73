//! `leadhost plugin sign`: needs no service, it works on files.

use std::path::PathBuf;

use clap::Args;

use super::{read_component, signing_key};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::plugin::signature;

#[derive(Args)]
pub struct Sign {
    /// The component, its golden cases already in it
    file: PathBuf,
    /// The key, as `leadhost plugin keygen` makes it
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where the signed component goes; left out: in place of the component
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Sign {
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
