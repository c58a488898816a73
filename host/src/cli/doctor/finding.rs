//! The findings of a check, and their remedies.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    Ok,
    Warning,
    Problem,
}

impl FindingState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// A finding: a sentence about the state, and one about what to do.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub state: FindingState,
    /// The subject of the check, such as `disk`.
    pub about: &'static str,
    pub what: String,
    /// Null if nothing has to be done.
    pub todo: Option<String>,
}

#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    pub fn ok(&mut self, about: &'static str, what: impl Into<String>) {
        self.push(FindingState::Ok, about, what.into(), None);
    }

    /// Notes what works now and may fail later, or cannot be known.
    pub fn warning(
        &mut self,
        about: &'static str,
        what: impl Into<String>,
        todo: impl Into<String>,
    ) {
        self.push(FindingState::Warning, about, what.into(), Some(todo.into()));
    }

    pub fn problem(
        &mut self,
        about: &'static str,
        what: impl Into<String>,
        todo: impl Into<String>,
    ) {
        self.push(FindingState::Problem, about, what.into(), Some(todo.into()));
    }

    fn push(
        &mut self,
        state: FindingState,
        about: &'static str,
        what: String,
        todo: Option<String>,
    ) {
        self.0.push(Finding {
            state,
            about,
            what,
            todo,
        });
    }

    pub fn all(&self) -> &[Finding] {
        &self.0
    }

    pub fn number(&self, state: FindingState) -> usize {
        self.0.iter().filter(|one| one.state == state).count()
    }
}
