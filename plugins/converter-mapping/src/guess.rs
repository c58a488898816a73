//! Reads an item without configured fields, by the usual names.
//!
//! An item is read through a few views: the item itself, the objects in it that are known
//! to hold a lead, and its lists of questions and answers. The view with a phone
//! or an e-mail address comes first. Objects that belong to other people (`client`, `user`,
//! `vendor`, ...) are never searched for a person.

use leadhost_sdk::{serde_json::Value, text_of};

use crate::body::json_in;
use crate::fold::fold;
use crate::heuristics::{
    is_email_name, is_others, is_phone_name, is_truth, looks_like_email, looks_like_phone,
};
use crate::names;
use crate::pairs;
use crate::record::Record;
use crate::view::{View, push};

pub struct Guess<'a> {
    views: Vec<View<'a>>,
    /// Whether the item has a field that only events have.
    pub looks_like_event: bool,
}

/// Maximum nesting of containers; real ones are three deep.
const MAX_DEPTH: usize = 5;
/// Maximum views of one item.
const MAX_VIEWS: usize = 16;

impl<'a> Guess<'a> {
    /// Reads the item, and adds its questions and answers to the record's.
    pub fn new(record: &mut Record<'a>) -> Self {
        let mut guess = Self {
            views: Vec::new(),
            looks_like_event: false,
        };
        let configured = record.pairs.len();
        guess.collect(record, record.item, "", 0);
        if let Some(person) = record.person {
            guess.collect(record, person, "", 1);
        }
        if let Some(root) = guess.views.first() {
            guess.looks_like_event = root
                .entries
                .iter()
                .any(|(name, _)| names::EVENTS.contains(&name.as_str()));
        }
        if record.pairs.len() > configured || configured > 0 {
            let mut entries = Vec::new();
            for pair in &record.pairs {
                if let Some(hint) = pair.hint {
                    entries.push((hint.to_owned(), pair.value));
                }
                let (name, label) = (fold(&pair.name), fold(&pair.label));
                if label != name {
                    entries.push((label, pair.value));
                }
                entries.push((name, pair.value));
            }
            guess.views.push(View {
                entries,
                questions: true,
                person: true,
                about: false,
                root: false,
            });
        }
        let best = guess.views.iter().position(View::has_contact);
        if let Some(best) = best {
            guess.views[..=best].rotate_right(1);
        }
        guess
    }

