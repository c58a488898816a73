//! Random inputs for tests of unforeseen cases. Such a test is named `fuzz_…`, is usually
//! in a module `fuzz` next to the code that it tests, and asserts what holds for every
//! input, not only that nothing panics.
//!
//! A test tries a fixed number of inputs, the same ones in every run.
//! `LEADHOST_FUZZ_SECONDS` gives each test a time instead, and `LEADHOST_FUZZ_SEED` other
//! inputs; `cargo xtask fuzz` sets both. A failing input is minimised before it is
//! reported.
//!
//! The inputs are whole bodies, templates, cursors and components with small changes, so
//! they pass the first check of a reader. No coverage-guided fuzzer selects them: libFuzzer
//! selects bytes, and proptest (1.12) takes too long to make such inputs from bytes as its
//! source of randomness.

mod chance;
mod growth;

use std::fmt::{self, Debug};
use std::ops::Deref;

pub use chance::holds;
pub use growth::grows_linearly;
pub use proptest;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::{Index, select};
use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value};

/// Bytes that are printed as text, with invalid characters escaped.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// One change to bytes, at a place that follows from their length.
#[derive(Clone, Debug)]
enum Edit {
    Put(Index, Vec<u8>),
    Change(Index, u8),
    TakeOut(Index, usize),
    Double(Index, usize),
    End(Index),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |index: &Index, bytes: &Vec<u8>| index.index(bytes.len() + 1);
        match self {
            Self::Put(at, more) => {
                let at = place(at, bytes);
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Change(at, to) => {
                let at = place(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *to;
                }
            }
            Self::TakeOut(at, count) => {
                let at = place(at, bytes);
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
            }
            Self::Double(at, count) => {
                let at = place(at, bytes);
                let end = (at + count).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            Self::End(at) => {
                let at = place(at, bytes);
                bytes.truncate(at);
            }
        }
    }
}

/// One of these seeds with a few changes; the words are tokens that the reader looks for.
pub fn damaged(
    seeds: impl IntoIterator<Item = impl Into<Vec<u8>>>,
    words: &[&str],
) -> BoxedStrategy<Bytes> {
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(Into::into).collect();
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let word = if words.is_empty() {
        vec(any::<u8>(), 1..9).boxed()
    } else {
        prop_oneof![3 => select(words), 1 => vec(any::<u8>(), 1..9)].boxed()
    };
    let edit = prop_oneof![
        3 => (any::<Index>(), word).prop_map(|(at, word)| Edit::Put(at, word)),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, to)| Edit::Change(at, to)),
        2 => (any::<Index>(), 1_usize..64).prop_map(|(at, count)| Edit::TakeOut(at, count)),
        1 => (any::<Index>(), 1_usize..64).prop_map(|(at, count)| Edit::Double(at, count)),
        1 => any::<Index>().prop_map(Edit::End),
    ];
    (select(seeds), vec(edit, 0..6))
        .prop_map(|(mut bytes, edits)| {
            edits.iter().for_each(|edit| edit.apply(&mut bytes));
            Bytes(bytes)
        })
        .boxed()
}

/// The same as text: invalid bytes are replaced.
pub fn damaged_text(
    seeds: impl IntoIterator<Item = impl Into<Vec<u8>>>,
    words: &[&str],
) -> BoxedStrategy<String> {
    damaged(seeds, words)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .boxed()
}

/// Texts as people, senders and attackers write them: empty, long, odd, or one of these.
pub fn text(words: &[&str]) -> BoxedStrategy<String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let odd = select(vec![
        "", " ", "\0", "é", "\u{feff}", "\u{202e}", "😀", "null", "0", "-1", "1e999", "{{1}}",
    ]);
    prop_oneof![
        4 => select([words, vec![String::new()]].concat()),
        2 => odd.prop_map(str::to_owned),
        2 => "\\PC{0,20}",
        1 => (select(vec!["x", "é", " "]), 0_usize..6_000)
            .prop_map(|(one, count)| one.repeat(count)),
    ]
    .boxed()
}

/// Any JSON value; its objects have some of these members, and its texts are often from
/// this list.
pub fn json(members: &[&str], texts: &[&str]) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::from),
        2 => (0_i64..4).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        5 => text(texts).prop_map(Value::String),
    ];
    let members: Vec<String> = members.iter().map(|&name| name.to_owned()).collect();
    leaf.prop_recursive(4, 60, 8, move |inner| {
        let object = vec((select(members.clone()), inner.clone()), 0..9);
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Value::Array),
            3 => object.prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
    .boxed()
}

/// One of these values, with some parts replaced by other values.
pub fn changed(seeds: Vec<Value>, by: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    (select(seeds), vec((any::<Index>(), by), 0..4))
        .prop_map(|(mut value, changes)| {
            for (place, by) in changes {
                let mut left = place.index(count(&value));
                put(&mut value, &mut left, &mut Some(by));
            }
            value
        })
        .boxed()
}

/// Counts the parts of a value, including itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces the part with this number by a value.
fn put(value: &mut Value, left: &mut usize, by: &mut Option<Value>) {
    if *left == 0 {
        if let Some(by) = by.take() {
            *value = by;
        }
        return;
    }
    *left -= 1;
    let parts: Vec<&mut Value> = match value {
        Value::Array(values) => values.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => Vec::new(),
    };
    for part in parts {
        if by.is_some() {
            put(part, left, by);
        }
    }
}

/// The places at which something is cut into pieces.
pub fn cuts() -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 0..8)
}

/// Returns the pieces; none is empty.
pub fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut begin = 0;
    let mut pieces = Vec::new();
    for end in ends {
        if end > begin {
            pieces.push(&bytes[begin..end]);
            begin = end;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// Otherwise a fuzz test would always pass.
    #[test]
    fn a_property_that_does_not_hold_is_found_and_minimised() {
        let message = catch_unwind(|| {
            holds(2_000, damaged(["abcabc"], &["needle"]), |bytes| {
                assert!(!bytes.windows(6).any(|part| part == b"needle"), "there");
            });
        });
        let message = message.expect_err("it is found");
        let message = message.downcast_ref::<String>().expect("words");
        assert!(
            message.contains("needle") && message.contains("seed"),
            "{message}"
        );
    }

    #[test]
    fn pieces_are_the_whole() {
        holds(
            500,
            (damaged(["some bytes"], &[]), cuts()),
            |(bytes, cuts)| {
                let pieces = pieces(bytes, cuts);
                assert!(pieces.iter().all(|piece| !piece.is_empty()));
                assert_eq!(pieces.concat(), bytes.0);
            },
        );
    }
}
