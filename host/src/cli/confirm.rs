//! A question before what cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _};

use super::failure::Failure;
use super::output::complain;

/// Asks at the terminal, and fails unless the answer is yes. Where nobody is there to
/// ask, that is wrong usage.
pub fn confirm(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "nobody is there to say yes: pass --yes, after a look at what would go",
        ));
    }
    complain(&format!("{question} Type yes:"));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    if read.is_ok() && line.trim().eq_ignore_ascii_case("yes") {
        return Ok(());
    }
    Err(Failure::new("nothing was removed"))
}
