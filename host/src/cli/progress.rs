//! A line on standard error that says how far a long command is, when somebody
//! sits at a terminal; nothing else, so that logs and pipes stay clean.

use std::io::{self, IsTerminal as _, Write as _};

pub struct Progress {
    shown: bool,
}

impl Progress {
    pub fn start(text: &str) -> Self {
        let progress = Self {
            shown: io::stderr().is_terminal(),
        };
        progress.update(text);
        progress
    }

    /// Whether somebody sits at a terminal.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    pub fn update(&self, text: &str) {
        if self.shown {
            let mut err = io::stderr().lock();
            // Back to the start of the line, and clear the rest of it.
            let _ = write!(err, "\r{text}\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.update("");
    }
}
