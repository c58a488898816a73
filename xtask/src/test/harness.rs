//! Runs programs of libtest and reads what they say: how many tests passed, what the failed ones said,
//! and how long each took.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::programs::TestProgram;
use crate::failure::{Context as _, Failure};
use crate::process;

/// The line of a panic's output from which on nothing is repeated: a backtrace is long, and the end of a
/// log would show only it.
const BACKTRACE: &str = "stack backtrace:";

const MAX_LINES: usize = 30;

/// The most failed tests whose output is repeated.
const MAX_TESTS: usize = 20;

/// After so many tests, a line says how far the run is.
const PROGRESS: usize = 250;

pub struct Call<'a> {
    pub threads: usize,
    pub variables: &'a [(&'a str, &'a str)],
    /// Whether each test has a line of its own.
    pub is_detailed: bool,
}

#[derive(Default)]
pub struct Ran {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
    pub seconds: Vec<(f64, String)>,
    /// What failed tests said, and why the program ended before its summary.
    pub faults: Vec<String>,
}

impl Ran {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.seconds.extend(other.seconds);
        self.faults.extend(other.faults);
    }
}

impl Call<'_> {
    /// Runs the tests of these full names.
    pub fn run(&self, program: &TestProgram, names: &[String]) -> Result<Ran, Failure> {
        if names.is_empty() {
            return Ok(Ran::default());
        }
        let mut command = Command::new(&program.path);
        command
            .current_dir(&program.folder)
            // The times of tests are an unstable option of libtest, which this lets pass.
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["-Zunstable-options", "--report-time"])
            .args(["--test-threads", &self.threads.to_string()])
            .arg("--exact")
            .args(names)
            .envs(self.variables.iter().copied());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context(format!("starting {}", program.path.display()))?;
        let mut output = Output::default();
        let stdout = child.stdout.take().expect("it is piped");
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("reading the output of the tests")?;
            let line = String::from_utf8_lossy(&line);
            let before = output.ran.seconds.len();
            output.read(&line);
            let ended = output.ran.seconds.len();
            if self.is_detailed || line.contains(FAILED) || line.contains("has been running") {
                eprintln!("{line}");
            } else if ended > before && ended.is_multiple_of(PROGRESS) {
                eprintln!("{:>12} {ended} tests have ended", program.name);
            }
        }
        let status = child.wait().context("waiting for the tests")?;
        if !output.has_summary {
            let name = &program.name;
            let what = format!("the tests of {name} ended with {status} before their summary");
            output.faults.push(vec![what]);
        }
        if !output.has_summary || !status.success() {
            output.ran.failed = output.ran.failed.max(1);
        }
        Ok(output.ran())
    }
}

const FAILED: &str = " ... FAILED";

/// The output of libtest: a line for each test, after the last one the output of the failed ones under a
/// heading `---- NAME stdout ----` each, then their names, and a summary.
#[derive(Default)]
struct Output {
    ran: Ran,
    faults: Vec<Vec<String>>,
    in_fault: bool,
    has_summary: bool,
}

impl Output {
    fn read(&mut self, line: &str) {
        if let Some((name, seconds)) = timed(line) {
            self.ran.seconds.push((seconds, name.to_owned()));
        }
        if let Some(summary) = line.strip_prefix("test result: ") {
            self.has_summary = true;
            self.ran.passed = count(summary, " passed");
            self.ran.failed = count(summary, " failed");
            self.ran.ignored = count(summary, " ignored");
        }
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.faults.push(Vec::new());
            self.in_fault = true;
        } else if line == "failures:" || line == BACKTRACE {
            self.in_fault = false;
        }
        if self.in_fault
            && let Some(fault) = self.faults.last_mut()
            && fault.len() < MAX_LINES
            && !line.is_empty()
        {
            fault.push(line.to_owned());
        }
    }

    fn ran(mut self) -> Ran {
        let more = self.faults.len().saturating_sub(MAX_TESTS);
        let shown = self.faults.into_iter().take(MAX_TESTS);
        self.ran.faults = shown.map(|lines| lines.join("\n")).collect();
        if more > 0 {
            self.ran.faults.push(format!("({more} more)"));
        }
        self.ran
    }
}

/// Returns the name and the seconds of an ended test: `test NAME ... ok <1.234s>`.
fn timed(line: &str) -> Option<(&str, f64)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = outcome.split_once('<')?;
    Some((name, seconds.split_once("s>")?.0.parse().ok()?))
}

/// Returns the number before a word: `ok. 3 passed; 1 failed; …`.
fn count(summary: &str, word: &str) -> usize {
    let before = summary.split_once(word).map_or("", |(before, _)| before);
    let number = before.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or_default()
}

/// Runs the examples in the documentation of the SDK; no other crate has any.
pub fn run_doc_tests() -> Result<(), Failure> {
    process::run(crate::repository::cargo().args(["test", "--workspace", "--doc", "--quiet"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 3 tests\ntest a::one ... ok <0.250s>\ntest b ... FAILED <1.500s>\n\nfailures:\n\n---- b stdout ----\n\nthread 'b' panicked at b.rs:1:\nno lead\nstack backtrace:\n   0: main\n\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 7 filtered out";

    #[test]
    fn failed_tests_are_repeated_without_backtraces_and_the_list_of_names() {
        let mut output = Output::default();
        OUTPUT.lines().for_each(|line| output.read(line));
        assert!(output.has_summary);
        let ran = output.ran();
        assert_eq!((ran.passed, ran.failed, ran.ignored), (1, 1, 2));
        assert_eq!(ran.seconds, [(0.25, "a::one".into()), (1.5, "b".into())]);
        let said = "---- b stdout ----\nthread 'b' panicked at b.rs:1:\nno lead";
        assert_eq!(ran.faults, [said]);
    }

    #[test]
    fn a_program_that_ends_before_its_summary_has_failed() {
        let program = TestProgram {
            name: "killed".to_owned(),
            path: "false".into(),
            folder: ".".into(),
        };
        let call = Call {
            threads: 1,
            variables: &[],
            is_detailed: false,
        };
        let ran = call.run(&program, &["a".to_owned()]).expect("it starts");
        assert_eq!(ran.failed, 1);
        assert!(
            ran.faults[0].contains("before their summary"),
            "{:?}",
            ran.faults
        );
    }
}
