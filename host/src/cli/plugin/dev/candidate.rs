//! The component that a build wrote, with the golden cases that have an expectation, and what the
//! cases show when one fails.

use std::path::Path;
use std::sync::Arc;

use leadhost_golden::{Case, load_dir};

use crate::cli::failure::CommandFailure;
use crate::cli::plugin::component_file::{self, GOLDEN};
use crate::cli::plugin::test::show_failing;
use crate::plugin::Plugins;

/// A component that is to be served.
pub struct Candidate {
    /// With its cases.
    pub wasm: Vec<u8>,
    bare: Vec<u8>,
    pub cases: Vec<Arc<Case>>,
    /// The names of the cases that have no expectation yet.
    pub unwritten: Vec<String>,
}

/// Reads what the build of a project wrote.
///
/// # Errors
///
/// [`CommandFailure`] if the build wrote no component, or a case is wrong.
pub fn read(folder: &Path) -> Result<Candidate, CommandFailure> {
    let file = component_file::read(folder)?;
    let golden = folder.join(GOLDEN);
    let all = match golden.is_dir() {
        true => load_dir(&golden).map_err(|error| CommandFailure::new(error.to_string()))?,
        false => Vec::new(),
    };
    let (cases, unwritten): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|case| case.expect.is_some());
    let bare = file.without_cases()?;
    Ok(Candidate {
        wasm: match cases.is_empty() {
            true => bare.clone(),
            false => file.with(&cases)?,
        },
        bare,
        cases: cases.into_iter().map(Arc::new).collect(),
        unwritten: unwritten.into_iter().map(|case| case.name).collect(),
    })
}

/// A candidate without the cases whose output differs from the expected one in notes alone.
pub struct WithoutNoted {
    pub candidate: Candidate,
    /// The number of those cases.
    pub noted: usize,
}

impl Candidate {
    /// Leaves out the cases that differ in notes alone: an author prints something to look at it. `None`
    /// if a case differs in more.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if the component cannot be loaded even without its cases.
    pub async fn without_noted(
        &self,
        file: &Path,
        plugins: &Plugins,
    ) -> Result<Option<WithoutNoted>, CommandFailure> {
        let prepared = plugins.prepare(self.bare.clone()).await;
        let loaded = prepared
            .map_err(|error| CommandFailure::new(error.to_string()))?
            .loaded;
        let (mut kept, mut noted) = (Vec::new(), 0);
        for case in &self.cases {
            let answer = plugins.answer_case(&loaded, Arc::clone(case)).await;
            let Ok(output) = answer.output else {
                return Ok(None);
            };
            match case.difference(&output) {
                None => kept.push(Arc::clone(case)),
                Some(difference) if is_of_notes(&difference) => noted += 1,
                Some(_) => return Ok(None),
            }
        }
        let cases: Vec<Case> = kept.iter().map(|case| Case::clone(case)).collect();
        let wasm = match cases.is_empty() {
            true => self.bare.clone(),
            false => component_file::read(file)?.with(&cases)?,
        };
        let candidate = Self {
            wasm,
            bare: self.bare.clone(),
            cases: kept,
            unwritten: self.unwritten.clone(),
        };
        Ok(Some(WithoutNoted { candidate, noted }))
    }

    /// Shows how each failing case differs.
    ///
    /// # Errors
    ///
    /// [`CommandFailure`] if the component cannot be loaded even without its cases.
    pub async fn show_failing(&self, plugins: &Plugins) -> Result<(), CommandFailure> {
        let prepared = plugins.prepare(self.bare.clone()).await;
        let loaded = prepared
            .map_err(|error| CommandFailure::new(error.to_string()))?
            .loaded;
        for case in &self.cases {
            let answer = plugins.answer_case(&loaded, Arc::clone(case)).await;
            let what = match answer.output {
                Ok(output) => case.difference(&output),
                Err(error) => Some(error.to_string()),
            };
            if let Some(what) = what {
                show_failing(&case.name, &answer.usage.log, &what);
            }
        }
        Ok(())
    }
}

/// Returns whether all differences are of notes.
fn is_of_notes(difference: &str) -> bool {
    difference.lines().all(|line| line.starts_with("ok.notes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_notes_alone_is_told_from_others() {
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
