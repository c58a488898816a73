//! The patterns of times that a configuration may have (`format`), as
//! [`leadhost_sdk::written_time`] follows them.

/// The letters of the directives of a pattern. `%%` stands for the character itself.
const DIRECTIVES: [char; 12] = ['d', 'm', 'Y', 'y', 'H', 'I', 'M', 'S', 'f', 'p', 'z', 'b'];

/// Checks the directives of a format.
///
/// # Errors
///
/// If one is unknown, a text that names it and the known ones. If there is none, so that the format fits
/// no time, a text that suggests one.
pub fn check_format(format: &str) -> Result<(), String> {
    if format != "epoch" && !format.contains('%') {
        return Err(format!(
            "`format` {format:?} has no directive such as `%d`, so no time fits it: {}",
            instead(format)
        ));
    }
    let mut rest = format.trim().chars();
    while rest.any(|character| character == '%') {
        let letter = rest.next();
        if letter.is_none_or(|letter| letter != '%' && !DIRECTIVES.contains(&letter)) {
            let letter = letter.map_or_else(String::new, String::from);
            let known = DIRECTIVES.map(|letter| format!("`%{letter}`")).join(", ");
            return Err(format!(
                "`format` has the unknown directive `%{letter}`; the known ones are {known}"
            ));
        }
    }
    Ok(())
}

/// Returns what to write for a format without directives: such as other programs take, or a word.
fn instead(format: &str) -> String {
    match format.trim().to_ascii_lowercase().as_str() {
        "epoch" | "unix" | "timestamp" => return "write `epoch`".to_owned(),
        word if word.starts_with("iso") || word.starts_with("rfc") => {
            return "leave it out, times of ISO 8601 are read without it".to_owned();
        }
        _ => {}
    }
    let mut pattern = String::new();
    let mut rest = format.trim();
    while let Some(letter) = rest.chars().next() {
        let length = rest.len() - rest.trim_start_matches(letter).len();
        let after_hour = ["%H", "%I"].iter().any(|hour| pattern.contains(hour));
        let directive = match letter {
            'y' | 'Y' if length == 2 => "%y",
            'y' | 'Y' | 'u' if length == 4 => "%Y",
            'M' if length == 3 => "%b",
            'm' if after_hour => "%M",
            'M' if pattern.contains("%H") && pattern.contains("%m") => "%M",
            'M' | 'm' => "%m",
            'D' | 'd' | 'J' | 'j' => "%d",
            'H' | 'k' => "%H",
            'h' => "%I",
            's' => "%S",
            'S' if after_hour => "%S",
            'Z' | 'X' | 'x' | 'z' => "%z",
            'a' | 'A' | 'p' | 'P' => "%p",
            // A quoted letter, such as the T of ISO 8601.
            '\'' => "",
            _ => &rest[..letter.len_utf8() * (length / letter.len_utf8())],
        };
        pattern.push_str(directive);
        rest = &rest[length..];
    }
    let is_known = ["%d", "%m", "%b", "%y", "%Y"];
    match is_known
        .iter()
        .filter(|one| pattern.contains(**one))
        .count()
    {
        3 => format!("write `{pattern}`"),
        _ => "write a pattern such as `%d/%m/%Y %H:%M`, or `epoch`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_only_known_directives() {
        for format in [
            "epoch",
            "%d/%m/%Y %H:%M:%S%f%z",
            "%d de %b %y %I %p",
            "100%%",
        ] {
            assert_eq!(check_format(format), Ok(()), "{format}");
        }
        for (format, unknown) in [
            ("%d/%Q", "`%Q`"),
            ("%", "`%`"),
            ("%%%", "`%`"),
            ("%é", "`%é`"),
        ] {
            let refused = check_format(format).expect_err(format);
            assert!(
                refused.contains(unknown) && refused.contains("`%b`"),
                "{refused}"
            );
        }
    }
}
