//! The standard streams. If the reader closes the pipe (`leadhost delivery list | head`), the
//! command exits quietly. All output of a command passes through here, so control characters in
//! texts of plugins and senders are escaped.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::domain::text::written_out;

/// Control characters that commands print themselves.
const LINES: &[char] = &['\n'];

pub use crate::domain::text::counted as count;

/// Prints a line, or several, to standard output.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let text = written_out(text, LINES);
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
}

/// Prints JSON to standard output.
pub fn say_json(value: &Value) {
    say(&format!("{value:#}"));
}

/// Prints to standard error. A failure to print is ignored.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", written_out(text, LINES));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_one_takes_the_singular() {
        let counted = [0, 1, 2].map(|number: u64| count(number, "delivery", "deliveries"));
        assert_eq!(counted, ["0 deliveries", "1 delivery", "2 deliveries"]);
    }
}
