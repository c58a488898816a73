//! The JavaScript example: npm installs the packages of the lock file, and the
//! example's own build script makes the component.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Hint};
use crate::files;
use crate::install::Install;
use crate::process;

/// The oldest Node that the toolchain's native part runs on.
const OLDEST_NODE: u32 = 18;

pub fn ensure(install: Install) -> Result<(), Failure> {
    if process::find("node").is_none() || process::find("npm").is_none() {
        install.debian(&["nodejs", "npm"], "for the parts written in JavaScript")?;
    }
    let version = process::output(Command::new("node").arg("--version"))?;
    let major = version
        .trim()
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(Failure::new(format!(
            "Node {} is too old; {OLDEST_NODE} or later is needed",
            version.trim()
        ))
        .hint("install a current Node")),
    }
}

/// Builds the guest in a folder for a contract, a file, into the component `out`.
pub fn build(folder: &Path, contract: &Path, out: &Path) -> Result<(), Failure> {
    install_locked(folder, Scripts::Left)?;
    process::run(
        Command::new("node")
            .current_dir(folder)
            .arg("build.mjs")
            .arg("--wit")
            .arg(contract)
            .arg("--out")
            .arg(out),
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    /// Do not run them.
    Left,
    /// Run them: a package compiles native code.
    Run,
}

/// Runs `npm ci`, unless it has run for the same lock file.
pub fn install_locked(folder: &Path, scripts: Scripts) -> Result<(), Failure> {
    let lock = folder.join("package-lock.json");
    let content = files::bytes(&lock)?;
    let stamp = folder.join("node_modules/.leadhost-lock");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == content) {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command
        .current_dir(folder)
        .args(["ci", "--no-audit", "--no-fund"]);
    if scripts == Scripts::Left {
        command.arg("--ignore-scripts");
    }
    process::run(&mut command).hint(
        "npm must be able to reach its registry; try again, or skip the parts that need it",
    )?;
    files::write_if_changed(&stamp, &content)?;
    Ok(())
}
