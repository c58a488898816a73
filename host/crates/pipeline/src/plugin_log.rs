//! The log of a call: the standard output and error of a plugin, as its delivery or message keeps them,
//! without the secrets of the connection, and bounded.

use super::mask::{self, Mask};
use leadhost_domain::limits;
use leadhost_egress::seal::Secrets;
use leadhost_plugin::CallError;

/// Returns the last lines that the plugin wrote before it failed, for the notes of its delivery.
pub fn notes(error: &CallError, secrets: &Secrets) -> Vec<String> {
    let log = error.log();
    if log.is_empty() {
        return Vec::new();
    }
    // As one text, because a secret may have several lines.
    let text = log.join("\n");
    let masked = mask::text(&text, secrets);
    let lines: Vec<&str> = masked
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(limits::NOTES_PER_DELIVERY);
    lines[first..].iter().map(|line| cut(line)).collect()
}

/// Returns the message of a failed call with the last lines that the plugin wrote, on one line.
pub fn message(error: &CallError, secrets: &Secrets) -> String {
    error.with_log(&notes(error, secrets))
}

/// Returns the message of a failed call with the line that names the exception, if there is one.
pub fn with_exception(error: &CallError, secrets: &Secrets) -> String {
    error.with_exception(&notes(error, secrets))
}

/// Removes the secrets from the notes of a conversion, which include what the plugin wrote, and
/// bounds them.
pub fn hide(notes: &mut Vec<String>, secrets: &Secrets) {
    if notes.is_empty() {
        return;
    }
    notes.truncate(limits::NOTES_PER_DELIVERY);
    let mask = Mask::new(secrets);
    for note in notes {
        mask.own(note);
        note.truncate(note.floor_char_boundary(limits::NOTE_BYTES));
    }
}

fn cut(line: &str) -> String {
    line[..line.floor_char_boundary(limits::NOTE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trapped(log: Vec<String>) -> CallError {
        CallError::Trapped {
            message: "unreachable".to_owned(),
            log,
        }
    }

    fn secrets() -> Secrets {
        Secrets::from_iter([
            ("token".to_owned(), "hunter2-hunter2".to_owned()),
            ("key".to_owned(), "first-line\nsecond-line".to_owned()),
        ])
    }

    #[test]
    fn a_log_is_kept_without_secrets_and_blank_lines() {
        let log = [
            "using hunter2-hunter2",
            "",
            "first-line",
            "second-line",
            "the end",
        ];
        let error = trapped(log.map(str::to_owned).to_vec());
        assert_eq!(notes(&error, &secrets()), ["using ***", "***", "the end"]);
        assert_eq!(
            message(&error, &secrets()),
            "the plugin call failed: unreachable; it wrote: using *** | *** | the end"
        );
    }

    #[test]
    fn an_exception_is_shown_without_secrets() {
        let error = trapped(vec!["TypeError: no hunter2-hunter2".to_owned()]);
        assert_eq!(
            with_exception(&error, &secrets()),
            "the plugin call failed: unreachable; it wrote: TypeError: no ***"
        );
    }

    #[test]
    fn a_secret_at_the_end_of_what_is_kept_of_a_line_is_masked_first() {
        let before = "x".repeat(limits::NOTE_BYTES - 4);
        let error = trapped(vec![format!("{before}hunter2-hunter2")]);
        assert_eq!(notes(&error, &secrets()), [format!("{before}***")]);
        let mut notes = vec![format!("{before}hunter2-hunter2")];
        hide(&mut notes, &secrets());
        assert_eq!(notes, [format!("{before}***")]);
    }

    #[test]
    fn the_last_lines_of_many_are_kept() {
        let error = trapped((0..1_000).map(|number| format!("line {number}")).collect());
        let kept = notes(&error, &secrets());
        assert_eq!(kept.len(), limits::NOTES_PER_DELIVERY);
        assert_eq!(kept.last().map(String::as_str), Some("line 999"));
        let mut notes = vec!["é".repeat(limits::NOTE_BYTES); 2 * limits::NOTES_PER_DELIVERY];
        hide(&mut notes, &secrets());
        assert_eq!(notes.len(), limits::NOTES_PER_DELIVERY);
        assert_eq!(notes[0].len(), limits::NOTE_BYTES);
    }
}
