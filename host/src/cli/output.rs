//! The standard streams. A reader that goes away (`leadhost delivery list | head`)
//! ends the command quietly. Whatever a command says passes here last: a text of a
//! plugin or a sender that would move the cursor is written out.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::domain::text::written_out;

/// What commands themselves put between lines.
const LINES: &[char] = &['\n'];

/// Prints a line, or several, to standard output.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let text = written_out(text, LINES);
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
}

/// Prints JSON for a machine.
pub fn say_json(value: &Value) {
    say(&format!("{value:#}"));
}

/// Prints to standard error. Nobody is left to tell when that fails.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", written_out(text, LINES));
}
