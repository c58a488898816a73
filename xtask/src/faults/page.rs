//! The table in `docs/reliability.md`: a line for each fault, between two markers.

use std::path::PathBuf;

use serde_json::Value;

use super::table::Row;
use crate::failure::{Context, Failure};
use crate::files;
use crate::repository;

const BEGIN: &str = "<!-- faults: `cargo xtask faults` writes what stands between these marks -->";
const END: &str = "<!-- end of faults -->";
const HEAD: &str = "\
| Fault | What is promised | What was measured | Store | Commit | Day | Seed |
|---|---|---|---|---|---|---|
";

/// Marks a line whose fault was not withstood, or not tried.
pub const FAILED: &str = "**FAILED**";
pub const NOT_RUN: &str = "**not run**";

#[derive(Default)]
pub struct Outcome {
    pub figures: Vec<Figure>,
    pub failures: Vec<String>,
    /// One sentence for each part that could not be tried here.
    pub left_out: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figure {
    pub fault: String,
    pub store: Option<String>,
    pub seed: Option<u64>,
    pub figure: String,
}

impl Figure {
    pub fn read(line: &str) -> Result<Self, Failure> {
        let value: Value = serde_json::from_str(line).context(format!("reading `{line}`"))?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Ok(Self {
            fault: text("fault").unwrap_or_default(),
            store: text("store"),
            seed: value["seed"].as_u64(),
            figure: text("figure").unwrap_or_default(),
        })
    }

    /// Adds up the lines of the tests of `cargo xtask fuzz`, such as `NAME: N inputs in S s, seed X`,
    /// possibly after a word of the test harness.
    pub fn from_fuzz_output(said: &str) -> Option<Self> {
        let (mut targets, mut inputs, mut seconds, mut last) = (0, 0_u64, 0.0, None);
        for line in said.lines() {
            let read = || {
                let (rest, seed) = line.rsplit_once(", seed ")?;
                let (name, rest) = rest.rsplit_once(": ")?;
                let (count, took) = rest.strip_suffix(" s")?.split_once(" inputs in ")?;
                name.contains("fuzz_").then_some(())?;
                let count: u64 = count.parse().ok()?;
                let took: f64 = took.parse().ok()?;
                Some((count, took, seed.trim().parse().ok()))
            };
            if let Some((count, took, seed)) = read() {
                targets += 1;
                inputs += count;
                seconds += took;
                last = seed;
            }
        }
        (targets > 0).then(|| Self {
            fault: "fuzz".to_owned(),
            store: None,
            seed: last,
            figure: format!("{targets} readers, {inputs} inputs in {seconds:.0} s"),
        })
    }
}

pub fn line(row: &Row, outcome: &Outcome, commit: &str, day: &str) -> String {
    let mut figures = outcome.figures.clone();
    figures.sort();
    let failures = outcome
        .failures
        .iter()
        .map(|why| format!("{FAILED}: {why}"));
    let left_out = outcome
        .left_out
        .iter()
        .map(|why| format!("{NOT_RUN}: {why}"));
    let measured = figures.iter().map(|figure| match &figure.store {
        Some(store) => format!("{store}: {}", figure.figure),
        None => figure.figure.clone(),
    });
    let results: Vec<_> = failures.chain(measured).chain(left_out).collect();
    let stores = each_once(figures.iter().filter_map(|figure| figure.store.clone()));
    let seeds = figures.iter().filter_map(|figure| figure.seed);
    let seeds = each_once(seeds.map(|seed| seed.to_string()));
    let cells = [
        row.fault.clone(),
        row.promise.clone(),
        results.join("<br>"),
        stores,
        commit.to_owned(),
        day.to_owned(),
        seeds,
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} |", cells.join(" | "))
}

fn each_once(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<_> = words.collect();
    words.sort();
    words.dedup();
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.join(", ")
    }
}

pub struct Page {
    before: String,
    lines: Vec<String>,
    after: String,
}

impl Page {
    pub fn read() -> Result<Self, Failure> {
        let text = files::text(path())?;
        let (before, table, after) = files::between(&text, BEGIN, END)?;
        let lines = table.lines().filter(|line| line.starts_with("| ")).skip(1);
        Ok(Self {
            before: before.to_owned(),
            lines: lines.map(str::to_owned).collect(),
            after: after.to_owned(),
        })
    }

