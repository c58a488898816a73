//! A progress line on standard error, shown only at a terminal so that logs and pipes stay clean.

use std::io::{self, IsTerminal as _, Write as _};

/// The line, which ends when it is dropped.
pub struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    /// Shows the line for the first time, if standard error is a terminal.
    pub fn start(text: &str) -> Self {
        let progress = Self {
            shown: io::stderr().is_terminal(),
        };
        progress.update(text);
        progress
    }

    pub fn is_shown(&self) -> bool {
        self.shown
    }

    pub fn update(&self, text: &str) {
        if self.shown {
            let mut err = io::stderr().lock();
            // Return to the start of the line, and clear the rest of it.
            let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.update("");
    }
}
