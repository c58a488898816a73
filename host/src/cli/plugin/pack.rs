//! `leadhost plugin pack`: puts golden cases into a component file, without a service.

use std::path::PathBuf;

use clap::Args;
use leadhost_golden::{append_section, load_dir, pack};

use super::read_component;
use crate::cli::failure::Failure;
use crate::cli::output::say;

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
            "{} carries {} golden cases.",
            self.output.display(),
            cases.len()
        ));
        Ok(())
    }
}
