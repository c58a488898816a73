//! The failure of a command: a message, a hint and an exit code.

use std::fmt;

#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Returns a failure with the exit code 1 and without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
            hint: None,
        }
    }

    /// Returns a failure with the exit code of wrong usage, 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            ..Self::new(message)
        }
    }

    /// Sets the exit code, for callers that distinguish failures by it.
    #[must_use]
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Adds a hint: one line below the message that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the exit code of the process.
    pub fn code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leadhost: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}
