//! Reading a tree by paths; see [`Path`] for how they are written. What is absent (null, a blank text, `{}`,
//! `[]`) is not there. The empty path is the value itself.
//!
//! # Panics
//!
//! A malformed path is a mistake of the plugin: the functions panic with its text and what is wrong.

use serde_json::Value;

use crate::path::Path;
use crate::values::written_number;
use crate::{is_absent, text_of};

/// Returns the first value that a path leads to.
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    found(value, path).into_iter().next()
}

/// Returns the first scalar that a path leads to, also within a list, as trimmed text; a number has the
/// digits that were sent.
pub fn text(value: &Value, path: &str) -> Option<String> {
    list(value, path).into_iter().find_map(element_text)
}

/// Returns all texts that a path leads to; a list is its elements.
pub fn texts(value: &Value, path: &str) -> Vec<String> {
    list(value, path)
        .into_iter()
        .filter_map(element_text)
        .collect()
}

/// Returns the first number that a path leads to, also one in a text, as people write it: `500.000` is five
/// hundred thousand, and `12,5` is twelve and a half.
pub fn number(value: &Value, path: &str) -> Option<f64> {
    let mut values = list(value, path).into_iter();
    values.find_map(|value| match value {
        Value::Number(number) => number.as_f64(),
        value => written_number(&element_text(value)?),
    })
}

/// Returns the values that a path leads to: the elements of a list, or what is there once.
pub fn list<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    match found(value, path).as_slice() {
        [Value::Array(items)] => items.iter().collect(),
        values => values.to_vec(),
    }
}

fn found<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    if path.is_empty() {
        return Vec::from_iter((!is_absent(value)).then_some(value));
    }
    match Path::parse(path) {
        Ok(path) => path.find(value, value),
        Err(wrong) => panic!("{wrong}"),
    }
}

/// Returns the text of a scalar, or of an element of XML with attributes.
fn element_text(value: &Value) -> Option<String> {
    text_of(value.get("#text").unwrap_or(value))
}
