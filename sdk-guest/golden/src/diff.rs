//! The differences of two outputs as text: path, expected value, actual value.

use std::fmt::Write;

use serde_json::Value;

/// Returns `None` if the two are equal, else a line for each difference, at most
/// [`MAX_LINES`]. Numbers are equal if they are written alike.
pub fn diff(expected: &Value, actual: &Value) -> Option<String> {
    let mut found = Found::default();
    found.walk(&mut Vec::new(), expected, actual);
    if found.lines.is_empty() {
        return None;
    }
    if found.more > 0 {
        found
            .lines
            .push(format!("and {} more differences", found.more));
    }
    Some(found.lines.join("\n"))
}

/// Enough differences to show what is wrong; more only hide it.
const MAX_LINES: usize = 20;
/// Maximum characters of a quoted value, and of a path.
const MAX_QUOTE: usize = 300;

/// Maximum pairs that are told apart by their names.
const MAX_NAMED: usize = 200;

/// Returns the pairs of a name and a value, such as attributes; nothing if an element is none, or a name is
/// there twice.
fn named(list: &[Value]) -> Vec<(&str, &Value)> {
    let mut pairs = Vec::new();
    for element in list {
        match element.as_array().map(Vec::as_slice) {
            Some([Value::String(name), value]) if pairs.len() < MAX_NAMED && !has(&pairs, name) => {
                pairs.push((name.as_str(), value));
            }
            _ => return Vec::new(),
        }
    }
    pairs
}

fn has(pairs: &[(&str, &Value)], name: &str) -> bool {
    pairs.iter().any(|(other, _)| *other == name)
}

/// Returns the names of pairs that the others have too, in their order.
fn order<'a>(pairs: &[(&'a str, &Value)], others: &[(&str, &Value)]) -> Vec<&'a str> {
    let names = pairs.iter().map(|(name, _)| *name);
    names.filter(|name| has(others, name)).collect()
}

/// A step of a path.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

/// Differences so far. Only those that are reported are formatted: outputs may be
/// long, and crafted so that formatting each difference would never end.
#[derive(Default)]
struct Found {
    lines: Vec<String>,
    more: usize,
}

impl Found {
    fn walk<'a>(&mut self, path: &mut Vec<Step<'a>>, expected: &'a Value, actual: &'a Value) {
        match (expected, actual) {
            (Value::Object(left), Value::Object(right)) => {
                for (key, value) in left {
                    path.push(Step::Field(key));
                    match right.get(key) {
                        Some(other) => self.walk(path, value, other),
                        None => self.line(path, Some(value), None),
                    }
                    path.pop();
                }
                for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                    path.push(Step::Field(key));
                    self.line(path, None, Some(value));
                    path.pop();
                }
            }
            (Value::Array(left), Value::Array(right))
                if !named(left).is_empty() && !named(right).is_empty() =>
            {
                let (left, right) = (named(left), named(right));
                let orders = [order(&left, &right), order(&right, &left)];
                if orders[0] != orders[1] {
                    let [expected, actual] = orders.map(Value::from);
                    path.push(Step::Field("(order)"));
                    self.line(path, Some(&expected), Some(&actual));
                    path.pop();
                }
                for (name, value) in &left {
                    path.push(Step::Field(name));
                    match right.iter().find(|(other, _)| other == name) {
                        Some((_, other)) => self.walk(path, value, other),
                        None => self.line(path, Some(value), None),
                    }
                    path.pop();
                }
                for (name, value) in right.iter().filter(|(name, _)| !has(&left, name)) {
                    path.push(Step::Field(name));
                    self.line(path, None, Some(value));
                    path.pop();
                }
            }
            (Value::Array(left), Value::Array(right)) => {
                for index in 0..left.len().max(right.len()) {
                    path.push(Step::Element(index));
                    match (left.get(index), right.get(index)) {
                        (Some(left), Some(right)) => self.walk(path, left, right),
                        (left, right) => self.line(path, left, right),
                    }
                    path.pop();
                }
            }
            _ if expected == actual => {}
            _ => self.line(path, Some(expected), Some(actual)),
        }
    }

    fn line(&mut self, path: &[Step<'_>], expected: Option<&Value>, actual: Option<&Value>) {
        if self.lines.len() >= MAX_LINES {
            self.more += 1;
            return;
        }
        self.lines.push(format!(
            "{}: expected {}, got {}",
            place(path),
            quote(expected),
            quote(actual)
        ));
    }
}

fn place(path: &[Step<'_>]) -> String {
    if path.is_empty() {
        return "(all)".to_owned();
    }
    let mut out = String::new();
    for (number, step) in path.iter().enumerate() {
        if number > 0 {
            out.push('.');
        }
        let _ = match step {
            Step::Field(name) => write!(out, "{name}"),
            Step::Element(index) => write!(out, "{index}"),
        };
    }
    cut(out)
}

fn quote(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".into();
    };
    cut(value.to_string())
}

fn cut(text: String) -> String {
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

    /// Formatted, the paths of these differences would be many gigabytes.
    #[test]
    fn only_reported_differences_below_a_long_name_are_formatted() {
        let name = "n".repeat(500_000);
        let of = |value: u8| json!({ &name: vec![value; 200_000] });
        let said = diff(&of(1), &of(2)).unwrap();
        assert!(said.len() < 20_000, "{}", said.len());
        assert!(
            said.ends_with("and 199980 more differences"),
            "{}",
            &said[said.len() - 100..]
        );
    }

    #[test]
    fn equal_answers_have_no_difference() {
        assert_eq!(
            diff(&json!({"ok": [1, "a"]}), &json!({"ok": [1, "a"]})),
            None
        );
    }

    #[test]
    fn a_difference_names_path_expected_and_actual_value() {
        let text = diff(
            &json!({"ok": {"items": [{"name": "Ana"}, {"name": "Bia"}]}}),
            &json!({"ok": {"items": [{"name": "Eva"}], "notes": []}}),
        )
        .unwrap();
        assert_eq!(
            text,
            "ok.items.0.name: expected \"Ana\", got \"Eva\"\n\
             ok.items.1: expected {\"name\":\"Bia\"}, got nothing\n\
             ok.notes: expected nothing, got []"
        );
    }

    #[test]
    fn named_values_are_compared_by_their_names_and_order_counts() {
        let of = |pairs: Value| json!({ "attributes": pairs });
        let few = of(json!([["floor", 3], ["pets", true]]));
        let more = of(json!([["rooms", 2], ["floor", 4], ["pets", true]]));
        assert_eq!(
            diff(&few, &more).unwrap(),
            "attributes.floor: expected 3, got 4\nattributes.rooms: expected nothing, got 2"
        );
        let turned = of(json!([["pets", true], ["floor", 3]]));
        assert_eq!(
            diff(&few, &turned).unwrap(),
            "attributes.(order): expected [\"floor\",\"pets\"], got [\"pets\",\"floor\"]"
        );
        let twice = of(json!([["floor", 3], ["floor", 3]]));
        assert!(diff(&twice, &few).is_some());
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
