//! Other people in a lead's body: objects with a phone or an e-mail address of their own. As an
//! attribute of the lead, an erasure of theirs would not find them.

use std::borrow::Cow;
use std::collections::HashSet;

use leadhost_sdk::serde_json::Value;
use leadhost_sdk::{digits, is_absent, parse_json, text_of};

use crate::looks::{fold, is_business, looks_like_email, looks_like_phone};
use crate::names;
use crate::questions::{asks_for, is_question};

/// As deep as a body, and an attribute, may be.
const MAX_DEPTH: usize = 127;
/// Objects in a person that hold a part of it.
const MAX_PERSON_DEPTH: usize = 8;
/// Places that are noted, and the length of a path there.
const MAX_REPORTED: usize = 20;
const MAX_PATH: usize = 200;

/// What was not read of a form, without other people.
pub struct Rest<'a> {
    /// The addresses of the values that were read.
    pub read: &'a HashSet<*const Value>,
    /// Those of the lead.
    pub phones: &'a [String],
    pub emails: &'a [String],
    /// The places of other people.
    pub left_out: Vec<String>,
}

/// Where a value is.
struct Spot<'a> {
    name: &'a str,
    path: &'a str,
    in_business: bool,
    is_item: bool,
    depth: usize,
}

impl Rest<'_> {
    /// Returns what is left of a member of the form.
    pub fn of_member<'v>(&mut self, name: &str, value: &'v Value) -> Option<Cow<'v, Value>> {
        let path = below("", name);
        let spot = Spot {
            name,
            path: &path,
            in_business: false,
            is_item: false,
            depth: 1,
        };
        self.of(value, &spot).filter(|rest| !is_absent(rest))
    }

    /// Returns what is left of a value; borrowed if all of it is.
    fn of<'v>(&mut self, value: &'v Value, at: &Spot<'_>) -> Option<Cow<'v, Value>> {
        if self.read.contains(&std::ptr::from_ref(value)) {
            return None;
        }
        let is_group = value.is_object() || value.is_array();
        if is_group && at.depth > MAX_DEPTH {
            // Only in a text is anything as deep. It is not read, so there may be people in it.
            return self.leave_out(at.path);
        }
        match value {
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                let is_clean = parse_json(text).map_or(true, |inner| self.is_clean(&inner, at));
                is_clean.then_some(Cow::Borrowed(value))
            }
            Value::Object(fields) => {
                let in_business = is_business(&fold(at.name), at.in_business);
                if (at.is_item || !in_business) && self.is_other_person(at.name, value) {
                    return self.leave_out(at.path);
                }
                let rests = fields.iter().map(|(name, inner)| {
                    let path = below(at.path, name);
                    let spot = Spot {
                        name,
                        path: &path,
                        in_business,
                        is_item: false,
                        depth: at.depth + 1,
                    };
                    (name, self.of(inner, &spot))
                });
                let rests: Vec<_> = rests.collect();
                if rests.iter().all(|(_, rest)| is_whole(rest.as_ref())) {
                    return Some(Cow::Borrowed(value));
                }
                let given = rests.into_iter().filter_map(|(name, rest)| {
                    let rest = rest.filter(|rest| !is_absent(rest))?;
                    Some((name.clone(), rest.into_owned()))
                });
                Some(Cow::Owned(Value::Object(given.collect())))
            }
            Value::Array(items) => {
                let spot = Spot {
                    is_item: true,
                    depth: at.depth + 1,
                    ..*at
                };
                let rests: Vec<_> = items.iter().map(|item| self.of(item, &spot)).collect();
                if rests.iter().all(|rest| is_whole(rest.as_ref())) {
                    return Some(Cow::Borrowed(value));
                }
                let given = rests.into_iter().flatten().filter(|rest| !is_absent(rest));
                Some(Cow::Owned(given.map(Cow::into_owned).collect()))
            }
            _ => Some(Cow::Borrowed(value)),
        }
    }

    /// Whether the JSON of a text has no other people in it; else notes the place of the text.
    fn is_clean(&mut self, inner: &Value, at: &Spot<'_>) -> bool {
        let before = self.left_out.len();
        let spot = Spot {
            is_item: false,
            ..*at
        };
        let is_clean = is_whole(self.of(inner, &spot).as_ref());
        if !is_clean {
            self.left_out.truncate(before);
            self.leave_out(at.path);
        }
        is_clean
    }

    fn is_other_person(&self, name: &str, value: &Value) -> bool {
        let (mut phones, mut emails) = (Vec::new(), Vec::new());
        add_contacts(value, &mut phones, &mut emails, 0);
        let (has_phone, has_email) = (!phones.is_empty(), !emails.is_empty());
        // The phones of one person are objects with a phone as well.
        let is_person = match asks_for(&fold(name)) {
            (false, false) => has_phone || has_email,
            _ => has_phone && has_email,
        };
        if !is_person || is_question(value) || self.has_read(value) {
            return false;
        }
        let is_own_phone = |phone: &String| self.phones.iter().any(|own| is_same_phone(own, phone));
        let is_own_email = |email: &String| {
            let mut own = self.emails.iter();
            own.any(|own| own.to_lowercase() == *email)
        };
        !phones.iter().all(is_own_phone) || !emails.iter().all(is_own_email)
    }

    fn has_read(&self, value: &Value) -> bool {
        let is_inside = match value {
            Value::Object(fields) => fields.values().any(|inner| self.has_read(inner)),
            Value::Array(items) => items.iter().any(|inner| self.has_read(inner)),
            _ => false,
        };
        is_inside || self.read.contains(&std::ptr::from_ref(value))
    }

    fn leave_out<'v>(&mut self, path: &str) -> Option<Cow<'v, Value>> {
        if self.left_out.len() < MAX_REPORTED && !self.left_out.iter().any(|known| known == path) {
            self.left_out.push(path.to_owned());
        }
        None
    }
}

