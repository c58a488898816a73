//! Explanations of an item (`explain` of the configuration): which values were read for which field,
//! and which were read for none. They have paths and no values.

use leadhost_sdk::{
    is_absent,
    serde_json::{Value, json},
    text_of,
};

use crate::fold::fold;
use crate::heuristics::{is_unread_phone, looks_like_email};
use crate::record::Record;

/// What every note of an explanation begins with; JSON follows.
pub const MARK: &str = "explain: ";

/// Maximum items that are explained, and notes about them.
pub const MAX_ITEMS: usize = 5;
pub const MAX_NOTES: usize = 75;

/// Maximum paths in one note, and bytes of a path: a host cuts long notes.
const MAX_PATHS: usize = 8;
const MAX_PATH_BYTES: usize = 100;
/// Maximum paths of values that are read for no field.
const MAX_UNREAD: usize = 32;

/// Returns the explanation of an item of which the fields are read.
pub fn item(record: &Record<'_>) -> Vec<Value> {
    let mut told: Vec<Value> = Vec::new();
    let reads = record.reads();
    let mut fields: Vec<&str> = Vec::new();
    for read in reads {
        if !read.field.is_empty() && !fields.contains(&read.field) {
            fields.push(read.field);
        }
    }
    for field in fields {
        let of_field = reads.iter().filter(|read| read.field == field);
        let mut from: Vec<String> = Vec::new();
        let mut guessed = false;
        for read in of_field {
            guessed |= read.guessed;
            let path = path_to(record.item, read.value)
                .or_else(|| Some(format!("$.{}", path_to(record.root, read.value)?)));
            if let Some(path) = path.map(cut)
                && !from.contains(&path)
                && from.len() < MAX_PATHS
            {
                from.push(path);
            }
        }
        told.push(json!({"field": field, "from": from, "guessed": guessed}));
    }
    let mut unread = Unread::default();
    unread.collect(record, record.item, "", "");
    let contacts = unread.contacts.chunks(MAX_PATHS);
    told.extend(contacts.map(|paths| json!({"unreadContacts": paths})));
    let others = unread.others.chunks(MAX_PATHS);
    told.extend(others.map(|paths| json!({"unread": paths})));
    told
}

/// The paths of values that are read for no field.
#[derive(Default)]
struct Unread {
    /// Those that look like a phone or an e-mail address.
    contacts: Vec<String>,
    others: Vec<String>,
}

impl Unread {
    /// `name` is that of the value, or of the list that it is in.
    fn collect(&mut self, record: &Record<'_>, value: &Value, name: &str, path: &str) {
        let is_full = self.contacts.len() + self.others.len() >= MAX_UNREAD;
        if is_full || record.is_used(value) || is_absent(value) {
            return;
        }
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    self.collect(record, inner, name, &joined(path, &key(name)));
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    self.collect(record, inner, name, &format!("{path}[{index}]"));
                }
            }
            scalar => {
                let is_contact = text_of(scalar).is_some_and(|text| {
                    looks_like_email(&text) || is_unread_phone(&fold(name), &text)
                });
                match is_contact {
                    true => self.contacts.push(cut(path.to_owned())),
                    false => self.others.push(cut(path.to_owned())),
                }
            }
        }
    }
}

/// Returns the path from a value to one within it, as a configuration writes it. The parser bounds
/// the depth.
fn path_to(value: &Value, wanted: *const Value) -> Option<String> {
    if std::ptr::eq(value, wanted) {
        return Some(String::new());
    }
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, inner)| {
            let rest = path_to(inner, wanted)?;
            Some(joined(&key(name), &rest))
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, inner)| {
            let rest = path_to(inner, wanted)?;
            Some(joined(&format!("[{index}]"), &rest))
        }),
        _ => None,
    }
}

fn joined(path: &str, rest: &str) -> String {
    match path.is_empty() || rest.is_empty() || rest.starts_with('[') {
        true => format!("{path}{rest}"),
        false => format!("{path}.{rest}"),
    }
}

/// Returns a key as a path has it.
fn key(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name != "*"
        && name.trim() == name
        && !name.contains(['.', '[', ']', '"', '\\', '$']);
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn cut(mut path: String) -> String {
    if path.len() > MAX_PATH_BYTES {
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        path.push_str("...");
    }
    path
}
