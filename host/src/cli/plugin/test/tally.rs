//! What the golden cases of a run showed, and how it is said.

use crate::cli::prelude::*;

pub enum CaseOutcome {
    Passed,
    /// Its expectation is new.
    Written,
    /// The output is not the expected one.
    Differs,
    /// It also lacks what the expected one has.
    Loses,
    /// There is no output, or no expectation.
    Failed,
    /// It ran out of time.
    Late,
}

/// The crashes of a run. Only the first of several that are alike is shown: a plugin that crashes often
/// does so with every body.
#[derive(Default)]
pub struct Crashes(Vec<Crash>);

struct Crash {
    name: String,
    log: Vec<String>,
    what: String,
    /// The cases with such a crash after it.
    alike: Vec<String>,
}

impl Crashes {
    pub fn add(&mut self, name: &str, log: Vec<String>, what: String) {
        let mut known = self.0.iter_mut();
        let known = known.find(|crash| is_alike((&crash.log, &crash.what), (&log, &what)));
        match known {
            Some(crash) => crash.alike.push(name.to_owned()),
            None => {
                show_failing(name, &log, &what);
                self.0.push(Crash {
                    name: name.to_owned(),
                    log,
                    what,
                    alike: Vec::new(),
                });
            }
        }
    }

    pub fn conclude(&self) {
        for Crash { name, alike, .. } in self.0.iter().filter(|crash| !crash.alike.is_empty()) {
            complain_line!("FAILED in the same way as {name}: {}", alike.join(", "));
        }
    }
}

/// Differences that are shown in full: more cases often have the same mistake.
const SHOWN: usize = 3;

/// The outputs of a run that are not the expected ones.
#[derive(Default)]
pub struct Differences {
    shown: usize,
    /// The names of the others.
    others: Vec<String>,
}

impl Differences {
    /// Shows a difference, if not enough are. `lost`: what the output lacks, which is always shown.
    pub fn add(&mut self, name: &str, log: &[String], difference: &str, lost: &[String]) {
        let lost: String = lost.iter().map(|lost| format!("lost: {lost}\n")).collect();
        if self.shown < SHOWN {
            self.shown += 1;
            return show_failing(name, log, &format!("{lost}{difference}"));
        }
        if lost.is_empty() {
            self.others.push(name.to_owned())
        } else {
            show_failing(name, &[], lost.trim_end())
        }
    }

    pub fn conclude(&self) {
        if !self.others.is_empty() {
            let count = self.others.len();
            complain_line!("FAILED as well, {count}: {}", self.others.join(", "));
        }
    }
}

/// Whether two cases failed in the same way, given the log and the failure of each. Hexadecimal numbers
/// do not count: an address in memory is another one in each call.
pub fn is_alike(one: (&[String], &str), other: (&[String], &str)) -> bool {
    let is_same = |one: &str, other: &str| without_hexadecimal(one) == without_hexadecimal(other);
    let mut logs = one.0.iter().zip(other.0);
    is_same(one.1, other.1)
        && one.0.len() == other.0.len()
        && logs.all(|(one, other)| is_same(one, other))
}

/// Returns a text with `0x` in place of each hexadecimal number.
fn without_hexadecimal(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "0x";
        out += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out
}

/// Shows a failing case: first what the plugin wrote, which often says more than the rest.
pub fn show_failing(name: &str, log: &[String], what: &str) {
    let mut lines = vec![format!("FAILED {}", safe(name))];
    lines.extend(log.iter().map(|line| format!("  plugin: {}", safe(line))));
    lines.push(indented(what));
    complain(&lines.join("\n"));
}

pub fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("  {}", safe(line)))
        .collect();
    lines.join("\n")
}

#[derive(Default)]
pub struct TestTally {
    pub passed: u64,
    pub written: u64,
    differing: u64,
    losing: u64,
    failed: u64,
    /// Those that ran out of time, and those that were not run after them.
    pub late: u64,
    pub untried: u64,
}

impl TestTally {
    pub fn add(&mut self, outcome: CaseOutcome) {
        match outcome {
            CaseOutcome::Passed => self.passed += 1,
            CaseOutcome::Written => self.written += 1,
            CaseOutcome::Differs => self.differing += 1,
            CaseOutcome::Loses => self.losing += 1,
            CaseOutcome::Failed => self.failed += 1,
            CaseOutcome::Late => self.late += 1,
        }
    }

    /// Returns what passed. It is a failure if a case did not; `command` makes the same test again.
    pub fn conclude(&self, origin: &str, command: &str) -> CommandResult<String> {
        let failing = self.differing + self.losing + self.failed + self.late;
        let all = self.passed + self.written + failing + self.untried;
        let cases = |number: u64| count(number, "golden case", "golden cases");
        if failing > 0 {
            let mut said = format!("{failing} of {} of {origin} fail", cases(all));
            if self.untried > 0 {
                said += &format!("; {} after the slow ones were not run", self.untried);
            }
            let failure = CommandFailure::new(said);
            let failure = match self.losing {
                0 => failure,
                _ => failure.hint(format!(
                    "{} fields, or a refusal instead of a lead or the other way round: rather a mistake of the plugin. If it is meant, `{command} --renew --accept lost-fields`",
                    count(self.losing, "case has lost", "cases have lost")
                )),
            };
            return Err(match self.differing {
                0 => failure,
                _ => failure.also(&format!(
                    "where the new output is right, `{command} --renew` makes it the expected one"
                )),
            });
        }
        let mut said = format!("{} of {origin} passed", cases(self.passed));
        if self.written > 0 {
            said += &format!(
                "; this output is now expected of {}: review it",
                cases(self.written)
            );
        }
        Ok(format!("{said}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_that_differ_only_in_addresses_are_shown_once() {
        let log = |text: &str| vec![text.to_owned()];
        let mut crashes = Crashes::default();
        let trap = || "wasm trap: unreachable".to_owned();
        crashes.add("one", log("<Form object at 0x7f0a1B>"), trap());
        crashes.add("two", log("<Form object at 0x66>"), trap());
        crashes.add("three", log("<Lead object at 0x66>"), trap());
        crashes.add("four", Vec::new(), trap());
        let shown = crashes
            .0
            .iter()
            .map(|crash| (crash.name.as_str(), crash.alike.len()));
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown, [("one", 1), ("three", 0), ("four", 0)]);
        assert_eq!(
            without_hexadecimal("a 0x1f, 0x and 0xg"),
            "a 0x, 0x and 0xg"
        );
    }
}