/// One number may come whole and in parts.
pub fn is_same_phone(one: &str, other: &str) -> bool {
    let (a, b) = (digits(one), digits(other));
    one == other || a.len().min(b.len()) >= 8 && (a.ends_with(&b) || b.ends_with(&a))
}

fn is_whole(rest: Option<&Cow<'_, Value>>) -> bool {
    matches!(rest, Some(Cow::Borrowed(_)))
}

/// Adds the phones and the e-mail addresses of an object, and of those in it that hold a part of a
/// person.
fn add_contacts(object: &Value, phones: &mut Vec<String>, emails: &mut Vec<String>, depth: usize) {
    for (key, inner) in object.as_object().into_iter().flatten() {
        let name = fold(key);
        let (is_phone, is_email) = asks_for(&name);
        let is_contact = is_phone || is_email;
        if !is_contact && !names::CONTAINERS.contains(&name.as_str()) {
            continue;
        }
        let nodes = match inner {
            Value::Array(items) if is_contact => items,
            one => std::slice::from_ref(one),
        };
        for node in nodes {
            let parts = node.as_object().into_iter().flatten();
            let parts = parts.filter(|(key, _)| {
                let name = fold(key);
                names::NUMBERS.contains(&name.as_str()) || name == "address"
            });
            let texts = parts.map(|(_, part)| part).chain([node]);
            for text in texts.filter_map(text_of) {
                if is_phone && looks_like_phone(&text) {
                    phones.push(text);
                } else if is_email && looks_like_email(&text) {
                    emails.push(text.to_lowercase());
                }
            }
            if depth < MAX_PERSON_DEPTH {
                add_contacts(node, phones, emails, depth + 1);
            }
        }
    }
}

/// Returns the path of a member; a hostile one is cut.
fn below(path: &str, name: &str) -> String {
    let dot = if path.is_empty() || name.is_empty() {
        ""
    } else {
        "."
    };
    let whole = format!("{path}{dot}{name}");
    if whole.len() > MAX_PATH {
        path.to_owned()
    } else {
        whole
    }
}
