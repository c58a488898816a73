//! Bodies as senders write them: JSON with half an emoji in it, and texts that are not whole
//! UTF-8. The host reads bodies with this file too, so that both find the same values.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Parses JSON. Half of a surrogate pair in an escape, which ECMAScript writes where a text was
/// cut within an emoji, is read as U+FFFD, and the end of a line in a text, which templates put there,
/// as itself. A byte order mark is skipped.
///
/// # Errors
///
/// [`serde_json::Error`] if the text is not JSON, or is not a `T`.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    let json = json.trim_start_matches('\u{feff}');
    serde_json::from_str(json).or_else(|error| {
        let whole = without_halves(json);
        match (without_controls(&whole), whole) {
            (Some(plain), _) => serde_json::from_str(&plain),
            (None, Cow::Owned(whole)) => serde_json::from_str(&whole),
            (None, Cow::Borrowed(_)) => Err(error),
        }
    })
}

/// Returns the JSON text with escapes in place of the control characters in its texts; `None` if there is
/// none.
fn without_controls(json: &str) -> Option<String> {
    let mut out = String::new();
    let (mut taken, mut in_text, mut is_escaped) = (0, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            0..0x20 if in_text => {
                out.push_str(&json[taken..at]);
                out.push_str(&format!("\\u{byte:04x}"));
                taken = at + 1;
            }
            _ => {}
        }
    }
    (taken > 0).then(|| out + &json[taken..])
}

/// Returns the JSON text with `\ufffd` in place of the escapes that are half of a surrogate pair.
/// The text keeps its length.
pub fn without_halves(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut taken = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let escape = unit(&json[at..]);
        let is_pair = |high: u16| {
            let low = json.get(at + ESCAPE..).and_then(unit);
            high < LOW && low.is_some_and(|low| (LOW..=LAST).contains(&low))
        };
        match escape {
            Some(high @ HIGH..=LAST) if is_pair(high) => at += 2 * ESCAPE,
            Some(HIGH..=LAST) => {
                out.push_str(&json[taken..at]);
                out.push_str(r"\ufffd");
                at += ESCAPE;
                taken = at;
            }
            Some(_) => at += ESCAPE,
            // The backslash, and the character that it escapes.
            None => at += 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if taken == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[taken..]);
    Cow::Owned(out)
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;
/// The first and the last surrogate, and the first that is the second of its pair.
const HIGH: u16 = 0xd800;
const LOW: u16 = 0xdc00;
const LAST: u16 = 0xdfff;

/// Returns the UTF-16 unit of the escape with which a text begins.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns bytes as text: of UTF-8, whose bad sequences are U+FFFD each, or of windows-1252, as
/// old senders mean by Latin-1.
///
/// Bytes that are not UTF-8 throughout are read as UTF-8 if at least as many characters of several
/// bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small letter, which
/// nobody writes: the text was cut within a character.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => return Cow::Borrowed(text),
        Cow::Owned(text) => text,
    };
    let bad = text.matches(char::REPLACEMENT_CHARACTER).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    let is_cut = |pair: &[u8]| matches!(pair, [0xe2, 0x80] | [0xf0, 0x9f] | [b'a'..=b'z', 0xc3]);
    if others >= 2 * bad || bytes.windows(2).any(is_cut) {
        return Cow::Owned(text);
    }
    let character = |byte: &u8| match *byte {
        byte @ 0x80..=0x9f => super::html::WINDOWS_1252[usize::from(byte - 0x80)],
        byte => char::from(byte),
    };
    Cow::Owned(bytes.iter().map(character).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn half_an_emoji_in_an_escape_is_the_replacement_character() {
        let check = |json: &str, expect: Option<&str>| {
            let read = parse::<Value>(&format!("\u{feff}[\"{json}\"]")).ok();
            let text = read.as_ref().and_then(|value| value[0].as_str());
            assert_eq!(text, expect, "{json}");
            assert_eq!(without_halves(json).len(), json.len());
        };
        check(r"Tenho \ud83d", Some("Tenho \u{fffd}"));
        check(r"\uDE00 \uD83D.", Some("\u{fffd} \u{fffd}."));
        check(r"\ud83d\ud83d\ude00", Some("\u{fffd}😀"));
        check(r"\ude00\ud83d", Some("\u{fffd}\u{fffd}"));
        check(r"\ud83d\n\ud83dé", Some("\u{fffd}\n\u{fffd}é"));
        check(
            r"\ud83d\u0041\ud83d\\ud83d",
            Some("\u{fffd}A\u{fffd}\\ud83d"),
        );
        check(r"\\ud83d \ud83d\ude00", Some("\\ud83d 😀"));
        for wrong in [r"\ud83", r"\ud8 \ud83d", r"\ud83d\é", r"\ud83d\", r"\ug000"] {
            check(wrong, None);
        }
        check(
            "Oi,\r\n\t\"Ana\"".replace('"', "\\\"").as_str(),
            Some("Oi,\r\n\t\"Ana\""),
        );
        check("\\\n", None);
        let names: Value = parse(r#"{"a\ud83d": 9007199254740993.10}"#).expect("JSON");
        assert_eq!(names["a\u{fffd}"].to_string(), "9007199254740993.10");
    }

    #[test]
    fn utf_8_with_a_fault_stays_utf_8_and_all_else_is_windows_1252() {
        let check = |bytes: &[u8], expect: &str| {
            assert_eq!(decode(bytes), expect, "{bytes:x?}");
        };
        check("João 😀".as_bytes(), "João 😀");
        check(
            b"Jo\xc3\xa3o D\xe2\x80\x99\xc3\x81vila, Quero visitar \xf0\x9f\x98",
            "João D’Ávila, Quero visitar \u{fffd}",
        );
        // Cut, without another character of several bytes.
        check(b"Quero visitar \xf0\x9f\x98", "Quero visitar \u{fffd}");
        check(b"Quero\xe2\x80", "Quero\u{fffd}");
        check(b"Jo\xc3", "Jo\u{fffd}");
        check(
            b"\"Jo\xc3\", \"Concei\xc3\"",
            "\"Jo\u{fffd}\", \"Concei\u{fffd}\"",
        );
        // One that is good, and one that is bad: at the end, at the begin.
        check(b"\xc3\x81gua, S\xc3", "Água, S\u{fffd}");
        check(b"\xa3o \xc3\x81gua", "\u{fffd}o Água");
        check(b"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa", "日本\u{fffd}");
        check(
            b"Jo\xe3o D\x92\xc1vila, R$ 350.000 \x96 aceita \x80?",
            "João D’Ávila, R$ 350.000 – aceita €?",
        );
        check(b"S\xc3O JOS\xc9 \x85 IRM\xc3", "SÃO JOSÉ … IRMÃ");
        check(
            b"Ol\xe1\x85 n\xe3o sei, \x93JOS\xc9\x94",
            "Olá… não sei, “JOSÉ”",
        );
        check(b"espero\x85 obrigada", "espero… obrigada");
        check(
            b"\x81\x8d\x8f\x90\x9d\xff",
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}ÿ",
        );
    }

    #[test]
    fn no_control_character_comes_from_any_byte() {
        for byte in 0x80..=0xff {
            let text = decode(&[byte]).into_owned();
            assert!(!text.contains(char::is_control), "{byte:x} {text:?}");
        }
    }
}
