//! The component that a build wrote, with the golden cases that have an expectation, and what the cases show
//! when one fails. A project without a folder of cases has those that its build packed.

use leadhost_golden::{Case, load_dir, write_expect};

use crate::cli::plugin::component_file::{self, ComponentFile, GOLDEN};
use crate::cli::plugin::loss::losses;
use crate::cli::plugin::test::tally::{Differences, is_alike, show_failing};
use crate::cli::prelude::*;
use leadhost_plugin::Plugins;

/// A component that is to be served.
pub struct DevCandidate {
    /// With its cases.
    pub wasm: Vec<u8>,
    file: ComponentFile,
    pub cases: Vec<Arc<Case>>,
    /// The names of the cases that have no expectation yet.
    pub unwritten: Vec<String>,
}

/// A golden case that fails.
pub struct FailingCase {
    pub name: String,
    log: Vec<String>,
    what: String,
    /// `None`: there is none, because the call failed.
    pub output: Option<Value>,
    /// What the output lacks that the expected one has.
    pub lost: Vec<String>,
}

/// Shows the failures of calls. One that several cases have alike is shown once: a plugin that crashes often
/// does so with every body.
pub fn show(failing: &[FailingCase]) {
    let failed: Vec<&FailingCase> = failing
        .iter()
        .filter(|case| case.output.is_none())
        .collect();
    for (index, case) in failed.iter().enumerate() {
        let is_like_it =
            |other: &&&FailingCase| is_alike((&other.log, &other.what), (&case.log, &case.what));
        if failed[..index].iter().any(|earlier| is_like_it(&earlier)) {
            continue;
        }
        show_failing(&case.name, &case.log, &case.what);
        let alike = failed[index + 1..].iter().filter(is_like_it);
        let alike: Vec<&str> = alike.map(|other| other.name.as_str()).collect();
        if !alike.is_empty() {
            complain_line!("FAILED in the same way: {}", alike.join(", "));
        }
    }
}

/// Shows how the outputs differ from the expected ones.
pub fn show_differences(differing: &[FailingCase]) {
    let mut differences = Differences::default();
    for case in differing {
        differences.add(&case.name, &case.log, &case.what, &case.lost);
    }
    differences.conclude();
}

/// Makes the new outputs the expected ones, of cases that have lost nothing. Returns how many.
pub fn renew(folder: &Path, differing: &[FailingCase]) -> CommandResult<usize> {
    let mut renewed = 0;
    for case in differing.iter().filter(|case| case.lost.is_empty()) {
        if let Some(output) = &case.output {
            write_expect(&folder.join(GOLDEN), &case.name, output)
                .map_err(|error| CommandFailure::new(error.to_string()))?;
            renewed += 1;
        }
    }
    Ok(renewed)
}

pub fn read(folder: &Path) -> CommandResult<DevCandidate> {
    // A source that was touched and not changed is not built again.
    let file = component_file::read_any(folder)?;
    let golden = folder.join(GOLDEN);
    let all = if golden.is_dir() {
        load_dir(&golden).map_err(|error| CommandFailure::new(error.to_string()))?
    } else {
        file.carried_cases()?.unwrap_or_default()
    };
    let (cases, unwritten): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|case| case.expect.is_some());
    let unwritten = unwritten.into_iter().map(|case| case.name).collect();
    DevCandidate::new(file, cases, unwritten)
}

impl DevCandidate {
    fn new(file: ComponentFile, cases: Vec<Case>, unwritten: Vec<String>) -> CommandResult<Self> {
        Ok(Self {
            wasm: if cases.is_empty() {
                file.without_cases()?
            } else {
                file.with(&cases)?
            },
            file,
            cases: cases.into_iter().map(Arc::new).collect(),
            unwritten,
        })
    }

    pub async fn failing(&self, plugins: &Plugins) -> CommandResult<Vec<FailingCase>> {
        let prepared = plugins.prepare(self.file.without_cases()?).await;
        let loaded = prepared
            .map_err(|error| CommandFailure::new(error.to_string()))?
            .loaded;
        let mut failing = Vec::new();
        for case in &self.cases {
            let answer = plugins.answer_case(&loaded, Arc::clone(case)).await;
            let (what, output) = match answer.output {
                Ok(output) => (case.difference(&output), Some(output)),
                Err(error) => (Some(error.to_string()), None),
            };
            let lost = case.expect.as_ref().zip(output.as_ref());
            let lost = lost.map_or_else(Vec::new, |(expected, came)| losses(expected, came));
            failing.extend(what.map(|what| FailingCase {
                name: case.name.clone(),
                log: answer.usage.log,
                what,
                output,
                lost,
            }));
        }
        Ok(failing)
    }

    pub fn without(self, failing: &[FailingCase]) -> CommandResult<Self> {
        let stays = |case: &&Arc<Case>| failing.iter().all(|one| one.name != case.name);
        let cases = self.cases.iter().filter(stays);
        let cases = cases.map(|case| Case::clone(case)).collect();
        Self::new(self.file, cases, self.unwritten)
    }
}

/// Returns how many of the golden cases have no output.
pub fn counts(failing: &[FailingCase], total: usize) -> String {
    let cases = count(total as u64, "golden case", "golden cases");
    let silent = failing.iter().filter(|case| case.output.is_none()).count();
    format!("FAILED {silent} of {cases} without an output: fix the plugin")
}

/// Returns what to do about outputs that are not the expected ones. The build serves.
pub fn advice(differing: &[FailingCase], folder: &str) -> String {
    let cases = |number: usize| count(number as u64, "golden case", "golden cases");
    let losing = differing
        .iter()
        .filter(|case| !case.lost.is_empty())
        .count();
    let others = differing.len() - losing;
    let has = |number: usize| if number == 1 { "has" } else { "have" };
    let mut said = Vec::new();
    if others > 0 {
        said.push(format!(
            "{} {} another result than expected. Served all the same. If it is right, `r` and Enter, or `leadhost plugin test {folder} --renew`, makes it the expected one.",
            cases(others),
            has(others)
        ));
    }
    if losing > 0 {
        said.push(format!(
            "{} {} lost fields, or a refusal instead of a lead or the other way round. Served all the same. If that is meant: `leadhost plugin test {folder} --renew --accept lost-fields`.",
            cases(losing),
            has(losing)
        ));
    }
    said.join("\n")
}
