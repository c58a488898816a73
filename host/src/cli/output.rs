//! The standard streams. If the reader closes the pipe (`leadhost delivery list | head`), the
//! command prints nothing more and does the rest of its work; one that only reads ends, see
//! [`is_closed`]. All output of a command passes through here, so control characters in texts of
//! plugins and senders are escaped.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use leadhost_domain::text::written_out;

/// Control characters that commands print themselves.
const LINES: &[char] = &['\n'];

pub use leadhost_domain::text::counted as count;

/// Whether the reader of standard output has closed the pipe.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

pub fn say(text: &str) {
    if is_closed() {
        return;
    }
    let mut out = io::stdout().lock();
    let text = written_out(text, LINES);
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        IS_CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Returns whether the reader of standard output has closed the pipe. A command that prints without
/// end, or reads page after page only to print them, ends then.
pub fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}

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
