//! Urlencoded bodies, with the bracket paths that form builders send.
//!
//! `a[b][0]=x` becomes `{"a":{"b":["x"]}}`, `a[]=x&a[]=y` and `a=x&a=y` become
//! `{"a":["x","y"]}`. A large index allocates nothing for the gap before it, and
//! nesting is bounded, so a hostile body costs no more than its length.

use std::collections::BTreeMap;

use percent_encoding::percent_decode;
use serde_json::{Map, Value};

use crate::reading;

/// Returns the decoded fields of an urlencoded text in order, including repeats. Each name and each
/// value that is not UTF-8 is read by itself as [`crate::content_text`] reads a body.
pub fn fields(body: &[u8]) -> Vec<(String, String)> {
    let pairs = body.split(|byte| *byte == b'&');
    pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let mut part = || decode(parts.next().unwrap_or_default());
            (part(), part())
        })
        .collect()
}

fn decode(text: &[u8]) -> String {
    let spaced: Vec<u8> = text
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    let bytes: Vec<u8> = percent_decode(&spaced).collect();
    reading::decode(&bytes).into_owned()
}

/// Returns an urlencoded text as a tree; see [`tree_of`].
pub fn tree(body: &[u8]) -> Value {
    tree_of(&fields(body))
}

/// Returns fields with bracket paths as a tree of objects, arrays and strings.
///
/// Keys that count from 0 without a gap make an array, other keys an object. If a
/// name has both a value and children, the value is under the empty key.
pub fn tree_of(fields: &[(String, String)]) -> Value {
    let mut root = Node::default();
    for (name, value) in fields {
        let mut node = &mut root;
        for step in steps(name) {
            let key = if step.is_empty() {
                // `a[]`: the first index that is free.
                node.next_index()
            } else {
                step.to_owned()
            };
            node = node.children.entry(key).or_default();
        }
        node.values.push(value.clone());
    }
    match root.into_value() {
        object @ Value::Object(_) => object,
        Value::Array(items) => Value::Object(
            items
                .into_iter()
                .enumerate()
                .map(|(index, item)| (index.to_string(), item))
                .collect(),
        ),
        _ => Value::Object(Map::new()),
    }
}

/// Brackets deeper than this stay part of the last key.
const MAX_DEPTH: usize = 16;

#[derive(Default)]
struct Node {
    values: Vec<String>,
    children: BTreeMap<String, Node>,
    appended: usize,
}

impl Node {
    fn next_index(&mut self) -> String {
        loop {
            let key = self.appended.to_string();
            self.appended += 1;
            if !self.children.contains_key(&key) {
                return key;
            }
        }
    }

    /// Recursive; the depth is bounded by [`MAX_DEPTH`].
    fn into_value(mut self) -> Value {
        if self.children.is_empty() {
            return match self.values.len() {
                0 => Value::Null,
                1 => Value::String(self.values.swap_remove(0)),
                _ => Value::Array(self.values.into_iter().map(Value::String).collect()),
            };
        }
        let length = self.children.len();
        let counts = self.values.is_empty()
            && (0..length).all(|index| self.children.contains_key(&index.to_string()));
        if counts {
            return Value::Array(
                (0..length)
                    .filter_map(|index| self.children.remove(&index.to_string()))
                    .map(Node::into_value)
                    .collect(),
            );
        }
        let mut object: Map<String, Value> = self
            .children
            .into_iter()
            .map(|(key, child)| (key, child.into_value()))
            .collect();
        if !self.values.is_empty() {
            let own = Node {
                values: self.values,
                ..Node::default()
            };
            object.insert(String::new(), own.into_value());
        }
        Value::Object(object)
    }
}

/// Splits a name: `a[b][]` is `a`, `b` and an empty step. A name with unclosed
/// brackets is one step.
fn steps(name: &str) -> Vec<&str> {
    let Some(open) = name.find('[').filter(|open| *open > 0) else {
        return vec![name];
    };
    let mut out = vec![&name[..open]];
    let mut rest = &name[open..];
    while let Some(inner) = rest.strip_prefix('[') {
        let Some(close) = inner.find(']') else {
            return vec![name];
        };
        if out.len() == MAX_DEPTH {
            out.push(rest);
            return out;
        }
        out.push(&inner[..close]);
        rest = &inner[close + 1..];
    }
    if rest.is_empty() { out } else { vec![name] }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: &str, expect: &Value) {
        assert_eq!(&tree(body.as_bytes()), expect, "{body}");
    }

    #[test]
    fn bracket_paths_make_a_tree() {
        check("", &json!({}));
        check("a=1&b=x+y%C3%A3", &json!({"a": "1", "b": "x yã"}));
        check("a=1&a=2", &json!({"a": ["1", "2"]}));
        check("a[]=1&a[]=2", &json!({"a": ["1", "2"]}));
        check(
            "f[tel][value]=1&f[tel][id]=t",
            &json!({"f": {"tel": {"value": "1", "id": "t"}}}),
        );
        check("a[0]=x&a[1]=y", &json!({"a": ["x", "y"]}));
        check("a[5]=x", &json!({"a": {"5": "x"}}));
        check("a[0][n]=x&a[0][v]=y", &json!({"a": [{"n": "x", "v": "y"}]}));
        check("a=1&a[b]=2", &json!({"a": {"": "1", "b": "2"}}));
        check("a=1&a[]=2", &json!({"a": {"": "1", "0": "2"}}));
        check("a[1]=x&a[]=y&a[]=z", &json!({"a": ["y", "x", "z"]}));
        check("a[7]=x&a[]=y", &json!({"a": {"0": "y", "7": "x"}}));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_read_by_themselves() {
        check(
            "nome=Jos%E9&rua=S%C3%A3o+%",
            &json!({"nome": "José", "rua": "São %"}),
        );
        let raw = b"cidade=S\xe3o+Jos%e9&%E9=1";
        assert_eq!(tree(raw), json!({"cidade": "São José", "é": "1"}));
        check(
            "nome=Jo%C3%A3o+D%e2%80%99%C3&recado=Quero%e2%80&obs=R%24+350+%96+%80",
            &json!({"nome": "João D’\u{fffd}", "recado": "Quero\u{fffd}", "obs": "R$ 350 – €"}),
        );
    }

    #[test]
    fn brackets_that_do_not_fit_stay_in_the_name() {
        check("[a]=1", &json!({"[a]": "1"}));
        check("a[b=1", &json!({"a[b": "1"}));
        check("a[b]c=1", &json!({"a[b]c": "1"}));
        check("0=x", &json!({"0": "x"}));
    }

    #[test]
    fn hostile_forms_cost_no_more_than_their_length() {
        check("a[4294967295]=x", &json!({"a": {"4294967295": "x"}}));
        let deep = format!("a{}=x", "[b]".repeat(50_000));
        assert!(tree(deep.as_bytes()).is_object());
        let body = "a[b][]=%C3%A3&a[b][]=%zz&=&[]=1&a[][c]=%ff&b]=2".as_bytes();
        for end in 0..body.len() {
            let _ = tree(&body[..end]);
            for value in [b'[', b']', b'=', b'&', b'%', 0xff] {
                let mut mutated = body.to_vec();
                mutated[end] = value;
                let _ = tree(&mutated);
            }
        }
    }
}
