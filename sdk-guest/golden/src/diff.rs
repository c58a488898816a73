//! The differences of two outputs as text: path, expected value, actual value.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde_json::{Map, Value};

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

/// Values with their names, in order.
type Members<'a> = Vec<(&'a str, &'a Value)>;

/// Returns the pairs of a name and a value, such as attributes. `None`: there is none, an element is something
/// else, or a name is there twice.
fn named(list: &[Value]) -> Option<Members<'_>> {
    let (mut names, mut pairs) = (HashSet::new(), Members::new());
    for element in list {
        match element.as_array()?.as_slice() {
            [Value::String(name), value] if names.insert(name) => pairs.push((name, value)),
            _ => return None,
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Returns the names that others have too, in their order.
fn order<'a>(members: &Members<'a>, others: &Members<'_>) -> Vec<&'a str> {
    let others: HashSet<&str> = others.iter().map(|(name, _)| *name).collect();
    let names = members.iter().map(|(name, _)| *name);
    names.filter(|name| others.contains(name)).collect()
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
                let members = |object: &'a Map<String, Value>| -> Members<'a> {
                    object
                        .iter()
                        .map(|(key, value)| (key.as_str(), value))
                        .collect()
                };
                self.members(path, &members(left), &members(right));
            }
            (Value::Array(left), Value::Array(right)) => match (named(left), named(right)) {
                (Some(left), Some(right)) => {
                    let orders = [order(&left, &right), order(&right, &left)];
                    if orders[0] != orders[1] {
                        let [expected, actual] = orders.map(Value::from);
                        let mut path = path.clone();
                        path.push(Step::Field("(order)"));
                        self.line(&path, Some(&expected), Some(&actual));
                    }
                    self.members(path, &left, &right);
                }
                _ => {
                    for index in 0..left.len().max(right.len()) {
                        path.push(Step::Element(index));
                        match (left.get(index), right.get(index)) {
                            (Some(left), Some(right)) => self.walk(path, left, right),
                            (left, right) => self.line(path, left, right),
                        }
                        path.pop();
                    }
                }
            },
            _ if expected == actual => {}
            _ => self.line(path, Some(expected), Some(actual)),
        }
    }

    /// Compares values by their names.
    fn members<'a>(&mut self, path: &mut Vec<Step<'a>>, left: &Members<'a>, right: &Members<'a>) {
        let of_left: HashSet<&str> = left.iter().map(|(name, _)| *name).collect();
        let of_right: HashMap<&str, &Value> = right.iter().copied().collect();
        for (name, value) in left {
            path.push(Step::Field(name));
            match of_right.get(name) {
                Some(other) => self.walk(path, value, other),
                None => self.line(path, Some(value), None),
            }
            path.pop();
        }
        for (name, value) in right.iter().filter(|(name, _)| !of_left.contains(name)) {
            path.push(Step::Field(name));
            self.line(path, None, Some(value));
            path.pop();
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
