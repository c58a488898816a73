//! The part of a value that becomes an attribute: without values used in the lead, without
//! people who are not the lead, and without credentials.

use std::collections::BTreeSet;

use leadhost_sdk::{is_absent, serde_json::Value, text_of};

use crate::body::json_in;
use crate::fold::fold;
use crate::guess::is_name;
use crate::heuristics::is_unread_phone;
use crate::people::{self, Identity};
use crate::{names, secrets};

/// Maximum nesting of JSON texts that are read.
const MAX_TEXTS: usize = 3;
/// Maximum places of people that are reported for one item.
const MAX_REPORTED: usize = 20;

pub struct Leftover<'a> {
    /// Addresses of values that are used in the lead.
    pub used: &'a BTreeSet<*const Value>,
    /// The lead's person.
    pub own: &'a Identity,
    /// Paths of people who are left out.
    pub left_out: Vec<String>,
    trail: Vec<String>,
    texts: usize,
}

/// Whether a text has two or more words, all of them but those between names with a capital.
fn is_written_as_name(text: &str) -> bool {
    const BETWEEN: [&str; 6] = ["da", "das", "de", "do", "dos", "e"];
    let words = text
        .split_whitespace()
        .filter(|word| !BETWEEN.contains(word));
    let is_one = |word: &str| {
        let is_letter = |c: char| c.is_alphabetic() || ".,-'’".contains(c);
        word.starts_with(char::is_uppercase) && word.chars().all(is_letter)
    };
    let words: Vec<&str> = words.take(MAX_NAME_WORDS + 1).collect();
    (2..=MAX_NAME_WORDS).contains(&words.len()) && words.into_iter().all(is_one)
}

/// Words of the longest name.
const MAX_NAME_WORDS: usize = 6;

enum Left {
    Whole,
    Part(Value),
    Nothing,
}

/// Returns the paths of people in an item, except those in the list: also in JSON texts, and
/// under names for other people.
pub fn people_in(item: &Value, list: &[Value]) -> Vec<String> {
    let used = list.iter().map(std::ptr::from_ref).collect();
    let own = Identity::default();
    let mut leftover = Leftover::new(&used, &own);
    for (name, value) in item.as_object().into_iter().flatten() {
        leftover.rest_of(name, value);
    }
    leftover.left_out
}

impl<'a> Leftover<'a> {
    /// `used` are the addresses of the values that are used in the lead, `own` is the lead's
    /// identity.
    pub fn new(used: &'a BTreeSet<*const Value>, own: &'a Identity) -> Self {
        Self {
            used,
            own,
            left_out: Vec::new(),
            trail: Vec::new(),
            texts: 0,
        }
    }

    /// Returns the rest of a value with this name; `None` if nothing is left.
    pub fn rest_of(&mut self, name: &str, value: &Value) -> Option<Value> {
        let left = self.member(name, value, false).into_value(value)?;
        (!is_absent(&left)).then_some(left)
    }

    fn member(&mut self, name: &str, value: &Value, in_business: bool) -> Left {
        // A namespace of XML says nothing about the lead.
        let is_markup = name.starts_with("@xmlns") || name.starts_with("@xsi:");
        if secrets::is_secret(name) || is_markup {
            return Left::Nothing;
        }
        self.trail.push(name.to_owned());
        let left = self.visit(name, value, in_business);
        self.trail.pop();
        left
    }

