//! Reads an item without configured fields, by the usual names.
//!
//! An item is read through a few views: the item itself, the objects in it that are known
//! to hold a lead, and its lists of questions and answers. The view with a phone
//! or an e-mail address comes first. If the phone or the address is in none of them, lists
//! of names and values under other names count too. Objects that belong to other people
//! (`client`, `user`, `vendor`, ...) are never searched for a person.

use std::collections::BTreeSet;

use leadhost_sdk::nothing::is_no_id;
use leadhost_sdk::{serde_json::Value, text_of, written_time};

use crate::body::json_in;
use crate::fold::fold;
use crate::heuristics::{
    is_email_name, is_fax, is_full_phone, is_name_question, is_others, is_plain_phone, is_truth,
    looks_like_email, looks_like_phone,
};
use crate::loose;
use crate::names;
use crate::pairs::{self, Pair};
use crate::people;
use crate::record::{FIRST_NAMES, LAST_NAMES, Record, is_zero_time, ticked};
use crate::view::{View, each, push, said, without_numbers};

pub struct Guess<'a> {
    views: Vec<View<'a>>,
    /// The objects that the views are made of.
    places: Vec<&'a Value>,
    /// Questions and answers in other places and shapes; only for what is not in the views.
    loose: Option<View<'a>>,
    /// Whether the views have a contact of their own.
    has_contact: bool,
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
            places: Vec::new(),
            loose: None,
            has_contact: false,
            looks_like_event: false,
        };
        let configured = record.pairs.len();
        guess.collect(record, record.item, "", 0);
        if let Some(person) = record.person {
            let known = record.pairs.len();
            guess.collect(record, person, "", 1);
            // The person in the answers is not the one who is named beside them.
            if !people::has_contact(person) && guess.is_other(&record.pairs[known..]) {
                record.pairs.truncate(known);
            }
        }
        if let Some(root) = guess.views.first() {
            guess.looks_like_event = root
                .entries
                .iter()
                .any(|(name, _)| names::EVENTS.contains(&name.as_str()));
        }
        if record.pairs.len() > configured || configured > 0 {
            let view = answers(&record.pairs, true);
            guess.views.push(view);
        }
        let best = guess.views.iter().position(View::has_contact);
        if let Some(best) = best {
            guess.views[..=best].rotate_right(1);
        }
        guess.collect_loose(record, configured);
        guess
    }

    /// Notes the values under usual names that are words for nothing, in place of the lead's.
    pub fn tell_nothings(&self, record: &mut Record<'a>) {
        for (name, value) in self.all().flat_map(|view| &view.entries) {
            let is_known = [FIRST_NAMES, LAST_NAMES].concat().contains(&name.as_str())
                || names::is_usual(name);
            for value in each(value).iter().filter(|_| is_known) {
                if text_of(value).is_some_and(|text| said(name, text).is_none()) {
                    record.tell_nothing(value);
                }
            }
        }
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
        let entries = without_numbers(entries);
        let questions =
            names::QUESTIONS.contains(&name) || fields.keys().any(|key| key.contains('?'));
        self.places.push(value);
        self.views.push(View {
            entries,
            questions,
            form: questions,
            person: names::PERSONS.contains(&name),
            about: name == "summary",
            root: depth == 0,
            lead: names::LEAD_WORDS.contains(&name),
            answer: depth > 0 && loose::is_pair(value),
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
            if names::is_container(&key) {
                let child = match child {
                    Value::Array(items) => items.first().unwrap_or(child),
                    other => other,
                };
                self.collect(record, child, &key, depth + 1);
            }
        }
    }

    /// Adds the lists of names and values in other places and shapes, if they have what is
    /// missing, a phone or an address, and no other person's name.
    fn collect_loose(&mut self, record: &mut Record<'a>, configured: usize) {
        let lists = self.missing_lists(record, configured);
        // The same contact may be in two lists. Two contacts may be two people.
        let mut contacts_seen = BTreeSet::new();
        let lists = lists.into_iter();
        let lists: Vec<_> = lists
            .filter(|list| contacts_seen.insert(list.contacts()))
            .collect();
        let count = |wanted: fn((bool, bool)) -> bool| {
            let having = lists.iter().filter(|list| wanted(list.kinds()));
            having.count()
        };
        if lists.is_empty() || count(|kinds| kinds.0) > 1 || count(|kinds| kinds.1) > 1 {
            return;
        }
        let is_answered = lists.iter().any(|list| list.is_answered);
        let pairs: Vec<Pair<'a>> = lists.into_iter().flat_map(|list| list.pairs).collect();
        // An event without a person's name is not about a person.
        let is_named = pairs
            .iter()
            .any(|pair| is_name(&pair.name) || is_name(&pair.label));
        let mut persons = self.views.iter().filter(|view| view.person);
        if self.looks_like_event && !is_named && persons.all(|view| name_in(view).is_none()) {
            return;
        }
        self.loose = Some(answers(&pairs, is_answered));
        // They replace pairs of the same values under names that say less.
        let values = pairs.iter().map(|pair| std::ptr::from_ref(pair.value));
        let values: BTreeSet<_> = values.collect();
        let mut index = 0;
        record.pairs.retain(|pair| {
            index += 1;
            index <= configured || !values.contains(&std::ptr::from_ref(pair.value))
        });
        record.pairs.extend(pairs);
    }

    /// Returns the lists with a phone or an address that the views do not have.
    fn missing_lists(
        &mut self,
        record: &mut Record<'a>,
        configured: usize,
    ) -> Vec<loose::List<'a>> {
        let (phone, email) = people::has_kinds(record.item);
        let has = |wanted: fn((bool, bool)) -> bool| {
            let mut pairs = record.pairs.iter();
            pairs.any(|pair| wanted(pair.kinds()))
        };
        if (phone || has(|kinds| kinds.0)) && (email || has(|kinds| kinds.1)) {
            return Vec::new();
        }
        // A list may be in two places: a member of one, and the next one itself.
        let configured = record.pairs[..configured].iter();
        let mut known: BTreeSet<_> = configured.map(|pair| pair.list).collect();
        let lists = self.places.iter().flat_map(|place| loose::beside(place));
        let lists = lists.filter(|list| {
            let first = list.pairs.first();
            first.is_some_and(|pair| known.insert(pair.list))
        });
        let mut lists: Vec<_> = lists.take(MAX_VIEWS).collect();
        if lists.is_empty() {
            return lists;
        }
        let (phones, emails) =
            record.unmarked(|record| (self.usual_phones(record), self.usual_emails(record)));
        let has_phone = phones.iter().any(|phone| looks_like_phone(phone));
        let has_email = emails.iter().any(|email| looks_like_email(email));
        self.has_contact = has_phone || has_email;
        lists.retain(|list| {
            let (phone, email) = list.kinds();
            (phone && !has_phone || email && !has_email)
                && (list.is_form || !self.has_contact)
                && !self.is_other(&list.pairs)
        });
        lists
    }

    /// Whether the item's own name is a deal's or a form's.
    fn hides_name(&self) -> bool {
        let root = self.views.iter().find(|view| view.root);
        self.loose.is_some()
            && !self.has_contact
            && root.is_some_and(|root| names::DEALS.iter().any(|name| root.has(name)))
    }

    /// Whether the pairs have another name than the people in the views. The item's own
    /// `name` may be a form's.
    fn is_other(&self, pairs: &[Pair<'a>]) -> bool {
        let Some(theirs) = name_in(&answers(pairs, true)) else {
            return false;
        };
        let views = self.views.iter().filter(|view| !view.answer);
        let names = views.filter_map(|view| {
            if view.root && !view.has_contact() {
                compared(view.first(names::FULL_NAMES))
            } else {
                name_in(view)
            }
        });
        let mut names = names.peekable();
        let is_same =
            |own: String| own.starts_with(theirs.as_str()) || theirs.starts_with(own.as_str());
        names.peek().is_some() && !names.any(is_same)
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
        self.all()
            .filter(|view| wanted(view))
            .find_map(|view| view.first(names))
    }

    fn all(&self) -> impl Iterator<Item = &View<'a>> {
        self.views.iter().chain(&self.loose)
    }

    fn take(&self, record: &mut Record<'a>, names: &[&str]) -> Option<String> {
        let (value, text) = self.first(names)?;
        record.mark(value);
        Some(text)
    }

    /// Returns the lead's id under a usual name.
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
        if let Some(loose) = self.loose.as_ref().filter(|_| !self.has_contact) {
            let persons = self.views.iter().filter(|view| view.person);
            let found = persons
                .chain([loose])
                .find_map(|view| view.name(record, true));
            if let Some(name) = found {
                return Some((name, false));
            }
        }
        // Beside the answers of a form, `name` is the form's name; beside a contact's
        // phone it may be the person's.
        let apart = self.views.first().is_some_and(|best| {
            best.has_contact() && !best.root && (best.questions || !best.person)
        });
        let hides_name = self.hides_name();
        for (index, view) in self.views.iter().enumerate() {
            let plain = !apart || index == 0 || view.questions || view.person;
            let plain = plain && !(view.root && hides_name);
            if let Some(name) = view.name(record, plain) {
                return Some((name, view.root));
            }
        }
        None
    }

    /// Returns a name that only a lead with a contact has.
    pub fn own_name(&self, record: &mut Record<'a>) -> Option<String> {
        self.all().find_map(|view| view.own_name(record))
    }

    /// Returns all phones, likeliest first; one number in two spellings counts once.
    pub fn phones(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = self.usual_phones(record);
        if !out.iter().any(|phone| looks_like_phone(phone))
            && let Some(view) = &self.loose
        {
            let known = out.len();
            view.phones(record, &mut out);
            if out.len() == known {
                view.likely_phones(record, &mut out);
            }
        }
        if out.is_empty() {
            for view in &self.views {
                view.members(record, &mut out, names::PHONES, looks_like_phone);
                view.split_phone(record, &mut out);
            }
        }
        if out.is_empty() {
            answered(self.all(), record, &mut out, is_full_phone);
        }
        if out.is_empty() && !self.looks_like_event {
            for view in &self.views {
                view.plain_contacts(record, &mut out, is_plain_phone);
            }
        }
        out
    }

    fn usual_phones(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = Vec::new();
        for view in &self.views {
            view.phones(record, &mut out);
        }
        if out.is_empty() {
            for view in &self.views {
                view.likely_phones(record, &mut out);
            }
        }
        out
    }

    /// Returns the e-mail addresses: those under usual names, otherwise those under similar
    /// names.
    pub fn emails(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = self.usual_emails(record);
        if out.is_empty()
            && let Some(view) = &self.loose
        {
            view.texts(record, names::EMAILS, &mut out, looks_like_email);
            view.likely(record, &mut out, is_email_name, true, looks_like_email);
            if out.is_empty() {
                answered(&self.loose, record, &mut out, looks_like_email);
            }
        }
        if out.is_empty() {
            for view in &self.views {
                view.members(record, &mut out, names::EMAILS, looks_like_email);
            }
        }
        if out.is_empty() && !self.looks_like_event {
            for view in &self.views {
                view.plain_contacts(record, &mut out, |_, text| looks_like_email(text));
            }
        }
        if out.is_empty() {
            for view in &self.views {
                view.texts(record, names::LAST_EMAILS, &mut out, looks_like_email);
            }
        }
        out
    }

    fn usual_emails(&self, record: &mut Record<'a>) -> Vec<String> {
        let mut out = Vec::new();
        for view in &self.views {
            view.texts(record, names::EMAILS, &mut out, looks_like_email);
        }
        if out.is_empty() {
            for view in &self.views {
                view.likely(record, &mut out, is_email_name, true, looks_like_email);
            }
        }
        if out.is_empty() {
            answered(&self.views, record, &mut out, looks_like_email);
        }
        out
    }

    /// Returns the lead's message under a usual name.
    pub fn message(&self, record: &mut Record<'a>) -> Option<String> {
        self.take(record, names::MESSAGES)
            .or_else(|| self.take(record, names::LAST_MESSAGES))
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
                    for value in view.values(name).flat_map(each) {
                        let text = text_of(value).filter(|text| json_in(text).is_none());
                        if let Some(text) = text.filter(|text| !is_no_id(text)) {
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
                                let text = text_of(value).filter(|text| !is_no_id(text));
                                fold(key) == **name && text.is_some()
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
                    take(&["id", "listingid", "exposeid"], &mut portal);
                }
            }
        }
        // Beside a person at the top, the thing is the one that the person asks for.
        let root = self.views.iter().find(|view| view.root);
        if client.is_empty()
            && !self.looks_like_event
            && self.views.iter().any(View::has_contact)
            && let Some((value, text)) = root.and_then(|root| root.first(&["itemid"]))
        {
            record.mark(value);
            push(&mut client, text);
        }
        portal.retain(|reference| !client.contains(reference));
        let client = client.into_iter().map(|reference| ("client", reference));
        client
            .chain(portal.into_iter().map(|reference| ("portal", reference)))
            .collect()
    }

    /// Returns the time of the lead as text. `month_first` decides how `03/04` is read.
    pub fn occurred_at(&self, record: &mut Record<'a>, month_first: bool) -> Option<String> {
        for view in &self.views {
            // Date and time of day in two fields.
            if let (Some((date, day)), Some((clock, hour))) =
                (view.first(names::DATES), view.first(names::HOURS))
                && hour.contains(':')
                && let Some(time) =
                    written_time::read(&Value::String(format!("{day} {hour}")), &[], month_first)
                && !is_zero_time(&time)
            {
                record.mark(date);
                record.mark(clock);
                return Some(time);
            }
            for name in names::TIMES {
                for value in view.values(name).flat_map(each) {
                    match written_time::read(value, &[], month_first) {
                        Some(time) if is_zero_time(&time) => record.tell_nothing(value),
                        Some(time) => {
                            record.mark(value);
                            return Some(time);
                        }
                        None => {}
                    }
                }
            }
        }
        None
    }

    /// Returns the name of the source, if it is short enough for one.
    pub fn source(&self, record: &mut Record<'a>) -> Option<String> {
        let (value, text) = self.first(names::SOURCES)?;
        // A longer text is not the name of a source.
        (text.chars().count() <= 200).then(|| record.mark(value))?;
        Some(text)
    }

    /// Returns whether the item says that it is a test; `None` if it does not say.
    pub fn is_test(&self, record: &mut Record<'a>) -> Option<bool> {
        let views = self.all();
        let mut values =
            views.flat_map(|view| names::TESTS.iter().flat_map(|name| view.values(name)));
        let (value, text) = values.find_map(|value| Some((value, ticked(value)?)))?;
        record.mark(value);
        Some(is_truth(&text))
    }

    /// Returns the fields of the campaign whose names are `wanted`, by the names that a host
    /// knows.
    pub fn campaign(
        &self,
        record: &mut Record<'a>,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        for (name, keys) in names::CAMPAIGN {
            record.reading_part(name);
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
                record.reading_part(name);
                record.mark(value);
                out.push((name, text));
            }
        }
        out
    }
}

