//! The failure of a task: one sentence, and a hint. A task stops at its first
//! failure, so code never matches on failures.

use std::fmt;

#[derive(Debug)]
pub struct Failure {
    code: u8,
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// Returns a failure with the exit code 1.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            code: 1,
            what: what.into(),
            hint: None,
        }
    }

    /// Returns a failure with the exit code of wrong usage, 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::new(what)
        }
    }

    pub fn code(&self) -> u8 {
        self.code
    }

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

pub trait Hint {
    fn hint(self, hint: impl Into<String>) -> Self;
}

impl<T> Hint for Result<T, Failure> {
    fn hint(self, hint: impl Into<String>) -> Self {
        self.map_err(|failure| failure.hint(hint))
    }
}
