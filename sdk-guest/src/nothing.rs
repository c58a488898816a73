//! What programs write in place of a value that they do not have: `null`, `undefined`, a merge tag that
//! was not filled. The host reads values with this file too, so that both find the same texts empty.

/// Returns whether the whole text is a word for nothing, several of them (`undefined undefined`), or
/// templates that were not filled (`{{first_name}} {{last_name}}`). A word for nothing beside another
/// one is not: `Ana Null` is a name.
pub fn is_nothing(text: &str) -> bool {
    let mut rest = text.trim_matches(is_between);
    if is_zeros(rest, 32) {
        return true;
    }
    while !rest.is_empty() {
        match after_tag(rest).or_else(|| after_word(rest)) {
            Some(after) => rest = after.trim_start_matches(is_between),
            None => return false,
        }
    }
    true
}

/// Returns whether a text is no id: a word for nothing, or what stands for every record alike, such as
/// `0` and `false`.
pub fn is_no_id(text: &str) -> bool {
    let text = text.trim();
    is_nothing(text)
        || is_zeros(text, 1)
        || ["false", "true"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns whether a character has no width: programs copy it into texts, and nobody sees it.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// What stands between two words or alone in place of one.
fn is_between(character: char) -> bool {
    character.is_whitespace() || is_invisible(character) || "-–—,_/".contains(character)
}

/// Returns whether a text is an id of zeros, at least so many: the nil UUID has 32.
fn is_zeros(text: &str, least: usize) -> bool {
    text.bytes().filter(|byte| *byte == b'0').count() >= least
        && text.bytes().all(|byte| b"0-{}.".contains(&byte))
}

const WORDS: [&str; 8] = [
    "null",
    "undefined",
    "none",
    "nil",
    "nan",
    "n/a",
    "#n/a",
    r"\n",
];

fn after_word(text: &str) -> Option<&str> {
    // A list of two is `[object Object],[object Object]`.
    if text
        .get(..8)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("[object "))
    {
        return text.split_once(']').map(|(_, rest)| rest);
    }
    let end = text.find(|c: char| c.is_whitespace() || c == ',');
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let bare = word.trim_matches(['<', '>', '(', ')', '"', '\'']);
    let is_word = WORDS.iter().any(|known| bare.eq_ignore_ascii_case(known));
    is_word.then_some(rest)
}

/// Begins and ends of the tags of template languages.
const TAGS: [(&str, &str); 9] = [
    ("{{", "}}"),
    ("{%", "%}"),
    ("<%", "%>"),
    ("<<", ">>"),
    ("#{", "}"),
    ("${", "}"),
    ("*|", "|*"),
    ("%%", "%%"),
    ("[[", "]]"),
];

fn after_tag(text: &str) -> Option<&str> {
    for (begin, end) in TAGS {
        if let Some(inner) = text.strip_prefix(begin) {
            let (name, rest) = inner.split_once(end)?;
            return (!name.trim().is_empty()).then_some(rest.trim_start_matches('}'));
        }
    }
    // These signs are in other texts too: within them is only the name of a field.
    let (end, inner) = match text.as_bytes().first()? {
        b'%' => ('%', &text[1..]),
        b'{' => ('}', &text[1..]),
        b'[' => (']', &text[1..]),
        _ => return None,
    };
    let (name, rest) = inner.split_once(end)?;
    let is_name = name
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"_-.:".contains(&c));
    let is_field = match end {
        '%' => name.bytes().any(|c| c.is_ascii_alphabetic()),
        // `{5f0c…}` is an id, and `[sic]` a remark.
        '}' => name
            .bytes()
            .all(|c| c.is_ascii_alphabetic() || b"_.".contains(&c)),
        _ => name.starts_with("your-") || name.contains('_'),
    };
    (is_name && is_field && !name.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_nothing_and_tags_are_known_and_names_are_not() {
        for text in [
            "null",
            " NULL ",
            "undefined",
            "undefined undefined",
            "None",
            "nil",
            "<nil>",
            "<null>",
            "(null)",
            "NaN",
            "N/A",
            "n/a",
            "#N/A",
            "-",
            "--",
            "—",
            "- -",
            "[object Object]",
            "[object Object],[object Object]",
            "00000000-0000-0000-0000-000000000000",
            "{00000000000000000000000000000000}",
            "{{lead.id}}",
            "{{first}} {{last}}",
            "{{{name}}}",
            "{{a}}-{{b}}",
            "%NAME%",
            "%FIRST% %LAST%",
            "%%name%%",
            "*|FNAME|*",
            "${name}",
            "[your-name]",
            "[first_name]",
            "{% name %}",
            "<%= name %>",
            "<<name>>",
            "#{name}",
            "{name}",
            "undefined {{last}}",
            "\u{200b}null\u{feff}",
            "",
        ] {
            assert!(is_nothing(text), "{text}");
        }
        for text in [
            "Ana Null",
            "Null Ana",
            "Na",
            "Nina",
            "Nilda",
            "nanda",
            "0",
            "false",
            "{{a}} e Ana",
            "Oi {{name}}",
            "50%",
            "% de entrada %",
            "100% ok 50%",
            "[sic]",
            "{5f0c3a}",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "{\"a\":1}",
            "?",
            "...",
            "{{",
            "{{}}",
            "%%",
            "${x",
            "<b>Ana</b>",
            "-23.5505",
            "[object",
            "AP-1",
            "_id",
            "00",
        ] {
            assert!(!is_nothing(text), "{text}");
        }
    }

    #[test]
    fn an_id_that_all_records_share_is_none() {
        for text in [
            "0",
            " 0 ",
            "false",
            "True",
            "0.0",
            "000000000000000000000000",
            "null",
            "{{id}}",
        ] {
            assert!(is_no_id(text), "{text}");
        }
        for text in [
            "10",
            "0-1",
            "-7",
            "f",
            "truex",
            "00000000-0000-0000-0000-000000000001",
        ] {
            assert!(!is_no_id(text), "{text}");
        }
    }

    #[test]
    fn many_tags_take_time_in_proportion() {
        // Each is passed once: a quadratic reading of so many would not end.
        assert!(is_nothing(&"{{a}} null ".repeat(400_000)));
        assert!(!is_nothing(&"{{".repeat(1_000_000)));
    }
}
