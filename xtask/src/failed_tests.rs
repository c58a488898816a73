//! Runs the tests and repeats at the end what the failed ones said: between thousands of
//! lines and before the steps that follow, it is easily missed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure};
use crate::process;

/// The line of a panic's output from which on nothing is repeated: a backtrace is long, and the end of a
/// log would show only it.
const BACKTRACE: &str = "stack backtrace:";

/// The most lines that are repeated of one failed test.
const MAX_LINES: usize = 30;

/// The most failed tests whose output is repeated.
const MAX_TESTS: usize = 20;

/// Runs `cargo test` with its output on our own streams.
///
/// # Errors
///
/// [`Failure`] if it cannot be started or a test fails: with the output of the failed tests.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    run_with_output(command, &mut std::io::stdout().lock())
}

fn run_with_output(command: &mut Command, stdout: &mut impl Write) -> Result<(), Failure> {
    eprintln!("$ {}", process::line(command));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context(format!("starting `{}`", process::line(command)))?;
    let mut failed = FailedTests::default();
    let output = child.stdout.take().expect("it is piped");
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("reading the output of the tests")?;
        let line = String::from_utf8_lossy(&line);
        // The tests go on if the reader of our output has closed it.
        let _ = writeln!(stdout, "{line}");
        failed.read(&line);
    }
    let status = child.wait().context("waiting for the tests")?;
    process::judge(command, status)
        .map_err(|failure| Failure::new(format!("{failure}{}", failed.text())))
}

/// The output of the failed tests, as libtest prints it after the last test: a heading
/// `---- NAME stdout ----` for each, then the names of all.
#[derive(Default)]
struct FailedTests {
    tests: Vec<Vec<String>>,
    in_section: bool,
}

impl FailedTests {
    fn read(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.tests.push(Vec::new());
            self.in_section = true;
        } else if line == "failures:" || line == BACKTRACE {
            self.in_section = false;
        }
        if self.in_section
            && let Some(test) = self.tests.last_mut()
            && test.len() < MAX_LINES
            && !line.is_empty()
        {
            test.push(line.to_owned());
        }
    }

    fn text(&self) -> String {
        let shown = self.tests.iter().take(MAX_TESTS).flatten();
        let mut text = shown.fold(String::new(), |text, line| text + "\n" + line);
        if let Some(more @ 1..) = self.tests.len().checked_sub(MAX_TESTS) {
            text += &format!("\n({more} more)");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_failed_tests_is_repeated_without_backtraces_and_the_list_of_names() {
        let output = "running 3 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\nthread 'b' panicked at b.rs:1:\nno lead\nstack backtrace:\n   0: main\n\n\nfailures:\n    b\n\ntest result: FAILED.";
        let mut failed = FailedTests::default();
        for line in output.lines() {
            failed.read(line);
        }
        assert_eq!(
            failed.text(),
            "\n---- b stdout ----\nthread 'b' panicked at b.rs:1:\nno lead"
        );
    }

    #[test]
    fn a_failed_run_says_which_test_failed_and_why() {
        let script = "echo '---- b stdout ----'; echo 'no lead'; exit 101";
        let mut output = Vec::new();
        let mut command = Command::new("sh");
        let failure = run_with_output(command.args(["-c", script]), &mut output);
        let failure = failure.expect_err("it fails");
        assert_eq!(output, b"---- b stdout ----\nno lead\n");
        let text = failure.to_string();
        assert!(text.contains("ended with exit status: 101"), "{text}");
        assert!(text.contains("---- b stdout ----\nno lead"), "{text}");
        assert!(run(&mut Command::new("true")).is_ok());
    }
}
