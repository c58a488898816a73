//! JSON text as senders write it, and as the service does; measures of it that need no parsing; and
//! lookups by path in a parsed value.

use std::io;

use memchr::{memchr2, memchr2_iter};
use serde::Serialize;
use serde_json::Value;

pub use self::reading::{decode, parse, without_halves};
use super::html;

#[path = "../../../../sdk-guest/src/reading.rs"]
mod reading;

/// Returns JSON text with U+0085, U+2028 and U+2029 as escapes: many readers of lines end one there.
/// The usual text is not copied.
pub fn without_line_ends(json: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut taken = 0;
    for at in memchr2_iter(0xc2, 0xe2, &json) {
        let (length, escape) = match &json[at..] {
            [0xc2, 0x85, ..] => (2, br"\u0085"),
            [0xe2, 0x80, 0xa8, ..] => (3, br"\u2028"),
            [0xe2, 0x80, 0xa9, ..] => (3, br"\u2029"),
            _ => continue,
        };
        out.extend_from_slice(&json[taken..at]);
        out.extend_from_slice(escape);
        taken = at + length;
    }
    if taken == 0 {
        return json;
    }
    out.extend_from_slice(&json[taken..]);
    out
}

/// Adds JSON text with those numbers as texts that readers change without a word: most read a number as a
/// double, which keeps 15 digits and ends at 1e308. The usual text is copied at once.
pub fn push_exact(json: &str, to: &mut Vec<u8>) {
    let bytes = json.as_bytes();
    let (mut taken, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while let Some(next) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
                    let ends = bytes[at + next] == b'"';
                    // What follows a backslash ends no string.
                    at += next + if ends { 1 } else { 2 };
                    if ends {
                        break;
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &u8| !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                let rest = &bytes[at..];
                let length = rest
                    .iter()
                    .position(|byte| !is_part(byte))
                    .unwrap_or(rest.len());
                if !is_exact(&json[at..at + length]) {
                    to.extend_from_slice(&bytes[taken..at]);
                    to.push(b'"');
                    to.extend_from_slice(&rest[..length]);
                    to.push(b'"');
                    taken = at + length;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    to.extend_from_slice(&bytes[taken..]);
}

/// Like [`push_exact`] for a value.
pub fn exact(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let digits = number.to_string();
            if !is_exact(&digits) {
                *value = Value::String(digits);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(exact),
        Value::Object(fields) => fields.values_mut().for_each(exact),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns whether a number has the same digits after it was read as a double.
fn is_exact(number: &str) -> bool {
    let is_short = number.len() <= 15 && !number.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    is_short || {
        let digits = number.split(['e', 'E']).next().unwrap_or_default();
        let digits = digits.trim_start_matches(['-', '0', '.']).bytes();
        let count = digits.filter(u8::is_ascii_digit).count();
        let double: f64 = number.parse().unwrap_or(f64::INFINITY);
        count <= 15 && double.is_finite() && (double.is_normal() || count == 0)
    }
}

/// Returns the length of the value as JSON text in bytes, without building the text.
pub fn length(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // A value that cannot be serialised has length 0.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the value at a path of member names separated by dots, ignoring case.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| {
        value
            .as_object()?
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value)
    })
}

/// Returns whether brackets and braces nest deeper than `most`; see `depth`.
pub fn too_deep(text: &[u8], most: usize) -> bool {
    depth_up_to(text, most) > most
}

/// Returns how deep brackets and braces nest. It takes one pass over the bytes without
/// recursion, so it is safe on any input; brackets inside strings do not count. For text
/// that is not JSON the result is meaningless.
pub fn depth(text: &[u8]) -> usize {
    depth_up_to(text, usize::MAX)
}

/// Stops at `most`.
fn depth_up_to(text: &[u8], most: usize) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                if depth > most {
                    break;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_a_double_changes_are_texts_with_the_same_digits() {
        let check = |json: &str, expect: &str| {
            let mut text = Vec::new();
            push_exact(json, &mut text);
            assert_eq!(String::from_utf8(text).expect("text"), expect, "{json}");
            let mut value = parse(json).expect("JSON");
            exact(&mut value);
            assert_eq!(value, parse::<Value>(expect).expect("JSON"), "{json}");
        };
        for same in [
            "123456789012345",
            "-12345.6789012345",
            "0.000000000000000000001",
            "[1.50,0,-0.0,1e300,0e5,null,true]",
            r#"{"1234567890123456":"1234567890123456","a\\":"\" 1e999","é":{}}"#,
            " [ 1 , 2 ] ",
        ] {
            check(same, same);
        }
        check("1234567890123456", r#""1234567890123456""#);
        check(
            "[-12345678901234567890 ,1]",
            r#"["-12345678901234567890" ,1]"#,
        );
        check(
            r#"{"a":1e+400,"b":[0.1234567890123456]}"#,
            r#"{"a":"1e+400","b":["0.1234567890123456"]}"#,
        );
        check("[1e-400,9e+308,1e+308]", r#"["1e-400","9e+308",1e+308]"#);
    }

    #[test]
    fn the_depth_is_counted_and_the_bound_itself_is_allowed() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(!too_deep(&nested(64), 64));
        assert!(too_deep(&nested(65), 64));
        assert!(!too_deep(b"[1],[2],[3]", 1));
        assert!(too_deep(b"{\"a\":[{}]}", 2));
        assert!(!too_deep(b"", 0));
        assert_eq!(depth(&nested(1_000)), 1_000);
        assert_eq!(depth(b"{\"a\":[1]},[]]]{\"[[[\":2}"), 2);
    }

    #[test]
    fn characters_at_which_readers_end_a_line_are_escaped() {
        let text = "\u{85}a\u{2028}b\u{2029}\u{2027}é\u{a0}\u{20a8}\u{85}";
        let plain = serde_json::json!({ text: [text] }).to_string();
        let written = String::from_utf8(without_line_ends(plain.clone().into_bytes()));
        let written = written.expect("text");
        assert!(
            !written.contains(['\u{85}', '\u{2028}', '\u{2029}']),
            "{written}"
        );
        assert!(written.contains(r"\u0085a\u2028b\u2029"), "{written}");
        let read = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
        assert_eq!(read(&written), read(&plain));
        for other in [&b""[..], b"\xe2\x80", b"\xc2", "\"é – â€\"".as_bytes()] {
            assert_eq!(without_line_ends(other.to_vec()), other);
        }
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert!(!too_deep(br#"{"a":"[[[[\"[[[["}"#, 1));
        assert!(too_deep(br#"{"a":"\\",  "b":[[]]}"#, 2));
    }

    #[test]
    fn bytes_that_are_not_json_are_scanned_to_their_end() {
        assert!(!too_deep(b"]]]]}}}}", 1));
        assert!(!too_deep(b"\"never closed [[[[", 1));
        assert!(!too_deep(&[0xff, b'"', b'\\'], 1));
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{damaged, holds, json};
    use serde_json::Value;

    use super::*;

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    #[test]
    fn fuzz_json_is_too_deep_when_its_values_are() {
        let seeds = [
            r#"{"a":[{"b":"]}\\"},[[]],"{[\""],"c":{"d":[1]}}"#,
            "[[[[[[]]]]]]",
        ];
        let words = [
            "[", "]", "{", "}", "\"", "\\", ",", "[1]", "{\"a\":", "\"[\"",
        ];
        holds(4_000, damaged(seeds, &words), |text| {
            let Ok(value) = serde_json::from_slice::<Value>(text) else {
                return;
            };
            // If a member occurs twice, the parsed value holds only the last one.
            let plain = value.to_string();
            assert_eq!(super::depth(plain.as_bytes()), depth(&value));
            for most in 0..8 {
                let is_deep = depth(&value) > most;
                assert_eq!(too_deep(plain.as_bytes(), most), is_deep, "{most}");
                assert!(too_deep(text, most) || !is_deep, "{most}");
            }
        });
    }

    #[test]
    fn fuzz_a_length_is_that_of_the_text() {
        holds(1_000, json(&["a", "é"], &["b"]), |value| {
            assert_eq!(length(value), value.to_string().len());
        });
    }
}
