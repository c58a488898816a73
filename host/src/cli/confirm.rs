//! A confirmation before an action that cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::cli::prelude::*;

pub fn confirm(question: &str) -> CommandResult {
    if !io::stdin().is_terminal() {
        return Err(CommandFailure::usage(
            "standard input is not a terminal, so nothing was confirmed: check what the command would do, then pass --yes",
        ));
    }
    complain!("{question} Type yes:");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    if read.is_ok() && line.trim().eq_ignore_ascii_case("yes") {
        return Ok(());
    }
    Err(CommandFailure::new("nothing was changed"))
}