    fn collect(&mut self, record: &mut Record<'a>, value: &'a Value, name: &str, depth: usize) {
        let Value::Object(fields) = value else { return };
        if depth > MAX_DEPTH || self.views.len() >= MAX_VIEWS {
            return;
        }
        let entries: Vec<(String, &'a Value)> = fields
            .iter()
            .map(|(key, value)| (fold(key), value))
            .collect();
        let inner = entries.clone();
        self.views.push(View {
            entries,
            questions: names::QUESTIONS.contains(&name)
                || fields.keys().any(|key| key.contains('?')),
            person: names::PERSONS.contains(&name),
            about: name == "summary",
            root: depth == 0,
        });
        for (key, child) in inner {
            if !(child.is_object() || child.is_array()) {
                continue;
            }
            if names::PAIR_LISTS.contains(&key.as_str()) {
                let pairs = pairs::guessed(child, value);
                let known = record
                    .pairs
                    .iter()
                    .any(|pair| std::ptr::eq(pair.list, child));
                if !pairs.is_empty() && !known {
                    record.pairs.extend(pairs);
                }
                if known
                    || record
                        .pairs
                        .iter()
                        .any(|pair| std::ptr::eq(pair.list, child))
                {
                    continue;
                }
            }
            if names::CONTAINERS.contains(&key.as_str()) {
                let child = match child {
                    Value::Array(items) => items.first().unwrap_or(child),
                    other => other,
                };
                self.collect(record, child, &key, depth + 1);
            }
        }
    }

    /// Returns the value of the first of the names, view after view, that yields a text.
    fn first(&self, names: &[&str]) -> Option<(&'a Value, String)> {
        self.first_in(names, |_| true)
    }

    fn first_in(
        &self,
        names: &[&str],
        wanted: impl Fn(&View<'a>) -> bool,
    ) -> Option<(&'a Value, String)> {
        self.views
            .iter()
            .filter(|view| wanted(view))
            .find_map(|view| view.first(names))
    }

    fn take(&self, record: &mut Record<'a>, names: &[&str]) -> Option<String> {
        let (value, text) = self.first(names)?;
        record.mark(value);
        Some(text)
    }

    pub fn external_id(&self, record: &mut Record<'a>) -> Option<String> {
        let found = self
            .first_in(names::IDS, |view| !view.about)
            .or_else(|| {
                // Typeform's own word for the response.
                self.first_in(&["token"], |view| view.has("answers") && view.has("formid"))
            })
            .or_else(|| self.first_in(names::PLAIN_IDS, |view| !view.person))?;
        record.mark(found.0);
        Some(found.1)
    }

    /// Returns the name, and whether it was in the item itself.
    pub fn name(&self, record: &mut Record<'a>) -> Option<(String, bool)> {
        // Beside the answers of a form, `name` is the form's name; beside a contact's
        // phone it may be the person's.
        let apart = self.views.first().is_some_and(|best| {
            best.has_contact() && !best.root && (best.questions || !best.person)
        });
        for (index, view) in self.views.iter().enumerate() {
            let plain = !apart || index == 0 || view.questions || view.person;
            if let Some(name) = view.name(record, plain) {
                return Some((name, view.root));
            }
        }
        None
    }

    /// Returns all phones, likeliest first; one number in two spellings counts once.
    pub fn phones(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = Vec::new();
        for view in &self.views {
            view.phones(record, &mut out);
        }
        if out.is_empty() {
            for view in &self.views {
                view.likely(record, &mut out, is_phone_name, looks_like_phone);
            }
        }
        out
    }

    pub fn emails(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = Vec::new();
        for view in &self.views {
            view.texts(record, names::EMAILS, &mut out, looks_like_email);
        }
        if out.is_empty() {
            for view in &self.views {
                view.likely(record, &mut out, is_email_name, looks_like_email);
            }
        }
        if out.is_empty() {
            // An answer that is an address, whatever the question was.
            for view in self.views.iter().filter(|view| view.questions) {
                view.likely(record, &mut out, |name| !is_others(name), looks_like_email);
            }
        }
        if out.is_empty() {
            for view in &self.views {
                view.texts(record, names::LAST_EMAILS, &mut out, looks_like_email);
            }
        }
        out
    }

    pub fn message(&self, record: &mut Record<'a>) -> Option<String> {
        self.take(record, names::MESSAGES)
    }

    /// Returns the client's own reference first, then the portal's.
    pub fn listings(&self, record: &mut Record<'a>) -> Vec<(&'static str, String)> {
        let mut client: Vec<String> = Vec::new();
        let mut portal: Vec<String> = Vec::new();
        for view in &self.views {
            for (names, out) in [
                (names::CLIENT_LISTINGS, &mut client),
                (names::PORTAL_LISTINGS, &mut portal),
            ] {
                for name in names {
                    for value in view.values(name).filter(|value| !value.is_object()) {
                        if let Some(text) = text_of(value).filter(|text| json_in(text).is_none()) {
                            record.mark(value);
                            push(out, text);
                        }
                    }
                }
            }
            for object in names::LISTING_OBJECTS {
                for fields in view.values(object).filter_map(Value::as_object) {
                    let mut take = |names: &[&str], out: &mut Vec<String>| {
                        let named = |name: &&str| {
                            fields.iter().find(|(key, value)| {
                                fold(key) == **name && text_of(value).is_some()
                            })
                        };
                        if let Some((_, value)) = names.iter().find_map(named)
                            && let Some(text) = text_of(value)
                        {
                            record.mark(value);
                            push(out, text);
                        }
                    };
                    take(names::LISTING_REFERENCES, &mut client);
                    take(&["id", "listingid"], &mut portal);
                }
            }
        }
        portal.retain(|reference| !client.contains(reference));
        let client = client.into_iter().map(|reference| ("client", reference));
        client
            .chain(portal.into_iter().map(|reference| ("portal", reference)))
            .collect()
    }

    pub fn occurred_at(&self, record: &mut Record<'a>, month_first: bool) -> Option<String> {
        for view in &self.views {
            // Date and time of day in two fields.
            if let (Some((date, day)), Some((clock, hour))) =
                (view.first(names::DATES), view.first(names::HOURS))
                && hour.contains(':')
                && let Some(time) =
                    crate::time::read(&Value::String(format!("{day} {hour}")), &[], month_first)
            {
                record.mark(date);
                record.mark(clock);
                return Some(time);
            }
            for name in names::TIMES {
                for value in view.values(name) {
                    if let Some(time) = crate::time::read(value, &[], month_first) {
                        record.mark(value);
                        return Some(time);
                    }
                }
            }
        }
        None
    }

    pub fn source(&self, record: &mut Record<'a>) -> Option<String> {
        let (value, text) = self.first(names::SOURCES)?;
        // A longer text is not the name of a source.
        (text.chars().count() <= 200).then(|| record.mark(value))?;
        Some(text)
    }

    /// Returns whether the item says that it is a test; `None` if it does not say.
    pub fn is_test(&self, record: &mut Record<'a>) -> Option<bool> {
        let (value, text) = self.first(names::TESTS)?;
        record.mark(value);
        Some(is_truth(&text))
    }

    pub fn campaign(
        &self,
        record: &mut Record<'a>,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        for (name, keys) in names::CAMPAIGN {
            if wanted(name)
                && let Some(text) = self.take(record, keys)
            {
                out.push((*name, text));
            }
        }
        for (name, key) in [
            ("form-id", "id"),
            ("form-name", "name"),
            ("form-name", "title"),
        ] {
            if wanted(name)
                && let Some(value) = record.item.get("form").and_then(|form| form.get(key))
                && let Some(text) = text_of(value)
                && out.iter().all(|(taken, _)| *taken != name)
            {
                record.mark(value);
                out.push((name, text));
            }
        }
        out
    }
}
