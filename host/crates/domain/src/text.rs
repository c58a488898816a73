//! External text as the service stores it: every character but U+0000, which PostgreSQL's
//! text cannot hold and no person's text needs. When a plugin's answer becomes a domain
//! type, U+0000 turns into U+FFFD, the replacement character, so that every store holds the
//! same text. A declaration that contains U+0000 is refused. The raw delivery is not
//! changed.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

const ZERO: char = '\0';
const SHOWN_AS: &str = "\u{fffd}";

/// Returns the text with U+FFFD in place of each U+0000. The usual text is not copied.
pub fn without_zero(text: &str) -> Cow<'_, str> {
    if text.contains(ZERO) {
        Cow::Owned(text.replace(ZERO, SHOWN_AS))
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`without_zero`] for an owned text; the usual text is not copied.
pub fn storable(text: String) -> String {
    if text.contains(ZERO) {
        text.replace(ZERO, SHOWN_AS)
    } else {
        text
    }
}

/// Returns whether a character moves a terminal's cursor, begins a terminal command, ends a
/// line, or changes the reading direction of the following text.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// Escapes such characters as JSON does (`\u001b`), except those in `leave`.
pub fn written_out<'a>(text: &'a str, leave: &[char]) -> Cow<'a, str> {
    let is_written = |c: char| is_active(c) && !leave.contains(&c);
    if !text.contains(is_written) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if is_written(c) => out.push_str("\\n"),
            c if is_written(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns the text on one line, with a blank in place of each such character.
pub fn on_one_line(text: &str) -> String {
    let shown = |c: char| if is_active(c) { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// Returns whether a character ends a word: white space of any kind, or a control character
/// other than U+0000.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || (c.is_control() && c != ZERO)
}

/// Returns whether a reader sees the character: neither a blank nor one without width.
pub fn is_seen(c: char) -> bool {
    let has_no_width = is_active(c) && c != ZERO
        || matches!(
            c,
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
        );
    !ends_word(c) && !has_no_width
}

/// Returns the part from the first to the last character that a reader sees.
pub fn seen(text: &str) -> &str {
    text.trim_matches(|c| !is_seen(c))
}

/// Returns the words that a reader sees, with one space between them.
pub fn folded(text: &str) -> String {
    let words = text.split(ends_word).filter(|word| word.contains(is_seen));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Like [`storable`] for every text and key of a JSON value.
pub fn storable_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(storable(text)),
        Value::Array(values) => Value::Array(values.into_iter().map(storable_json).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (storable(name), storable_json(value)))
                .collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

/// Returns the path of the first text or key that contains the character, as
/// `fields.list[2]`.
pub fn first_zero(value: &Value) -> Option<String> {
    let mut path = String::new();
    find(value, &mut path).then(|| storable(path))
}

fn find(value: &Value, path: &mut String) -> bool {
    let begin = path.len();
    match value {
        Value::String(text) => return text.contains(ZERO),
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                if find(value, path) {
                    return true;
                }
                path.truncate(begin);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if begin > 0 {
                    path.push('.');
                }
                path.push_str(name);
                if name.contains(ZERO) || find(value, path) {
                    return true;
                }
                path.truncate(begin);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    false
}

/// Returns the word for one or for several.
pub fn noun<'a, N: PartialEq + From<u8>>(number: &N, one: &'a str, many: &'a str) -> &'a str {
    if *number == N::from(1) { one } else { many }
}

/// Returns a number with its noun, such as `1 change` or `2 changes`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    format!("{number} {}", noun(&number, one, many))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_character_zero_is_replaced() {
        let check = |text: &str, expect: &str| {
            assert_eq!(without_zero(text), expect);
            assert_eq!(storable(text.to_owned()), expect);
        };
        check("a\0b\0", "a\u{fffd}b\u{fffd}");
        check("\u{1}\u{7f} \u{1F600}", "\u{1}\u{7f} \u{1F600}");
        check("", "");
    }

    #[test]
    fn nested_json_texts_and_keys_are_cleaned() {
        let given = json!({"a\0": [{"b": "c\0"}, 1.50, null, true]});
        let expect = json!({"a\u{fffd}": [{"b": "c\u{fffd}"}, 1.50, null, true]});
        assert_eq!(storable_json(given), expect);
    }

    #[test]
    fn the_first_zero_is_named_by_its_path() {
        let check = |value: Value, expect: Option<&str>| {
            assert_eq!(first_zero(&value).as_deref(), expect);
        };
        check(json!({"a": {"b": ["x", "y\0"]}}), Some("a.b[1]"));
        check(json!({"a": 1, "b\0": 2}), Some("b\u{fffd}"));
        check(json!([[], {"c": "\0"}]), Some("[1].c"));
        check(json!({"a": {"b": ["x", "y"]}}), None);
    }

    #[test]
    fn white_space_of_any_kind_is_folded_to_one_space() {
        let check = |text: &str, expect: &str| {
            assert_eq!(folded(text), expect, "{text:?}");
            assert_eq!(seen(text).is_empty(), expect.is_empty(), "{text:?}");
        };
        check("linha 1\nlinha 2     fim\t!", "linha 1 linha 2 fim !");
        check("Ana\r\nSouza", "Ana Souza");
        check(" Ana  ", "Ana");
        check("a\u{a0}\u{2028}\u{2029}\u{3000}\u{85}b", "a b");
        check("a\u{b}\u{c}\u{1c}b\u{1b}", "a b");
        check("a \u{200b} \u{feff} b", "a b");
        // Within a word it shows where a line may break.
        check("a\u{200b}b", "a\u{200b}b");
        check("👨\u{200d}👩\u{200d}👧 é", "👨\u{200d}👩\u{200d}👧 é");
        check("", "");
        check(" \u{a0}\u{200b}\n", "");
        check("\u{feff}", "");
    }

    #[test]
    fn a_quoted_text_is_one_word_of_a_shell() {
        assert_eq!(quoted("/srv/leads@1:2.wasm"), "/srv/leads@1:2.wasm");
        assert_eq!(quoted("lo ose"), "'lo ose'");
        assert_eq!(quoted("Ana's"), r"'Ana'\''s'");
        assert_eq!(quoted("$HOME;`x`*"), "'$HOME;`x`*'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn characters_that_change_the_direction_of_a_text_are_escaped() {
        for c in ('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}')
            .chain(['\u{200e}', '\u{200f}', '\u{61c}'])
        {
            let escaped = format!("a\\u{:04x}b", u32::from(c));
            assert_eq!(written_out(&format!("a{c}b"), &['\n']), escaped);
        }
    }

    #[test]
    fn characters_that_control_a_terminal_are_escaped() {
        let hostile = "a\u{1b}[2J\nb\r\u{9b}1m\u{7f}\u{202e}c\u{2066}\u{2028}é";
        let safe = r"a\u001b[2J\nb\u000d\u009b1m\u007f\u202ec\u2066\u2028é";
        assert_eq!(written_out(hostile, &[]), safe);
        assert_eq!(written_out("a\nb", &['\n']), "a\nb");
        assert_eq!(on_one_line("a\n\u{1b}b\u{202e}é"), "a  b é");
        assert!(matches!(written_out("plain é 😀", &[]), Cow::Borrowed(_)));
    }
}
