//! The component that a build wrote, with the golden cases that have an expectation, and what the cases show
//! when one fails. A project without a folder of cases has those that its build packed.

use leadhost_golden::{Case, load_dir};

use crate::cli::plugin::component_file::{self, ComponentFile, GOLDEN};
use crate::cli::plugin::test::{is_alike, show_failing};
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
    name: String,
    log: Vec<String>,
    what: String,
    /// Whether there was an output, which an expectation could be.
    has_output: bool,
    /// Whether only its notes differ: an author prints something to look at it.
    pub is_of_notes: bool,
}

/// Shows how the outputs differ from the expected ones. A failure that several cases have alike is shown
/// once: a plugin that crashes often does so with every body.
pub fn show(failing: &[FailingCase]) {
    for (index, case) in failing.iter().enumerate() {
        let is_like_it =
            |other: &&FailingCase| is_alike((&other.log, &other.what), (&case.log, &case.what));
        if failing[..index].iter().any(|earlier| is_like_it(&earlier)) {
            continue;
        }
        show_failing(&case.name, &case.log, &case.what);
        let alike = failing[index + 1..].iter().filter(is_like_it);
        let alike: Vec<&str> = alike.map(|other| other.name.as_str()).collect();
        if !alike.is_empty() {
            complain_line!("FAILED in the same way: {}", alike.join(", "));
        }
    }
}

pub fn read(folder: &Path) -> CommandResult<DevCandidate> {
    let file = component_file::read(folder)?;
    let golden = folder.join(GOLDEN);
    let all = match golden.is_dir() {
        true => load_dir(&golden).map_err(|error| CommandFailure::new(error.to_string()))?,
        false => file.carried_cases()?.unwrap_or_default(),
    };
    let (cases, unwritten): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|case| case.expect.is_some());
    let unwritten = unwritten.into_iter().map(|case| case.name).collect();
    DevCandidate::new(file, cases, unwritten)
}

impl DevCandidate {
    fn new(file: ComponentFile, cases: Vec<Case>, unwritten: Vec<String>) -> CommandResult<Self> {
        Ok(Self {
            wasm: match cases.is_empty() {
                true => file.without_cases()?,
                false => file.with(&cases)?,
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
            let (what, has_output) = match answer.output {
                Ok(output) => (case.difference(&output), true),
                Err(error) => (Some(error.to_string()), false),
            };
            failing.extend(what.map(|what| FailingCase {
                name: case.name.clone(),
                log: answer.usage.log,
                is_of_notes: has_output && is_of_notes(&what),
                has_output,
                what,
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

/// Returns how many of the golden cases fail, and what to do. A case without an output has nothing that
/// could become its expectation.
pub fn counts(failing: &[FailingCase], total: usize, folder: &str) -> String {
    let cases = count(total as u64, "golden case", "golden cases");
    let mut said = format!("FAILED {} of {cases}", failing.len());
    let silent = failing.iter().filter(|case| !case.has_output).count();
    if silent > 0 {
        let silent = match silent == failing.len() {
            true => "none of them has an output".to_owned(),
            false => format!("{silent} of them without an output"),
        };
        said += &format!("; {silent}: fix the plugin");
    }
    if silent < failing.len() {
        let also = if silent > 0 { "; " } else { ": " };
        said += also;
        said += &format!(
            "where the new output is right, `leadhost plugin test {folder} --renew` makes it the expected one"
        );
    }
    said
}

fn is_of_notes(difference: &str) -> bool {
    difference.lines().all(|line| line.starts_with("ok.notes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(has_output: bool) -> FailingCase {
        FailingCase {
            name: "lead".to_owned(),
            log: vec![],
            what: "x".to_owned(),
            has_output,
            is_of_notes: false,
        }
    }

    #[test]
    fn a_case_without_an_output_is_counted_and_not_to_be_renewed() {
        let said = counts(&[failing(false), failing(false)], 20, "ana");
        assert_eq!(
            said,
            "FAILED 2 of 20 golden cases; none of them has an output: fix the plugin"
        );
        let said = counts(&[failing(false), failing(true)], 20, "ana");
        assert!(said.contains("1 of them without an output"), "{said}");
        assert!(
            said.contains("; where the new output is right, `leadhost plugin test ana --renew`"),
            "{said}"
        );
        let said = counts(&[failing(true)], 1, "ana");
        assert!(
            said.starts_with("FAILED 1 of 1 golden case: where "),
            "{said}"
        );
    }

    #[test]
    fn a_difference_of_notes_alone_is_distinguished_from_others() {
        assert!(is_of_notes(
            "ok.notes.0: expected nothing, got \"a\"\nok.notes: expected nothing, got []"
        ));
        assert!(!is_of_notes(
            "ok.notes.0: expected nothing, got \"a\"\nok.items.0: expected 1, got 2"
        ));
        assert!(!is_of_notes(
            "ok.notes.0: expected nothing, got \"a\"\nand 3 more differences"
        ));
    }
}
