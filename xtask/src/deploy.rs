//! Checks the files of `examples/deploy`: systemd verifies the unit, and on request a
//! container builder builds the image.

use std::process::Command;

use crate::failure::{Context, Failure};
use crate::{files, process, repository};

const FOLDER: &str = "examples/deploy";
const UNIT: &str = "leadhost.service";
/// The program's path in the unit. It is not installed on a build machine.
const INSTALLED: &str = "ExecStart=/usr/local/bin/leadhost ";

/// Programs that build a `Containerfile`, in the order of preference.
const BUILDERS: [&str; 3] = ["podman", "buildah", "docker"];

/// Verifies the unit with `systemd-analyze`. If systemd is not installed, returns a
/// sentence that says why the check was skipped.
///
/// systemd rejects a unit whose program does not exist. So it verifies a copy with one
/// difference: `ExecStart=` names this task's own program.
pub fn verify_unit() -> Result<Option<String>, Failure> {
    if process::find("systemd-analyze").is_none() {
        return Ok(Some(format!(
            "the check of {FOLDER}/{UNIT}: systemd-analyze is not installed"
        )));
    }
    let source = repository::root().join(FOLDER).join(UNIT);
    let unit = files::text(&source)?;
    if !unit.contains(INSTALLED) {
        return Err(Failure::new(format!(
            "{FOLDER}/{UNIT} has no line that begins with `{INSTALLED}`"
        )));
    }
    let program = std::env::current_exe().context("finding the program of this task")?;
    let unit = unit.replace(INSTALLED, &format!("ExecStart={} ", program.display()));
    let copy = repository::target().join("deploy").join(UNIT);
    files::write_if_changed(&copy, unit.as_bytes())?;

    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&copy)
        .output()
        .context("starting systemd-analyze")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // An unknown directive is a warning and the exit code is 0. Warnings about other
    // units of this machine do not count.
    if output.status.success() && !said.contains(UNIT) {
        eprintln!("{:>12} {FOLDER}/{UNIT}", "verified");
        return Ok(None);
    }
    Err(Failure::new(format!(
        "systemd-analyze does not accept {FOLDER}/{UNIT}:\n{}",
        said.trim_end()
    ))
    .hint("its copy in target/deploy has the same line numbers"))
}

pub fn build_image() -> Result<(), Failure> {
    let builder = builder()?;
    let mut command = Command::new(builder);
    command
        .current_dir(repository::root())
        .args(["build", "--tag", "leadhost:test"])
        .arg(format!("--file={FOLDER}/Containerfile"));
    if builder == "docker" {
        // The legacy builder ignores Containerfile.dockerignore and would read target/ too.
        command.env("DOCKER_BUILDKIT", "1");
    } else {
        // The OCI format has no health check.
        command.arg("--format=docker");
    }
    process::run(command.arg("."))
}

/// Returns the first builder that works. `info` fails if a client has no daemon.
fn builder() -> Result<&'static str, Failure> {
    let mut reasons = Vec::new();
    for program in BUILDERS {
        match process::output(Command::new(program).arg("info")) {
            Ok(_) => return Ok(program),
            Err(reason) => reasons.push(reason.to_string()),
        }
    }
    Err(Failure::new(format!(
        "the image cannot be built, no container builder works:\n{}",
        reasons.join("\n")
    ))
    .hint("install podman, buildah or docker, and start docker's daemon"))
}
