//! The subcommands of `leadhost plugin` that work on files alone: `pack` makes a component of a core
//! module and puts golden cases into it, `keygen` creates a signing key, `sign` signs a component
//! file.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use leadhost_golden::{SectionError, read_section};

use super::{component_file, signing_key};
use crate::cli::prelude::*;
use leadhost_plugin::signature;

#[derive(Args)]
pub struct Pack {
    /// The component or the core module, or the folder of a project that is built
    file: PathBuf,
    /// The folder of golden cases, one folder per case [default: that of the project]
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// The output file for the component with its cases
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Pack {
    pub fn run(self) -> CommandResult {
        let read = component_file::read(&self.file)?;
        let golden = self.golden.as_ref().or(read.golden.as_ref());
        let (whole, said) = match golden {
            Some(folder) => {
                let (whole, cases) = read.with_cases(folder)?;
                let (whole, was_signed) = component_file::without_broken_signature(whole);
                let cases = count(cases as u64, "golden case", "golden cases");
                let unsigned = match was_signed {
                    true => {
                        "; the signature of the component does not cover them and is removed: sign it again with `leadhost plugin sign`"
                    }
                    false => "",
                };
                (whole, format!("carries {cases}{unsigned}"))
            }
            None if read.is_encoded => {
                let said = "is a component without golden cases; --golden DIR adds some";
                (read.component().to_vec(), said.to_owned())
            }
            None => {
                if read_section(read.component()) == Err(SectionError::NotAComponent) {
                    return Err(failed!(
                        "{} is neither a component nor a core module",
                        self.file.display()
                    )
                    .hint("name the file that the build of the plugin writes, or the project's folder"));
                }
                return Err(CommandFailure::usage(format!(
                    "{} is a component already, and no golden cases are named to put into it",
                    self.file.display()
                ))
                .hint("name their folder with --golden DIR"));
            }
        };
        std::fs::write(&self.output, whole)
            .map_err(|error| failed!("cannot write {}: {error}", self.output.display()))?;
        say!("{} {said}.", self.output.display());
        Ok(())
    }
}

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

#[derive(Args)]
pub struct Sign {
    /// The component, with its golden cases already packed, or the core module, or the folder of a built project
    file: PathBuf,
    /// The key file from `leadhost plugin keygen`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The output file for the signed component [default: the component's own file]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Sign {
    pub fn run(self) -> CommandResult {
        if self.file.is_dir() && self.output.is_none() {
            return Err(self.needs_output("a folder"));
        }
        let read = component_file::read(&self.file)?;
        // The component takes the place of a component only.
        if read.is_encoded && self.output.is_none() {
            return Err(self.needs_output("a core module, which is turned into a component"));
        }
        let component = read.with_its_cases()?;
        let key = signing_key::read(&self.key)?;
        let not_a_key = || signing_key::not_a_key(&self.key);
        let public = signature::public_key(&key).ok_or_else(not_a_key)?;
        let signed = signature::sign(&component, &key)
            .map_err(|error| failed!("{}: {error}", self.file.display()))?
            .ok_or_else(not_a_key)?;
        let output = self.output.as_ref().unwrap_or(&self.file);
        std::fs::write(output, signed)
            .map_err(|error| failed!("cannot write {}: {error}", output.display()))?;
        say!("{} is signed by {public}.", output.display());
        Ok(())
    }

    fn needs_output(&self, what: &str) -> CommandFailure {
        CommandFailure::usage(format!(
            "{} is {what}: the signed component needs a file",
            self.file.display()
        ))
        .hint("name it with --output")
    }
}
