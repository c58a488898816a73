//! A confirmation before an action that cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _};

use super::failure::Failure;
use super::output::complain;

/// Asks at the terminal, and fails unless the answer is yes.
///
/// # Errors
///
/// Wrong usage if standard input is not a terminal; a failure if the answer is not yes.
pub fn confirm(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "standard input is not a terminal, so nothing was confirmed: check what would be removed, then pass --yes",
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