/// Returns the view of questions and answers; `form` says whether they are a form's.
fn answers<'a>(pairs: &[Pair<'a>], form: bool) -> View<'a> {
    let mut entries = Vec::new();
    for pair in pairs {
        if let Some(hint) = pair.hint.filter(|_| !pair.is_fax()) {
            entries.push((hint.to_owned(), pair.value));
        }
        let (mut name, label) = (fold(&pair.name), fold(&pair.label));
        if is_fax(&label) {
            name.clone_from(&label);
        }
        if label != name {
            entries.push((label, pair.value));
        }
        entries.push((name, pair.value));
    }
    View {
        entries: without_numbers(entries),
        questions: true,
        form,
        person: true,
        about: false,
        root: false,
        lead: false,
        answer: false,
    }
}

/// Adds the answers that look like a contact, whatever the question was.
fn answered<'v, 'a: 'v>(
    views: impl IntoIterator<Item = &'v View<'a>>,
    record: &mut Record<'a>,
    out: &mut Vec<String>,
    fits: fn(&str) -> bool,
) {
    for view in views.into_iter().filter(|view| view.form) {
        view.likely(
            record,
            out,
            |name| !is_others(name) && !is_fax(name),
            false,
            fits,
        );
    }
}

/// Returns the name in a view, for comparison.
fn name_in(view: &View<'_>) -> Option<String> {
    let found = view.first(names::FULL_NAMES);
    compared(found.or_else(|| view.first(&FIRST_NAMES)))
}

fn compared(found: Option<(&Value, String)>) -> Option<String> {
    Some(fold(&found?.1)).filter(|name| !name.is_empty())
}

/// Whether a question asks for a name.
pub fn is_name(name: &str) -> bool {
    let folded = fold(name);
    let name = folded.as_str();
    names::FULL_NAMES.contains(&name) || FIRST_NAMES.contains(&name) || is_name_question(name)
}
