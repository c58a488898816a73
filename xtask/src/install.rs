//! Installation by a task: only requirements, only as root on Debian or through
//! rustup, announced beforehand, and never with `--no-install`. Otherwise the
//! failure names the commands.

use std::path::Path;
use std::process::Command;

use xtask::cargo::has_target;

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::process;

/// A package that is there stays as it is: a test run is no upgrade of the machine.
const INSTALL: [&str; 4] = ["install", "-y", "--no-install-recommends", "--no-upgrade"];

#[derive(Clone, Copy)]
pub struct Install {
    allowed: bool,
}

impl Install {
    pub fn from_args(args: &mut Args) -> Self {
        Self {
            allowed: !args.flag("--no-install"),
        }
    }

    /// Installs Debian packages, or fails with the command. `why` ends the
    /// sentence "these packages are needed".
    pub fn debian(self, packages: &[&str], why: &str) -> Result<(), Failure> {
        let command = format!("apt-get {} {}", INSTALL.join(" "), packages.join(" "));
        if !self.allowed || !is_debian() || !is_root() {
            let reason = if !self.allowed {
                "--no-install forbids installing"
            } else if !is_debian() {
                "this system is not Debian"
            } else {
                "only root may install packages"
            };
            return Err(Failure::new(format!(
                "{} {} needed {why}, and {reason}",
                packages.join(" and "),
                if packages.len() == 1 { "is" } else { "are" }
            ))
            .hint(format!("on Debian, run as root: {command}; elsewhere, install the same programs from your system's packages")));
        }
        announce(&format!("Debian packages {}", packages.join(", ")), why);
        let install = || {
            process::run(
                Command::new("apt-get")
                    .env("DEBIAN_FRONTEND", "noninteractive")
                    .args(INSTALL)
                    .args(packages),
            )
        };
        // A fresh machine has no package lists yet.
        if install().is_ok() {
            return Ok(());
        }
        process::run(Command::new("apt-get").arg("update"))?;
        install()
    }

    /// Installs Debian packages with a server that a task starts by itself, like [`Self::debian`].
    /// `units`: those that the packages start for the whole machine, which were not asked for.
    pub fn debian_server(
        self,
        packages: &[&str],
        units: &[&str],
        why: &str,
    ) -> Result<(), Failure> {
        self.debian(packages, why)?;
        if Path::new("/run/systemd/system").exists() {
            for unit in units {
                let mut disable = Command::new("systemctl");
                let _ = process::output(disable.args(["disable", "--now", unit]));
            }
        }
        Ok(())
    }

    /// Adds a target to the active toolchain through rustup, unless it is there.
    pub fn rust_target(self, triple: &str, why: &str) -> Result<(), Failure> {
        if has_target(triple).context("asking rustc for its folder")? {
            return Ok(());
        }
        if !self.allowed || process::find("rustup").is_none() {
            return Err(
                Failure::new(format!("the Rust target {triple} is needed {why}"))
                    .hint(format!("rustup target add {triple}")),
            );
        }
        announce(&format!("Rust target {triple}"), why);
        process::run(Command::new("rustup").args(["target", "add", triple]))
    }
}

fn announce(what: &str, why: &str) {
    eprintln!("Installing {what} {why} (--no-install forbids it).");
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists() && process::find("apt-get").is_some()
}

fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
