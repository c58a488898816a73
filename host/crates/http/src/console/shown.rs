//! Stored bodies as people read them. A body is made readable only as far as it is shown.

use std::iter::Peekable;
use std::str::Chars;

use leadhost_domain::limits::SHOWN_BODY_BYTES;
use leadhost_domain::text::is_active;

/// A body as people read it.
#[derive(Debug, PartialEq, Eq)]
pub struct ShownBody {
    pub text: String,
    /// How the text differs from the body, or empty.
    pub note: &'static str,
    /// Whether it is only the beginning.
    pub is_cut: bool,
}

impl ShownBody {
    /// Shows JSON indented, with the digits of its numbers kept, and any other body as it is.
    pub fn new(body: &str, note: &'static str) -> Self {
        // Nothing is built of it.
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(body).is_ok();
        let text = if is_json {
            indent(body.trim(), SHOWN_BODY_BYTES)
        } else {
            beginning(body)
        };
        Self::of(text, note)
    }

    /// Shows a form by its fields.
    pub fn of_form(body: &str, note: &'static str) -> Self {
        let mut text = String::new();
        for (name, value) in form_urlencoded::parse(body.as_bytes()) {
            if text.len() > SHOWN_BODY_BYTES {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("{name} = {value}");
        }
        Self::of(text, note)
    }

    /// `text` has more than is shown if it is cut.
    fn of(mut text: String, note: &'static str) -> Self {
        let is_cut = text.len() > SHOWN_BODY_BYTES;
        text.truncate(text.floor_char_boundary(SHOWN_BODY_BYTES));
        Self { text, note, is_cut }
    }
}

/// Returns as much of a text as is shown, and a character more if it has one.
fn beginning(text: &str) -> String {
    text[..text.ceil_char_boundary(SHOWN_BODY_BYTES + 1)].to_owned()
}

/// Returns the character of an escape such as `\u00ed` whose `\u` was read, and takes it. `None`: it stays
/// as it is written, because it is none, or its character cannot be seen or would end the string.
fn unescaped(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    let mut ahead = characters.clone();
    let unit = |ahead: &mut Peekable<Chars<'_>>| {
        let digits: String = ahead.take(4).collect();
        u16::from_str_radix(&digits, 16).ok()
    };
    let first = unit(&mut ahead)?;
    let mut units = vec![first];
    if (0xd800..0xdc00).contains(&first) {
        if (ahead.next(), ahead.next()) != (Some('\\'), Some('u')) {
            return None;
        }
        units.push(unit(&mut ahead)?);
    }
    let decoded = char::decode_utf16(units).next()?.ok()?;
    let stays = is_active(decoded) || matches!(decoded, '"' | '\\') || decoded.is_whitespace();
    if stays {
        return None;
    }
    *characters = ahead;
    Some(decoded)
}

/// Indents JSON text without reading its values, so that no digit and no order changes. Escaped letters
/// become readable. It ends soon after it has made `most` bytes: each level of nesting makes lines longer.
pub fn indent(json: &str, most: usize) -> String {
    let mut text = String::new();
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        let room = (most + 1).saturating_sub(text.len());
        text.extend(std::iter::repeat_n("  ", depth.min(room)));
    };
    let mut characters = json.chars().peekable();
    while text.len() <= most
        && let Some(character) = characters.next()
    {
        if in_string {
            if character == '\\' && !is_escaped && characters.peek() == Some(&'u') {
                characters.next();
                match unescaped(&mut characters) {
                    Some(decoded) => text.push(decoded),
                    None => text.push_str("\\u"),
                }
                continue;
            }
            text.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                text.push(character);
            }
            '{' | '[' => {
                text.push(character);
                while characters.next_if(|next| next.is_whitespace()).is_some() {}
                if characters
                    .peek()
                    .is_some_and(|next| matches!(next, '}' | ']'))
                {
                    text.extend(characters.next());
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(character);
            }
            ',' => {
                text.push(character);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            space if space.is_whitespace() => {}
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_with_its_digits_and_its_order() {
        let check = |json: &str, expect: &str| assert_eq!(indent(json, 1_000), expect);
        check(
            r#"{"b":12345678901234567890,"a":[1.10,{}],"t":"x: \"{,"}"#,
            "{\n  \"b\": 12345678901234567890,\n  \"a\": [\n    1.10,\n    {}\n  ],\n  \"t\": \"x: \\\"{,\"\n}",
        );
        check("[ ]", "[]");
        check(
            r#"["n\u00edvel \ud83d\ude00", "\u0022\u202e\ud83d\\u00ed"]"#,
            "[\n  \"nível 😀\",\n  \"\\u0022\\u202e\\ud83d\\\\u00ed\"\n]",
        );
        check("\"text\"", "\"text\"");
    }

    #[test]
    fn no_body_makes_more_than_is_shown() {
        let nested = |many: usize| "[".repeat(many) + &"]".repeat(many);
        let inner = nested(100).replace("[]", &format!("[{}1]", "1,".repeat(100_000)));
        for body in [
            nested(2_000_000),
            inner,
            "é".repeat(2_000_000),
            "x".repeat(SHOWN_BODY_BYTES + 1),
        ] {
            let shown = ShownBody::new(&body, "");
            assert!(shown.is_cut && shown.text.len() + 8 > SHOWN_BODY_BYTES);
            assert!(
                shown.text.len() <= SHOWN_BODY_BYTES
                    && shown.text.capacity() <= 4 * SHOWN_BODY_BYTES
            );
        }
        let form = ShownBody::of_form(&"a=%41&".repeat(500_000), "");
        assert!(form.is_cut && form.text.len() <= SHOWN_BODY_BYTES);
        let whole = ShownBody::new(&"x".repeat(SHOWN_BODY_BYTES), "");
        assert!(!whole.is_cut && whole.text.len() == SHOWN_BODY_BYTES);
    }

    #[test]
    fn the_work_grows_with_the_body_and_not_faster() {
        for piece in ["[", "{\"", "\\u00", "[]", "1,"] {
            let repeated = |bytes: usize| piece.repeat(bytes / piece.len());
            leadhost_fuzz::grows_linearly(repeated, |body| drop(indent(body, 4 * body.len())));
        }
    }
}
