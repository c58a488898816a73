//! What the steps of a run came to, as its last lines say it.

use std::time::Instant;

use super::harness::Ran;
use crate::failure::Failure;

/// The slowest tests that are named.
const SLOWEST: usize = 30;

pub struct Timed<T>(Result<T, Failure>, f64);

pub fn timed<T>(step: impl FnOnce() -> Result<T, Failure>) -> Timed<T> {
    let start = Instant::now();
    let outcome = step();
    Timed(outcome, start.elapsed().as_secs_f64())
}

#[derive(Default)]
pub struct Report {
    lines: Vec<String>,
    seconds: Vec<(f64, String)>,
    faults: Vec<String>,
    /// What was left out because something is missing.
    left_out: Vec<String>,
    /// What the full size has in addition.
    left_to_full: Vec<String>,
}

impl Report {
    pub fn step<T>(&mut self, name: &str, Timed(outcome, seconds): Timed<T>) -> Result<T, Failure> {
        let word = if outcome.is_ok() { "done" } else { "FAILED" };
        self.line(name, word, seconds);
        outcome
    }

    /// Records a suite that has no tests to count.
    pub fn suite(&mut self, name: &str, Timed(outcome, seconds): Timed<()>) {
        self.outside(name, Timed(outcome.map(|()| Vec::new()), seconds));
    }

    /// Records a suite that returned what it left out.
    pub fn outside(&mut self, name: &str, Timed(outcome, seconds): Timed<Vec<String>>) {
        match outcome {
            Ok(left_out) => {
                let word = if left_out.is_empty() {
                    "passed"
                } else {
                    "passed, but for what was left out"
                };
                self.line(name, word, seconds);
                self.left_out(left_out);
            }
            Err(failure) => self.failed(name, &failure, seconds),
        }
    }

    pub fn tests(&mut self, name: &str, Timed(outcome, seconds): Timed<Ran>) {
        match outcome {
            Ok(ran) => {
                let word = format!("{} passed, {} failed", ran.passed, ran.failed);
                self.line(name, &word, seconds);
                self.seconds.extend(ran.seconds);
                if ran.ignored > 0 {
                    self.left_out
                        .push(format!("{name}: {} ignored tests", ran.ignored));
                }
                if ran.failed > 0 {
                    self.faults.push(format!("{name}: {} failed", ran.failed));
                }
                self.faults.extend(ran.faults);
            }
            Err(failure) => self.failed(name, &failure, seconds),
        }
    }

    fn failed(&mut self, name: &str, failure: &Failure, seconds: f64) {
        self.line(name, "FAILED", seconds);
        self.faults.push(format!("{name}: {failure}"));
    }

    fn line(&mut self, name: &str, word: &str, seconds: f64) {
        let line = format!("{name:<28} {:>5.1} min  {word}", seconds / 60.0);
        eprintln!("\n{line}");
        self.lines.push(line);
    }

    /// Records what a missing requirement left out.
    pub fn left_out(&mut self, sentences: impl IntoIterator<Item = String>) {
        self.left_out.extend(sentences);
    }

    /// Records a part that only the full size has, with the number of its tests if they are counted.
    pub fn left_to_full(&mut self, name: &str, count: usize) {
        self.left_to_full.push(match count {
            0 => name.to_owned(),
            count => format!("{count} {name}"),
        });
    }

    /// Prints everything but the faults.
    pub fn print(&self) {
        let mut slowest: Vec<_> = self.seconds.iter().collect();
        slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
        if !slowest.is_empty() {
            eprintln!("\nThe slowest tests:");
        }
        for (seconds, name) in slowest.into_iter().take(SLOWEST) {
            eprintln!("{seconds:>8.1} s  {name}");
        }
        eprintln!();
        for line in &self.lines {
            eprintln!("{line}");
        }
        if !self.left_to_full.is_empty() {
            eprintln!("\n`--full` also has: {}", self.left_to_full.join(", "));
        }
        for sentence in &self.left_out {
            eprintln!("LEFT OUT: {sentence}");
        }
    }

    pub fn judge(self, needs_all: bool) -> Result<(), Failure> {
        if !self.faults.is_empty() {
            return Err(Failure::new(self.faults.join("\n")));
        }
        if needs_all && !self.left_out.is_empty() {
            Err(Failure::new(
                "not everything was tested: see LEFT OUT above",
            ))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_suite_fails_the_run_and_a_missing_requirement_only_the_full_one() {
        let reported = |outcome: Result<Vec<String>, Failure>| {
            let mut report = Report::default();
            report.outside("console", timed(|| outcome));
            report
        };
        assert!(reported(Ok(Vec::new())).judge(true).is_ok());
        let without = || reported(Ok(vec!["no Chromium".to_owned()]));
        assert!(without().judge(false).is_ok());
        assert!(without().judge(true).is_err());
        let failure = reported(Err(Failure::new("no page"))).judge(false);
        let text = failure.expect_err("it failed").to_string();
        assert!(text.contains("console: no page"), "{text}");
    }

    #[test]
    fn failed_tests_fail_the_run() {
        let mut report = Report::default();
        let ran = Ran {
            failed: 1,
            ..Ran::default()
        };
        report.tests("unit tests", timed(|| Ok(ran)));
        assert!(report.judge(false).is_err());
    }
}
