//! The failure of a task: one sentence, and a hint. A task stops at its first
//! failure, so code never matches on failures.

use std::fmt;

/// Why a task stopped, for a person to read.
#[derive(Debug)]
pub struct Failure {
    what: String,
    hint: Option<String>,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
        }
    }

    /// Adds a hint about what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  what to do: {hint}"),
            None => Ok(()),
        }
    }
}

/// Puts the attempted action in front of an error.
pub trait Context<T> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        // The alternate form of errors that carry a chain shows all of it.
        self.map_err(|error| Failure::new(format!("{what}: {error:#}")))
    }
}
