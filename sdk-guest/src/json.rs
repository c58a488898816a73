//! JSON as sources send it: ids keep their digits, and an absent value has many forms.

use serde_json::Value;

use crate::{Problem, reading};

/// Parses a body as JSON. A byte order mark is skipped, numbers keep their digits, and half of a
/// surrogate pair in an escape is read as U+FFFD.
///
/// # Errors
///
/// [`Problem`] if the text is empty, is not valid JSON, or nests deeper than 128 levels.
pub fn parse_json(text: &str) -> Result<Value, Problem> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(Problem::new("the body is empty, JSON was expected"));
    }
    reading::parse(text)
        .map_err(|error| Problem::new(format!("the body is not valid JSON: {error}")))
}

/// Returns a scalar as text: a string unchanged, a number as it was written, a boolean
/// as its word. Returns `None` for null, arrays, objects and blank strings.
pub fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Returns whether a value is empty: null, a blank string, `{}` or `[]`.
pub fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the value at the first path that leads to a value that is not absent.
///
/// A path is keys joined by dots, with indexes in brackets: `contact.phones[0]`.
/// A key with a dot or bracket in it is quoted (`"utm.source".first`) or has
/// them escaped (`utm\.source.first`).
pub fn first_of<'a>(value: &'a Value, paths: &[&str]) -> Option<&'a Value> {
    paths
        .iter()
        .filter_map(|path| at(value, path))
        .find(|found| !is_absent(found))
}

/// Like [`first_of`], as text; skips a path to an array or object.
pub fn text_at(value: &Value, paths: &[&str]) -> Option<String> {
    paths
        .iter()
        .filter_map(|path| at(value, path))
        .find_map(text_of)
}

/// Returns the value at one path, absent or not.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    for step in steps(path)? {
        value = match value {
            Value::Object(fields) => fields.get(&step)?,
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// Returns the keys and indexes of a path; `None` if it is malformed.
fn steps(path: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut characters = path.chars().peekable();
    let mut step = String::new();
    // Whether a step is open: no step is open between a bracket and the next dot.
    let mut open = true;
    while let Some(character) = characters.next() {
        match character {
            '.' => {
                if open {
                    out.push(std::mem::take(&mut step));
                }
                open = true;
            }
            '[' => {
                if open && (!step.is_empty() || !out.is_empty()) {
                    out.push(std::mem::take(&mut step));
                }
                let inner = if characters.next_if_eq(&'"').is_some() {
                    let inner = quoted(&mut characters)?;
                    characters.next_if_eq(&']')?;
                    inner
                } else {
                    until(&mut characters, ']')?
                };
                out.push(inner);
                open = false;
            }
            '"' if open && step.is_empty() => {
                out.push(quoted(&mut characters)?);
                open = false;
            }
            '\\' if open => step.push(characters.next()?),
            _ if open => step.push(character),
            _ => return None,
        }
    }
    if open {
        out.push(step);
    }
    Some(out)
}

fn quoted(characters: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut out = String::new();
    loop {
        match characters.next()? {
            '"' => return Some(out),
            '\\' => out.push(characters.next()?),
            character => out.push(character),
        }
    }
}

fn until(characters: &mut impl Iterator<Item = char>, end: char) -> Option<String> {
    let mut out = String::new();
    loop {
        match characters.next()? {
            character if character == end => return Some(out),
            character => out.push(character),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample() -> Value {
        parse_json(
            "\u{feff}{\"id\":9007199254740993.10,\"blank\":\" \",\"none\":null,\"empty\":{},\
             \"a\":{\"b\":\"x\",\"c.d\":[{\"e\":\"y\"},2]},\"yes\":true,\"\":\"unnamed\"}",
        )
        .unwrap()
    }

    #[test]
    fn scalars_become_text_with_their_digits() {
        let value = sample();
        assert_eq!(text_of(&value["id"]).unwrap(), "9007199254740993.10");
        assert_eq!(text_of(&value["yes"]).unwrap(), "true");
        assert_eq!(text_of(&value["a"]), None);
        assert_eq!(text_of(&value["blank"]), None);
    }

    #[test]
    fn the_first_path_with_a_value_wins() {
        let value = sample();
        let check = |paths: &[&str], expect: Option<&str>| {
            assert_eq!(text_at(&value, paths).as_deref(), expect, "{paths:?}");
            let found = first_of(&value, paths).and_then(text_of);
            assert_eq!(found.as_deref(), expect, "{paths:?}");
        };
        check(&["none", "blank", "empty", "missing", "a.b"], Some("x"));
        check(&["a.\"c.d\"[0].e"], Some("y"));
        check(&["a.c\\.d[1]"], Some("2"));
        check(&["a[\"c.d\"].1"], Some("2"));
        check(&["[\"a\"].b"], Some("x"));
        check(&["a.b.c", "a[0]", "a.\"c.d\"[9]"], None);
        check(&["a.\"c.d", "a[0", "a\\", "a[\"b\"x]"], None);
        check(&[""], Some("unnamed"));
    }

    #[test]
    fn hostile_json_and_paths_never_panic() {
        let text = sample().to_string();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = parse_json(&text[..end]);
        }
        assert!(parse_json(&"[".repeat(100_000)).is_err());
        assert!(parse_json("").is_err());
        let path = "a.\"c\\.d\"[0].[\"x\"]..é[";
        for (end, _) in path.char_indices() {
            let _ = at(&sample(), &path[..end]);
        }
    }
}
