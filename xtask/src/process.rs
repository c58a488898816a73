//! Other programs: each call is printed as on a command line, and a failure
//! names the call.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
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
#[expect(
    clippy::disallowed_methods,
    reason = "the standard library has no wait with a limit"
)]
pub fn run_within(command: &mut Command, limit: Duration) -> Result<(), Failure> {
    /// How long a command that has ended may wait until it is noticed.
    const PAUSE: Duration = Duration::from_millis(5);
    eprintln!("$ {}", line(command));
    let mut child = command
        .spawn()
        .context(format!("starting `{}`", line(command)))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child
            .try_wait()
            .context(format!("waiting for `{}`", line(command)))?
        {
            return judge(command, status);
        }
        if start.elapsed() >= limit {
            let _ = child.kill();
            let _ = child.wait();
            let seconds = limit.as_secs();
            let what = format!(
                "`{}` took more than {seconds} s and was ended",
                line(command)
            );
            return Err(Failure::new(what).hint("run it by itself to see where it waits"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Turns the status of an ended command into a failure that names it.
pub fn judge(command: &Command, status: ExitStatus) -> Result<(), Failure> {
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
