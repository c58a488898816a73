//! Other programs: each call is printed as on a command line, and a failure
//! names the call.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Context, Failure};

/// Runs the command with its output on our own streams.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    eprintln!("$ {}", line(command));
    let status = command
        .status()
        .context(format!("starting `{}`", line(command)))?;
    judge(command, status)
}

/// Like [`run`], but ends the command when it has run for `limit`.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<(), Failure> {
    let line = line(command);
    eprintln!("$ {line}");
    let mut child = command.spawn().context(format!("starting `{line}`"))?;
    if let Some(status) = wait_within(&mut child, limit).context(format!("waiting for `{line}`"))? {
        return judge(command, status);
    }
    let _ = child.kill();
    let _ = child.wait();
    let what = format!(
        "`{line}` took more than {} s and was ended",
        limit.as_secs()
    );
    Err(Failure::new(what).hint("run it by itself to see where it waits"))
}

/// Waits for a process; `None` if it still runs after `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "the standard library has no wait with a limit"
)]
pub fn wait_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    /// How long a process that has ended may wait until it is noticed.
    const PAUSE: Duration = Duration::from_millis(5);
    let start = Instant::now();
    loop {
        match child.try_wait()? {
            None if start.elapsed() < limit => std::thread::sleep(PAUSE),
            status => return Ok(status),
        }
    }
}

/// Turns the status of an ended command into a failure that names it.
pub fn judge(command: &Command, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let line = line(command);
    Err(Failure::new(format!("`{line}` ended with {status}")))
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

pub fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

pub fn line(command: &Command) -> String {
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

pub fn git(arguments: &[&str]) -> Result<String, Failure> {
    let mut git = Command::new("git");
    git.current_dir(crate::repository::root()).args(arguments);
    Ok(output(&mut git)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let limit = Duration::from_millis(50);
        let failure =
            run_within(Command::new("sleep").arg("3600"), limit).expect_err("it is ended");
        assert!(failure.to_string().contains("took more than"), "{failure}");
        assert!(run_within(&mut Command::new("true"), Duration::from_secs(3600)).is_ok());
        assert!(run_within(&mut Command::new("false"), Duration::from_secs(3600)).is_err());
    }
}
