//! The subcommands of `leadhost plugin` that need no service: `pack` puts golden cases into a
//! component file, `keygen` creates a signing key, `sign` signs a component file.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use clap::Args;
use leadhost_golden::{append_section, load_dir, pack};

use super::{read_component, signing_key};
use crate::cli::failure::Failure;
use crate::cli::output::{count, say};
use crate::plugin::signature;

#[derive(Args)]
pub struct Pack {
    /// The component
    file: PathBuf,
    /// The folder of golden cases, one folder per case
    #[arg(long, value_name = "DIR")]
    golden: PathBuf,
    /// The output file for the component with its cases
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Pack {
    /// Writes the component with the golden cases of the folder to the output file.
    ///
    /// # Errors
    ///
    /// [`Failure`] if a file cannot be read or written, the folder contains no cases, or a case
    /// is wrong.
    pub fn run(self) -> Result<(), Failure> {
        let wasm = read_component(&self.file)?;
        let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
        let cases = load_dir(&self.golden).map_err(|error| failed(&error))?;
        if cases.is_empty() {
            return Err(Failure::new(format!(
                "{} contains no golden cases",
                self.golden.display()
            ))
            .hint("a case is a folder with a case.json in it"));
        }
        let packed = pack(&cases).map_err(|error| failed(&error))?;
        let whole = append_section(&wasm, &packed).map_err(|error| failed(&error))?;
        std::fs::write(&self.output, whole).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", self.output.display()))
        })?;
        say(&format!(
            "{} carries {}.",
            self.output.display(),
            count(cases.len() as u64, "golden case", "golden cases")
        ));
        Ok(())
    }
}

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
            "Created the signing key {}: keep it secret, in a place that only the build can read.\nThe publisher of components signed with it is {public}.",
            self.file.display()
        ));
        Ok(())
    }
}

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