    /// Elements of a list count under the list's name.
    fn visit(&mut self, name: &str, value: &Value, in_business: bool) -> Left {
        if self.is_used(value) || secrets::is_named_secret(value) {
            return Left::Nothing;
        }
        match value {
            Value::Object(fields) => {
                let in_business = people::is_business(&fold(name), in_business);
                if !in_business && self.is_other_person(name, value) {
                    return self.leave_out();
                }
                let left = fields
                    .iter()
                    .map(|(name, value)| (name, value, self.member(name, value, in_business)));
                let left: Vec<_> = left.collect();
                if left.iter().all(|(.., left)| matches!(left, Left::Whole)) {
                    return Left::Whole;
                }
                let kept = left
                    .into_iter()
                    .filter_map(|(name, value, left)| Some((name.clone(), left.some_of(value)?)));
                Left::part(Value::Object(kept.collect()))
            }
            Value::Array(items) => {
                let is_business = || people::is_business(&fold(name), in_business);
                if self.is_other_person(name, value) && !is_business() {
                    return self.leave_out();
                }
                let left = items.iter().map(|item| {
                    let left = if self.is_other_person(name, item) {
                        self.leave_out()
                    } else {
                        self.visit(name, item, in_business)
                    };
                    (item, left)
                });
                let left: Vec<_> = left.collect();
                if left.iter().all(|(_, left)| matches!(left, Left::Whole)) {
                    return Left::Whole;
                }
                let kept = left
                    .into_iter()
                    .filter_map(|(item, left)| left.some_of(item));
                Left::part(Value::Array(kept.collect()))
            }
            _ if self.is_value_of_other(name, value) => self.leave_out(),
            Value::String(text) => self.text(name, text, in_business),
            _ => Left::Whole,
        }
    }

    /// Searches JSON in a text as if it were part of the body.
    fn text(&mut self, name: &str, text: &str, in_business: bool) -> Left {
        let Some(inner) = json_in(text) else {
            return secrets::masked(text).map_or(Left::Whole, |text| Left::Part(text.into()));
        };
        if self.texts == MAX_TEXTS {
            // The text is not read, so it may contain people.
            return self.leave_out();
        }
        self.texts += 1;
        let left = self.visit(name, &inner, in_business);
        self.texts -= 1;
        match left {
            Left::Part(inner) => Left::Part(inner.to_string().into()),
            left => left,
        }
    }

    /// Whether the value is a person other than the lead, with no part used in the
    /// lead.
    fn is_other_person(&self, name: &str, value: &Value) -> bool {
        people::is_other_than(self.own, name, value)
            && !self.is_used(value)
            && !self.has_used(value)
    }

    /// Whether a contact, a document or a name is under a name for another private person: `telefone_indicado`.
    fn is_value_of_other(&self, name: &str, value: &Value) -> bool {
        let mut around = self.trail.iter().map(|name| fold(name));
        let Some(text) = text_of(value).filter(|_| around.any(|name| people::is_private(&name)))
        else {
            return false;
        };
        let name = fold(name);
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let is_sign = |c: &char| c.is_ascii_digit() || " +-().".contains(*c);
        let number: String = text.chars().filter(is_sign).collect();
        let is_person = || has(names::DOCUMENTS) || is_name(&name) || is_written_as_name(&text);
        text.contains('@')
            || is_unread_phone(&name, &number)
            || (!has(names::OF_NO_PERSON) && !text.contains("://") && is_person())
    }

    fn is_used(&self, value: &Value) -> bool {
        self.used.contains(&std::ptr::from_ref(value))
    }

    fn has_used(&self, value: &Value) -> bool {
        let is_used = |value: &Value| self.is_used(value) || self.has_used(value);
        match value {
            Value::Object(fields) => fields.values().any(is_used),
            Value::Array(items) => items.iter().any(is_used),
            _ => false,
        }
    }

    fn leave_out(&mut self) -> Left {
        let path = people::readable_path(&self.trail);
        if self.left_out.len() < MAX_REPORTED && !self.left_out.contains(&path) {
            self.left_out.push(path);
        }
        Left::Nothing
    }
}

impl Left {
    fn part(value: Value) -> Self {
        if is_absent(&value) {
            Self::Nothing
        } else {
            Self::Part(value)
        }
    }

    fn into_value(self, value: &Value) -> Option<Value> {
        match self {
            Self::Whole => Some(value.clone()),
            Self::Part(left) => Some(left),
            Self::Nothing => None,
        }
    }

    /// Returns the rest of a value after parts were left out; `None` if nothing is left.
    fn some_of(self, value: &Value) -> Option<Value> {
        self.into_value(value).filter(|left| !is_absent(left))
    }
}
