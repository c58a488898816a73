//! Explanations of an item (`explain` of the configuration): which values each field reads, and which
//! values no field reads. They have paths and no values. Phones and e-mail addresses that no field
//! reads are noted without `explain`, too.

use leadhost_sdk::nothing::is_nothing;
use leadhost_sdk::path::{joined, key};
use leadhost_sdk::{
    Lead, digits, is_absent,
    serde_json::{Value, json},
    text_of,
};

use crate::fold::fold;
use crate::heuristics::{is_others, is_unread_phone, looks_like_email, looks_like_phone};
use crate::record::Record;
use crate::{names, people};

/// What every note of an explanation begins with; JSON follows.
pub const MARK: &str = "explain: ";

/// Maximum items that are explained, and notes about them.
pub const MAX_ITEMS: usize = 5;
pub const MAX_NOTES: usize = 75;

/// Maximum paths in one note, and bytes of a path: a host cuts long notes.
const MAX_PATHS: usize = 8;
const MAX_PATH_BYTES: usize = 100;
/// Maximum paths of values that one field reads.
const MAX_READ: usize = 24;
/// Maximum paths of values that no field reads.
const MAX_UNREAD: usize = 32;

/// Returns the explanation of an item whose fields are read.
pub fn item(record: &Record<'_>) -> Vec<Value> {
    let mut explained: Vec<Value> = Vec::new();
    let reads = record.reads();
    let mut fields: Vec<&str> = Vec::new();
    for read in reads {
        if !read.field.is_empty() && !fields.contains(&read.field) {
            fields.push(read.field);
        }
    }
    for field in fields {
        let of_field = reads.iter().filter(|read| read.field == field);
        let mut from: Vec<(String, &str)> = Vec::new();
        let mut guessed = false;
        for read in of_field {
            guessed |= read.guessed;
            if let Some(path) = place_of(record, read.value)
                && !from.contains(&(path.clone(), &read.part))
                && from.len() < MAX_READ
            {
                from.push((path, &read.part));
            }
        }
        for from in from.chunks(MAX_PATHS) {
            let (paths, parts): (Vec<_>, Vec<_>) = from.iter().cloned().unzip();
            let mut note = json!({"field": field, "from": paths, "guessed": guessed});
            if parts.iter().any(|part| !part.is_empty()) {
                note["parts"] = json!(parts);
            }
            explained.push(note);
        }
    }
    let mut unread = Unread::default();
    unread.collect(record, record.item, "", "");
    let contacts = unread.contacts.chunks(MAX_PATHS);
    explained.extend(contacts.map(|paths| json!({"unreadContacts": paths})));
    let others = unread.others.chunks(MAX_PATHS);
    explained.extend(others.map(|paths| json!({"unread": paths})));
    explained
}

/// A configured field that found values which do not fit it.
pub struct Misfit {
    pub field: &'static str,
    /// The paths of such values, each once, and not of all.
    places: Vec<String>,
}

/// Returns the configured fields of an item that found values which do not fit them.
pub fn misfits(record: &Record<'_>) -> Vec<Misfit> {
    let misfits = record.misfits().iter().map(|(field, values)| {
        let mut misfit = Misfit {
            field,
            places: Vec::new(),
        };
        for value in values {
            misfit.add_place(place_of(record, *value));
        }
        misfit
    });
    misfits.collect()
}

impl Misfit {
    /// Adds the values of another item.
    pub fn add(&mut self, other: Self) {
        for place in other.places {
            self.add_place(Some(place));
        }
    }

    fn add_place(&mut self, place: Option<String>) {
        if let Some(place) = place
            && !self.places.contains(&place)
            && self.places.len() < MAX_PATHS
        {
            self.places.push(place);
        }
    }

    /// Returns the note about it.
    pub fn note(&self) -> String {
        let field = self.field;
        let why = match field {
            "phones" => {
                "it has at most three digits or is the mark of a test lead, and is not read"
            }
            "emails" => "it has no `@`, so it is no e-mail address, and is not read",
            "occurredAt" => {
                "it is not written as `format` says, or as times usually are, and is not read"
            }
            "isTest" => {
                "it is no word for yes (true, 1, yes, sim, test) or no (false, 0, no, não), and is not read"
            }
            "region" => "it is not a country code of two letters, and is not read",
            "action" => {
                "it is none of `create`, `update` and `delete`, and counts as `create`; `map` translates the source's words"
            }
            _ => "`trim` or `digits` leaves nothing of it, and it is not read",
        };
        let places: Vec<String> = self.places.iter().map(|path| format!("`{path}`")).collect();
        if places.is_empty() {
            format!("a value of `fields.{field}` does not fit: {why}")
        } else {
            format!(
                "a value of `fields.{field}` does not fit, at {}: {why}",
                places.join(", ")
            )
        }
    }
}

/// Returns some of the paths of words for nothing in place of values of the lead.
pub fn nothings(record: &Record<'_>) -> Vec<String> {
    let places = record.nothings().iter();
    places
        .take(MAX_PATHS)
        .filter_map(|value| place_of(record, *value))
        .collect()
}