    fn line_of(&self, row: &Row) -> &str {
        let begin = format!("| {} |", row.fault);
        let found = self.lines.iter().find(|line| line.starts_with(&begin));
        found.map_or("", String::as_str)
    }

    pub fn fault_of(&self, row: &Row) -> Option<&'static str> {
        let line = self.line_of(row);
        let cells: Vec<_> = line.split(" | ").collect();
        if line.is_empty() {
            Some("it has no line")
        } else if line.contains(FAILED) {
            Some("its line says that it failed")
        } else if line.contains(NOT_RUN) {
            Some("a part of it was not run")
        } else if cells.len() != 7 || cells.iter().any(|cell| cell.trim().is_empty()) {
            Some("its line has no figure")
        } else {
            None
        }
    }

    pub fn strays(&self, rows: &[Row]) -> Vec<&str> {
        let is_known = |line: &str| {
            rows.iter()
                .any(|row| line.starts_with(&format!("| {} |", row.fault)))
        };
        let lines = self.lines.iter().map(String::as_str);
        lines.filter(|line| !is_known(line)).collect()
    }

    /// Replaces old lines by new ones, in the order of the rows.
    pub fn write(&self, rows: &[Row], new: &[(&str, String)]) -> Result<(), Failure> {
        let mut table = String::from(HEAD);
        for row in rows {
            let new = new.iter().find(|(key, _)| *key == row.key);
            let line = new.map_or(self.line_of(row), |(_, line)| line);
            if !line.is_empty() {
                table.push_str(line);
                table.push('\n');
            }
        }
        let text = format!("{}{BEGIN}\n{table}{END}{}", self.before, self.after);
        files::write_if_changed(&path(), text.as_bytes())?;
        Ok(())
    }
}

fn path() -> PathBuf {
    repository::root().join("docs").join("reliability.md")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::table::rows;

    fn page(lines: Vec<String>) -> Page {
        Page {
            before: String::new(),
            lines,
            after: String::new(),
        }
    }

    fn outcome(figures: &[&str], failures: &[&str], left_out: &[&str]) -> Outcome {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Outcome {
            figures: figures
                .iter()
                .map(|line| Figure::read(line).expect("JSON"))
                .collect(),
            failures: texts(failures),
            left_out: texts(left_out),
        }
    }

    const FIGURE: &str = r#"{"fault":"kills","store":"SQLite","seed":7,"figure":"500 kills"}"#;

    #[test]
    fn a_line_with_its_figure_is_in_order() {
        let row = &rows()[0];
        let line = line(row, &outcome(&[FIGURE], &[], &[]), "abc", "2030-01-15");
        assert!(
            line.ends_with("| SQLite: 500 kills | SQLite | abc | 2030-01-15 | 7 |"),
            "{line}"
        );
        assert_eq!(page(vec![line]).fault_of(row), None);
    }

    #[test]
    fn a_line_that_failed_was_not_run_or_has_no_figure_is_not() {
        let row = &rows()[0];
        let cases = [
            (outcome(&[FIGURE], &["a test"], &[]), "failed"),
            (outcome(&[FIGURE], &[], &["no strace"]), "not run"),
            (outcome(&[], &[], &[]), "no figure"),
        ];
        for (outcome, expected) in cases {
            let line = line(row, &outcome, "abc", "2030-01-15");
            let found = page(vec![line]).fault_of(row).expect("a fault");
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(page(Vec::new()).fault_of(row), Some("it has no line"));
    }

    #[test]
    fn the_figures_of_all_readers_are_one_figure() {
        let said = "seed 9; `cargo xtask fuzz --seed 9` tries the same inputs\n\
            test a::fuzz_cursors ... fuzz_cursors: 12 inputs in 1.0 s, seed 9\nok\n\
            fuzz_heads: 30 inputs in 2.5 s, seed 9\n";
        let figure = Figure::from_fuzz_output(said).expect("two lines");
        assert_eq!(
            (figure.figure.as_str(), figure.seed),
            ("2 readers, 42 inputs in 4 s", Some(9))
        );
        assert!(Figure::from_fuzz_output("seed 9; `cargo xtask fuzz --seed 9`").is_none());
    }
}
