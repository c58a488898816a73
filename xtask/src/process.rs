//! Other programs: each call is printed as on a command line, and a failure
//! names the call.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure};

/// Runs the command with its output on our own streams.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    eprintln!("$ {}", line(command));
    let status = command
        .status()
        .context(format!("starting `{}`", line(command)))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "`{}` ended with {status}",
        line(command)
    )))
}

/// Runs the command quietly, and returns its standard output.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context(format!("starting `{}`", line(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure::new(format!(
        "`{}` ended with {}\n{}",
        line(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    )))
}

/// Whether the PATH has a program of this name.
pub fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The call as on a command line.
fn line(command: &Command) -> String {
    let program = match std::env::var_os("CARGO") {
        Some(cargo) if cargo == command.get_program() => "cargo".into(),
        _ => command.get_program().to_string_lossy(),
    };
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(program)
        .chain(words)
        .map(|word| {
            if word.contains(' ') {
                format!("'{word}'")
            } else {
                word.into_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}