/// Returns the path of a value, from the item or else from the body.
fn place_of(record: &Record<'_>, value: *const Value) -> Option<String> {
    let path =
        path_to(record.item, value).or_else(|| Some(format!("$.{}", path_to(record.root, value)?)));
    path.map(cut)
}

/// The paths of values that no field reads.
#[derive(Default)]
struct Unread {
    /// Those that look like a phone or an e-mail address.
    contacts: Vec<String>,
    others: Vec<String>,
}

impl Unread {
    /// `name` is the name of the value, or of its list.
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
                let is_contact =
                    text_of(scalar).is_some_and(|text| is_unread_contact(&fold(name), &text));
                if is_contact {
                    self.contacts.push(cut(path.to_owned()))
                } else {
                    self.others.push(cut(path.to_owned()))
                }
            }
        }
    }
}

/// Values of an item among which unread contacts are looked for: the item may be 4 MiB.
const MAX_LOOKED_AT: usize = 2_000;

/// Returns some of the paths whose values look like a phone or an e-mail address and that no field
/// reads, although they may be the lead's. Values of the advertiser, of other people and of things are
/// left out, and so are those that the lead has anyway. `noted`: the places of people that another note
/// has.
pub fn unread_contacts(record: &Record<'_>, lead: &Lead, noted: &[String]) -> Vec<String> {
    let mut paths = unread(record, Some(lead)).paths;
    paths.retain(|path| {
        let is_in = |place: &String| {
            let rest = path.strip_prefix(place.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !noted.iter().any(is_in)
    });
    paths
}

/// Returns such paths of an item that is no lead, also those under names for other people: one of
/// them may be the lead. And the paths of values under usual names of a phone or an address that are neither.
pub fn unread_without_lead(record: &Record<'_>) -> (Vec<String>, Vec<String>) {
    let found = unread(record, None);
    (found.paths, found.unreadable)
}

fn unread<'r, 'a>(record: &'r Record<'a>, lead: Option<&'r Lead>) -> UnreadContacts<'r, 'a> {
    let mut found = UnreadContacts {
        record,
        lead,
        left: MAX_LOOKED_AT,
        paths: Vec::new(),
        unreadable: Vec::new(),
    };
    found.collect(record.item, "", "", false);
    found
}

struct UnreadContacts<'r, 'a> {
    record: &'r Record<'a>,
    /// `None`: the item is no lead.
    lead: Option<&'r Lead>,
    left: usize,
    paths: Vec<String>,
    unreadable: Vec<String>,
}

impl UnreadContacts<'_, '_> {
    /// `name` is the folded name of the value, or of its list.
    fn collect(&mut self, value: &Value, name: &str, path: &str, in_business: bool) {
        let is_full = self.paths.len() == MAX_PATHS || self.left == 0;
        let is_anothers = self.lead.is_some() && is_others(name);
        if self.unreadable.len() < MAX_PATHS && is_unreadable(name, value) {
            self.unreadable.push(cut(path.to_owned()));
        }
        if is_full || self.record.is_used(value) || is_anothers {
            return;
        }
        self.left -= 1;
        match value {
            Value::Object(fields) => {
                let is_skipped = match self.lead {
                    Some(_) => people::is_business(name, in_business),
                    None => people::is_thing(name),
                };
                if is_skipped {
                    return;
                }
                for (name, inner) in fields {
                    self.collect(inner, &fold(name), &joined(path, &key(name)), in_business);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    self.collect(inner, name, &format!("{path}[{index}]"), in_business);
                }
            }
            scalar => {
                let is_contact = text_of(scalar)
                    .is_some_and(|text| is_unread_contact(name, &text) && !self.has(&text));
                if is_contact {
                    self.paths.push(cut(path.to_owned()));
                }
            }
        }
    }

    /// Whether the lead has this contact.
    fn has(&self, text: &str) -> bool {
        let number = digits(text);
        let is_same = |phone: &String| {
            let phone = digits(phone);
            !number.is_empty() && (phone.ends_with(&number) || number.ends_with(&phone))
        };
        let Some(lead) = self.lead else { return false };
        let mut emails = lead.emails.iter();
        emails.any(|email| email.trim().eq_ignore_ascii_case(text.trim()))
            || !looks_like_email(text) && lead.phones.iter().any(is_same)
    }
}

/// Whether a value looks like a phone or an address; under the name of an address one is noted that cannot be
/// read.
fn is_unread_contact(name: &str, text: &str) -> bool {
    let is_at = || text.contains('@') || text.contains("%40");
    let is_asked = || people::kinds(name).1 && is_at() && !is_nothing(text);
    looks_like_email(text) || is_unread_phone(name, text) || is_asked()
}

fn is_unreadable(name: &str, value: &Value) -> bool {
    let is_contact = names::PHONES.contains(&name) || names::EMAILS.contains(&name);
    is_contact
        && text_of(value).is_some_and(|text| {
            !is_nothing(&text) && !looks_like_email(&text) && !looks_like_phone(&text)
        })
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

fn cut(mut path: String) -> String {
    if path.len() > MAX_PATH_BYTES {
        path.truncate(path.floor_char_boundary(MAX_PATH_BYTES));
        path.push_str("...");
    }
    path
}
