//! Python: virtual environments in the build folder, with the packages of a list
//! of requirements; in one of them `componentize-py` makes a component of the
//! Python example.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::files;
use crate::install::Install;
use crate::process;
use crate::repository;

/// Makes sure of Python, its package manager and virtual environments. `why` ends
/// the sentence "python3 is needed".
pub fn ensure(install: Install, why: &str) -> Result<(), Failure> {
    if process::find("python3").is_none() {
        install.debian(&["python3", "python3-venv"], why)?;
    }
    // Debian has a separate package for the part that puts pip into an
    // environment.
    if process::output(Command::new("python3").args(["-c", "import venv, ensurepip"])).is_err() {
        install.debian(&["python3-venv"], why)?;
    }
    Ok(())
}

pub fn build(folder: &Path, contract: &Path, out: &Path) -> Result<(), Failure> {
    let environment = environment(&[folder.join("requirements.txt")], "guests/.venv")?;
    process::run(
        Command::new(environment.join("bin/componentize-py"))
            .current_dir(folder)
            // The search for packages would otherwise find this machine's.
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

/// The environment in the build folder with the packages of the lists of
/// requirements, made again when the lists change.
pub fn environment(lists: &[PathBuf], name: &str) -> Result<PathBuf, Failure> {
    let mut content = Vec::new();
    for list in lists {
        content.extend(files::bytes(list)?);
    }
    let environment = repository::target().join(name);
    let stamp = environment.join("leadhost-requirements.txt");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == content) {
        return Ok(environment);
    }
    process::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    let mut install = Command::new(environment.join("bin/python"));
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    for list in lists {
        install.arg("--requirement").arg(list);
    }
    process::run(&mut install).map_err(|failure| {
        failure
            .hint("pip must be able to reach its index; try again, or skip the parts that need it")
    })?;
    files::write_if_changed(&stamp, &content)?;
    Ok(environment)
}
