//! The Python example: a virtual environment in the build folder gets what the
//! requirements name, and `componentize-py` makes the component.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::process;
use crate::repository;

/// Makes sure of Python, its package manager and virtual environments.
pub fn ensure(install: Install) -> Result<(), Failure> {
    let why = "to build the Python guest";
    if process::find("python3").is_none() {
        install.debian(&["python3", "python3-venv"], why)?;
    }
    // Debian splits the part off that puts pip into an environment.
    if process::output(Command::new("python3").args(["-c", "import venv, ensurepip"])).is_err() {
        install.debian(&["python3-venv"], why)?;
    }
    Ok(())
}

pub fn build(folder: &Path, contract: &Path, out: &Path) -> Result<(), Failure> {
    let environment = environment(folder)?;
    process::run(
        Command::new(environment.join("bin/componentize-py"))
            .current_dir(folder)
            // The search for packages would otherwise find those of this machine.
            .env("VIRTUAL_ENV", &environment)
            .arg("--quiet")
            .arg("--wit-path")
            .arg(contract)
            .args([
                "--world",
                "lead-converter",
                "componentize",
                "converter",
                "--output",
            ])
            .arg(out),
    )
}

/// The environment with what the requirements name, made once for each list.
fn environment(folder: &Path) -> Result<PathBuf, Failure> {
    let requirements = folder.join("requirements.txt");
    let content =
        std::fs::read(&requirements).context(format!("reading {}", requirements.display()))?;
    let environment = repository::target().join("guests/.venv");
    let stamp = environment.join("leadhost-requirements.txt");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == content) {
        return Ok(environment);
    }
    process::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    process::run(
        Command::new(environment.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(&requirements),
    )
    .map_err(|failure| {
        failure.hint("pip has to reach its index; try again, or leave --guests out")
    })?;
    repository::write_if_changed(&stamp, &content)?;
    Ok(environment)
}
