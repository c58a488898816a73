//! The difference of two answers in words: where, what was expected, what came.

use std::fmt::Write;

use serde_json::Value;

/// None where the two are equal, else a line for each difference, at most
/// [`MAX_LINES`]. Numbers are equal when they are written alike.
pub fn diff(expected: &Value, actual: &Value) -> Option<String> {
    let mut lines = Vec::new();
    walk("", expected, actual, &mut lines);
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    if more > 0 {
        lines.push(format!("and {more} more differences"));
    }
    Some(lines.join("\n"))
}

/// So many differences say what is wrong; more only hide it.
const MAX_LINES: usize = 20;
/// Of a value that is quoted in a line, in characters.
const MAX_QUOTE: usize = 300;

fn walk(path: &str, expected: &Value, actual: &Value, lines: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                let path = join(path, key);
                match right.get(key) {
                    Some(other) => walk(&path, value, other, lines),
                    None => lines.push(line(&path, Some(value), None)),
                }
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                lines.push(line(&join(path, key), None, Some(value)));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                let path = join(path, &index.to_string());
                match (left.get(index), right.get(index)) {
                    (Some(left), Some(right)) => walk(&path, left, right, lines),
                    (left, right) => lines.push(line(&path, left, right)),
                }
            }
        }
        _ if expected == actual => {}
        _ => lines.push(line(path, Some(expected), Some(actual))),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn line(path: &str, expected: Option<&Value>, actual: Option<&Value>) -> String {
    let mut out = String::new();
    let path = if path.is_empty() { "(all)" } else { path };
    let _ = write!(
        out,
        "{path}: expected {}, came {}",
        quote(expected),
        quote(actual)
    );
    out
}

fn quote(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".into();
    };
    let text = value.to_string();
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_answers_have_no_difference() {
        assert_eq!(
            diff(&json!({"ok": [1, "a"]}), &json!({"ok": [1, "a"]})),
            None
        );
    }

    #[test]
    fn a_difference_names_path_expected_and_came() {
        let text = diff(
            &json!({"ok": {"items": [{"name": "Ana"}, {"name": "Bia"}]}}),
            &json!({"ok": {"items": [{"name": "Eva"}], "notes": []}}),
        )
        .unwrap();
        assert_eq!(
            text,
            "ok.items.0.name: expected \"Ana\", came \"Eva\"\n\
             ok.items.1: expected {\"name\":\"Bia\"}, came nothing\n\
             ok.notes: expected nothing, came []"
        );
    }

    #[test]
    fn ids_above_the_exact_range_of_a_double_differ() {
        let left: Value = serde_json::from_str("9007199254740993").unwrap();
        let right: Value = serde_json::from_str("9007199254740992").unwrap();
        assert!(diff(&left, &right).is_some());
    }

    #[test]
    fn long_lists_of_differences_are_cut() {
        let left = json!((0..100).collect::<Vec<_>>());
        let right = json!((1..101).collect::<Vec<_>>());
        let text = diff(&left, &right).unwrap();
        assert!(text.ends_with("and 80 more differences"));
    }
}
