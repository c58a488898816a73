//! Reads a form of unknown shape by the usual names of fields, as the mapping converter
//! does: in the form itself, in the objects in it that are known to hold a lead, and in its
//! lists of questions and answers. The place with a phone or an e-mail address comes first.
//! What is read is noted, so that all the rest can be kept.

use std::collections::HashSet;

use leadhost_sdk::serde_json::{Map, Value};
use leadhost_sdk::{
    Delivery, Lead, Problem, body_bytes, digits, form, is_absent, json, multipart, parse_json,
    text_of,
};

use crate::looks::{
    fold, is_email_name, is_full_phone, is_name_question, is_others, is_phone_name,
    looks_like_email, looks_like_name, looks_like_phone,
};
use crate::people::{Rest, is_same_phone};
use crate::questions::{self, free};
use crate::{names, time};

/// Real containers are three deep.
const MAX_DEPTH: usize = 5;
const MAX_PLACES: usize = 16;
/// The host takes no more phones or e-mail addresses of a lead; further ones stay attributes.
const MAX_CONTACTS: usize = 20;
/// Each code is compared with each phone.
const MAX_CODES: usize = 20;
/// A longer text is not the name of a source.
const MAX_SOURCE: usize = 200;
/// More lines than a person reads.
const MAX_NOTES: usize = 200;
/// What Meta sends as the values of a test lead begins with this.
const TEST_MARK: &str = "<test lead";

/// Returns the body as JSON values: of JSON, or of a form, urlencoded or in parts. A text in it that
/// is itself JSON, under a name such as `rawRequest` or `payload`, is what it contains.
pub fn body(delivery: &Delivery) -> Result<Value, Problem> {
    let mut body = parsed(delivery)?;
    // Form builders send the whole answer as JSON in one field, where no path leads into a text.
    // A text that is not JSON stays.
    for (name, value) in body.as_object_mut().into_iter().flatten() {
        if let Value::String(text) = value
            && text.trim_start().starts_with(['{', '['])
            && names::JSON_TEXTS.contains(&fold(name).as_str())
            && let Ok(inner) = parse_json(text)
        {
            *value = inner;
        }
    }
    Ok(body)
}

fn parsed(delivery: &Delivery) -> Result<Value, Problem> {
    let kind = delivery.content_type();
    if kind == "multipart/form-data" {
        let header = delivery.header("content-type").unwrap_or_default();
        let parts = multipart::parts(header, &delivery.body)?;
        // A file is kept by its name.
        let fields = parts.into_iter().map(|part| {
            let text = part.file_name.clone().unwrap_or_else(|| part.text());
            (part.name, text)
        });
        return Ok(form::tree_of(&fields.collect::<Vec<_>>()));
    }
    if kind == "application/x-www-form-urlencoded" {
        let bytes = body_bytes(&delivery.body);
        let text = bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(bytes)
            .trim_ascii();
        // Some senders label JSON as a form.
        if !text.starts_with(b"{") && !text.starts_with(b"[") {
            return Ok(form::tree(text));
        }
    }
    let refused = |_| Problem::new("the body is not valid JSON");
    delivery.json().map_err(refused)
}

/// Returns the forms of a body and their paths: of a list, of a list under `leads`, of the changes
/// that Meta sends, or one.
pub fn forms_in(body: &Value) -> Vec<(&Value, String)> {
    let changes = changes_in(body);
    if !changes.is_empty() {
        return changes;
    }
    let leads = body.get("leads").and_then(Value::as_array);
    let prefix = if leads.is_some() { "leads." } else { "" };
    match leads.or(body.as_array()) {
        Some(list) => {
            let forms = list.iter().enumerate();
            forms
                .map(|(index, form)| (form, format!("{prefix}{index}")))
                .collect()
        }
        None => vec![(body, String::new())],
    }
}

/// Returns the values of `entry[].changes[]`.
fn changes_in(body: &Value) -> Vec<(&Value, String)> {
    let mut out = Vec::new();
    for (of, entry) in listed(body, "entry") {
        for (index, change) in listed(entry, "changes") {
            let value = if change.is_object() {
                &change["value"]
            } else {
                change
            };
            out.push((value, format!("entry.{of}.changes.{index}.value")));
        }
    }
    out
}

/// Returns the items of a list in an object, with their indexes.
fn listed<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten().enumerate()
}

/// A text, and the value that it is.
type Found<'a> = (&'a Value, String);

pub struct Fields<'a> {
    form: &'a Value,
    places: Vec<Place<'a>>,
    /// The addresses of the values that were read.
    read: HashSet<*const Value>,
    /// The contacts of the lead.
    phones: Vec<String>,
    emails: Vec<String>,
    /// Whether the name may be an event's, or says nothing without a phone or an e-mail address.
    is_name_unsure: bool,
}

impl<'a> Fields<'a> {
    pub fn new(form: &'a Value) -> Self {
        let (mut places, mut read) = (Vec::new(), HashSet::new());
        collect(&mut places, &mut read, form, "", 0);
        if let Some(best) = places.iter().position(Place::has_contact) {
            places[..=best].rotate_right(1);
        }
        Self {
            form,
            places,
            read,
            phones: Vec::new(),
            emails: Vec::new(),
            is_name_unsure: false,
        }
    }

    /// Returns the text at the first of these paths: `take(&["deal.ref", "phones[0]"])`.
    #[allow(dead_code)]
    pub fn take(&mut self, paths: &[&str]) -> Option<String> {
        let form = self.form;
        let mut values = paths.iter().filter_map(|path| json::at(form, path));
        let found = values.find_map(|value| Some((value, text_of(value)?)));
        self.note(found)
    }

    pub fn external_id(&mut self) -> Option<String> {
        let is_lead = |place: &Place<'_>| !place.is_person && !place.is_of_fields;
        let found = self.text(names::IDS, |place| !place.is_about);
        let found = found.or_else(|| self.places.iter().find_map(Place::response_id));
        let found = found.or_else(|| self.text(names::PLAIN_IDS, is_lead));
        self.note(found)
    }

    /// Returns whether the lead is a test: a field says so, or a value is Meta's for a test lead.
    pub fn is_test(&mut self) -> bool {
        let found = self.text(names::TESTS, |_| true);
        let said = fold(&self.note(found).unwrap_or_default());
        names::YES.contains(&said.as_str()) || self.places.iter().any(Place::has_test_mark)
    }

    /// Whether what was read is a lead, which the mapping converter asks in the same way: it has a
    /// phone or an e-mail address, or an id and a form's answers, or a name with an id, a message
    /// or a listing.
    pub fn is_lead(&self, lead: &Lead) -> bool {
        let has_id = lead.external_id.is_some();
        let is_answered = has_id && self.places.iter().any(Place::has_answers);
        let is_named = lead.name.is_some() && !self.is_name_unsure;
        let has_more = has_id || lead.message.is_some() || !lead.listings.is_empty();
        let has_contact = !lead.phones.is_empty() || !lead.emails.is_empty();
        has_contact || is_answered || is_named && has_more
    }

    /// Returns the name, joined if it came in two parts.
    pub fn name(&mut self) -> Option<String> {
        let best = &self.places[0];
        // Beside a contact's object, or the answers of a form, `name` may be that of a form.
        let is_other = best.has_questions || !best.is_person;
        let is_apart = best.has_contact() && !best.is_form && is_other;
        let mut places = self.places.iter().enumerate();
        let found = places.find_map(|(index, place)| {
            let is_plain = !is_apart || index == 0 || place.is_person || place.has_questions;
            Some((place.name(is_plain)?, place.is_form && place.is_event()))
        });
        let of_lead = || self.places.iter().find_map(Place::name_of_lead);
        let (parts, is_unsure) = found.or_else(|| Some((of_lead()?, true)))?;
        self.is_name_unsure = is_unsure;
        let texts: Vec<String> = parts
            .into_iter()
            .filter_map(|part| self.note(Some(part)))
            .collect();
        match texts.as_slice() {
            [first, last] if first.to_lowercase().ends_with(&last.to_lowercase()) => {
                Some(first.clone())
            }
            texts => Some(texts.join(" ")),
        }
    }

    /// Returns all phones, likeliest first, with the area code that is beside them.
    pub fn phones(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        let read = &mut self.read;
        for place in &self.places {
            // A switch such as `whatsapp: 1` is no phone.
            let is_number = |text: &str| digits(text).len() >= 4;
            place.phones(place.named_fields(names::PHONES), is_number, read, &mut out);
        }
        if out.is_empty() {
            for place in &self.places {
                place.phones(
                    place.likely(is_phone_name),
                    looks_like_phone,
                    read,
                    &mut out,
                );
                if place.text(names::BARE_AREA_CODES).is_some() {
                    let numbers = place.named_fields(names::BARE_NUMBERS);
                    place.phones(numbers, looks_like_phone, read, &mut out);
                }
            }
        }
        if out.is_empty() {
            for place in self.places.iter().filter(|place| place.has_questions) {
                place.phones(place.likely(is_own), is_full_phone, read, &mut out);
            }
        }
        self.phones.clone_from(&out);
        out
    }

    pub fn emails(&mut self) -> Vec<String> {
        let places = self.places.iter();
        let mut found = emails_in(places.flat_map(|place| place.named(names::EMAILS)));
        if found.is_empty() {
            let places = self.places.iter();
            let likely = places.flat_map(|place| place.likely(is_email_name));
            found = emails_in(likely.map(|(_, value)| value));
        }
        if found.is_empty() {
            let places = self.places.iter().filter(|place| place.has_questions);
            let answers = places.flat_map(|place| place.likely(is_own));
            found = emails_in(answers.map(|(_, value)| value));
        }
        let mut out = Vec::new();
        for found in found {
            self.push(&mut out, Some(found));
        }
        self.emails.clone_from(&out);
        out
    }

    pub fn message(&mut self) -> Option<String> {
        let found = self.text(names::MESSAGES, |_| true);
        self.note(found)
    }

    /// Returns the client's own references of listings first, then the portal's, with the
    /// kind of each.
    pub fn listings(&mut self) -> Vec<(&'static str, String)> {
        let (mut client, mut portal) = (Vec::new(), Vec::new());
        for index in 0..self.places.len() {
            let place = &self.places[index];
            let mut of_client: Vec<_> = place.named(names::CLIENT_LISTINGS).collect();
            let mut of_portal: Vec<_> = place.named(names::PORTAL_LISTINGS).collect();
            for listing in place
                .named(names::LISTING_OBJECTS)
                .filter(|value| value.is_object())
            {
                let listing = Place::new(listing);
                of_client.extend(listing.named(names::LISTING_REFERENCES).next());
                of_portal.extend(listing.named(names::LISTING_IDS).next());
            }
            for value in of_client {
                self.push(&mut client, scalar(value));
            }
            for value in of_portal {
                self.push(&mut portal, scalar(value));
            }
        }
        portal.retain(|reference| !client.contains(reference));
        let client = client.into_iter().map(|reference| ("client", reference));
        client
            .chain(portal.into_iter().map(|reference| ("portal", reference)))
            .collect()
    }

    /// Returns the time of the lead: of one field, or of a date and a time of day.
    pub fn occurred_at(&mut self) -> Option<String> {
        for place in &self.places {
            if let (Some((day, date)), Some((hour, clock))) =
                (place.text(names::DATES), place.text(names::HOURS))
                && clock.contains(':')
                && let Some(time) = time::read(&format!("{date} {clock}"))
            {
                self.read
                    .extend([std::ptr::from_ref(day), std::ptr::from_ref(hour)]);
                return Some(time);
            }
            let mut found = place.named(names::TIMES).filter_map(scalar);
            if let Some((value, time)) =
                found.find_map(|(value, text)| Some((value, time::read(&text)?)))
            {
                self.read.insert(value);
                return Some(time);
            }
        }
        None
    }

    /// Returns where the lead came from.
    pub fn source(&mut self) -> Option<String> {
        let found = self.text(names::SOURCES, |_| true);
        self.note(found.filter(|(_, text)| text.chars().count() <= MAX_SOURCE))
    }

    /// Returns the fields of the campaign, by the names that the host knows.
    pub fn campaign(&mut self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (name, usual) in names::CAMPAIGN {
            let found = self.text(usual, |_| true);
            out.extend(self.note(found).map(|text| ((*name).to_owned(), text)));
        }
        out
    }

    /// Returns what was not read so far, by name: call it last. Other people are left out, and a
    /// note says where they are: an erasure would not find them in an attribute.
    pub fn rest(&self, notes: &mut Vec<String>) -> Vec<(String, Value)> {
        let mut left = Rest {
            read: &self.read,
            phones: &self.phones,
            emails: &self.emails,
            left_out: Vec::new(),
        };
        let mut rest = Map::new();
        for (name, value) in self.form.as_object().into_iter().flatten() {
            if let Some(value) = left.of_member(name, value) {
                rest.insert(name.clone(), value.into_owned());
            }
        }
        for (question, answer) in self.places.iter().flat_map(|place| &place.asked) {
            if let Some(answer) = left.of_member(question, answer) {
                let name = free(question, |name| rest.contains_key(name));
                rest.insert(name, answer.into_owned());
            }
        }
        left.left_out.sort();
        for path in left.left_out {
            let note = format!(
                "the people under `{path}` are not kept with the lead; the raw delivery has them"
            );
            // The leads of a list are often alike.
            if notes.len() < MAX_NOTES && !notes.contains(&note) {
                notes.push(note);
            }
        }
        rest.into_iter().collect()
    }

    fn text(&self, names: &[&str], is_wanted: fn(&Place<'_>) -> bool) -> Option<Found<'a>> {
        let mut places = self.places.iter().filter(|place| is_wanted(place));
        places.find_map(|place| place.text(names))
    }

    fn note(&mut self, found: Option<Found<'a>>) -> Option<String> {
        let (value, text) = found?;
        self.read.insert(value);
        Some(text)
    }

    fn push(&mut self, out: &mut Vec<String>, found: Option<Found<'a>>) {
        let found = found.filter(|_| out.len() < MAX_CONTACTS);
        out.extend(self.note(found).filter(|text| !out.contains(text)));
    }
}

/// An object that may hold fields of the lead.
struct Place<'a> {
    /// Folded names and values, in order of the object's own names.
    fields: Vec<(String, &'a Value)>,
    /// Whether its id is a person's.
    is_person: bool,
    /// Whether its id is a single field's.
    is_of_fields: bool,
    /// Whether it describes where the lead comes from.
    is_about: bool,
    /// Whether the names are the questions of a form.
    has_questions: bool,
    is_form: bool,
    /// Questions and their answers, if the fields are made of them.
    asked: Vec<(String, &'a Value)>,
}

fn collect<'a>(
    places: &mut Vec<Place<'a>>,
    read: &mut HashSet<*const Value>,
    object: &'a Value,
    name: &str,
    depth: usize,
) {
    if !object.is_object() || depth > MAX_DEPTH || places.len() >= MAX_PLACES {
        return;
    }
    let mut keys = object.as_object().into_iter().flatten();
    let place = Place {
        is_about: name == "summary",
        has_questions: names::QUESTION_GROUPS.contains(&name)
            || keys.any(|(key, _)| key.contains('?')),
        is_person: names::PERSONS.contains(&name),
        is_of_fields: names::FIELD_GROUPS.contains(&name),
        is_form: depth == 0,
        ..Place::new(object)
    };
    let inner = place.fields.clone();
    places.push(place);
    for (name, value) in inner {
        let asked = questions::read(&name, value, object);
        if let Some(asked) = asked.filter(|_| places.len() < MAX_PLACES) {
            let fields = asked.iter().map(|(name, value)| (fold(name), *value));
            places.push(Place {
                fields: fields.collect(),
                is_person: true,
                is_of_fields: false,
                is_about: false,
                has_questions: true,
                is_form: false,
                asked,
            });
            // The answers take the place of the list or the object.
            read.insert(value);
        } else if names::CONTAINERS.contains(&name.as_str()) {
            collect(places, read, only(value), &name, depth + 1);
        }
    }
}

impl<'a> Place<'a> {
    fn new(object: &'a Value) -> Self {
        let fields = object.as_object().into_iter().flatten();
        let fields = fields.map(|(key, value)| (fold(key), value)).collect();
        Self {
            fields,
            is_person: false,
            is_of_fields: false,
            is_about: false,
            has_questions: false,
            is_form: false,
            asked: Vec::new(),
        }
    }

    fn named<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'a Value> + 's {
        self.named_fields(names).map(|(_, value)| value)
    }

    fn named_fields<'s>(
        &'s self,
        names: &'s [&str],
    ) -> impl Iterator<Item = (&'s str, &'a Value)> + 's {
        names.iter().flat_map(move |name| {
            let fields = self.fields.iter().filter(move |(own, _)| own == name);
            fields
                .map(|(own, value)| (own.as_str(), *value))
                .filter(|(_, value)| !is_absent(value))
        })
    }

    fn likely(&self, is_name: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &'a Value)> {
        let fields = self.fields.iter().filter(move |(name, _)| is_name(name));
        fields.map(|(name, value)| (name.as_str(), *value))
    }

    /// Returns the code of the phone under a name: `ddd_celular` of `celular`, `ddd2` of
    /// `telefone2`, then `contactDDD` of `contactPhone`, then one without the name of a phone.
    fn code(&self, phone: &str, names: &[&str]) -> Option<Found<'a>> {
        let phone = stem(phone);
        let codes = names.iter().flat_map(|code| {
            self.fields.iter().filter_map(move |(name, value)| {
                let rest = name.strip_prefix(code).or_else(|| name.strip_suffix(code));
                let rest = rest.filter(|rest| !rest.is_empty())?;
                let found = scalar(value).filter(|(_, text)| is_code(text))?;
                Some((rest, found))
            })
        });
        let codes: Vec<_> = codes.take(MAX_CODES).collect();
        let own = codes.iter().find(|(rest, _)| {
            let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
            stem(rest) == phone || is_number && phone.ends_with(rest)
        });
        let own = own.or_else(|| codes.iter().find(|(rest, _)| is_of_owner(phone, rest)));
        own.map(|(_, found)| found.clone())
            .or_else(|| self.text(names))
    }

    fn text(&self, names: &[&str]) -> Option<Found<'a>> {
        self.named(names).find_map(scalar)
    }

    /// Whether an object has nothing but the parts of a phone.
    fn is_phone_only(&self) -> bool {
        let parts = [
            names::PHONES,
            names::NUMBERS,
            names::AREA_CODES,
            names::PHONE_AREAS,
            names::COUNTRY_CODES,
            names::PHONE_DETAILS,
        ];
        let mut names = self.fields.iter().map(|(name, _)| name.as_str());
        names.all(|name| parts.iter().any(|list| list.contains(&name)))
    }

    fn has_contact(&self) -> bool {
        let mut named = self.named(names::PHONES).chain(self.named(names::EMAILS));
        let mut asked = self.asked.iter();
        let mut answers = self.likely(|name| self.has_questions && is_own(name));
        named.next().is_some()
            || asked.any(|(name, value)| questions::is_contact(name, value))
            || answers
                .any(|(_, value)| scalar(value).is_some_and(|(_, text)| looks_like_email(&text)))
    }

    fn has_answers(&self) -> bool {
        self.asked.iter().any(|(_, answer)| !answer.is_object())
    }

    fn has_test_mark(&self) -> bool {
        let mut texts = self.fields.iter().filter_map(|(_, value)| scalar(value));
        texts.any(|(_, text)| text.starts_with(TEST_MARK))
    }

    fn is_event(&self) -> bool {
        let mut names = self.fields.iter().map(|(name, _)| name.as_str());
        names.any(|name| names::EVENTS.contains(&name))
    }

    /// Returns Typeform's own id of a response.
    fn response_id(&self) -> Option<Found<'a>> {
        let has = |name| self.named(&[name]).next().is_some();
        let is_response = has("formid") && has("answers");
        is_response.then(|| self.text(&["token"])).flatten()
    }

    /// Returns the name in one piece, or its first and its last part; `is_plain` says whether
    /// `name` itself counts here.
    fn name(&self, is_plain: bool) -> Option<Vec<Found<'a>>> {
        if let Some(full) = self.text(names::FULL_NAMES) {
            return Some(vec![full]);
        }
        let (first, last) = (self.text(names::FIRST_NAMES), self.text(names::LAST_NAMES));
        if first.is_some() && last.is_some() {
            return Some(first.into_iter().chain(last).collect());
        }
        if !is_plain {
            return None;
        }
        for name in names::NAMES {
            for value in self.named(&[*name]) {
                let inner = only(value);
                if inner.is_object()
                    && !names::CONTAINERS.contains(name)
                    && let Some(parts) = Place::new(inner).name(true)
                {
                    return Some(parts);
                }
                if let Some(found) = scalar(value).filter(|(_, text)| looks_like_name(text)) {
                    return Some(vec![found]);
                }
            }
        }
        let asks = |name: &str| self.has_questions && is_name_question(name);
        let mut asked = self.likely(asks).filter_map(|(_, value)| scalar(value));
        let whole = asked.find(|(_, text)| looks_like_name(text));
        whole.or(first).or(last).map(|part| vec![part])
    }

    /// Returns a name whose key says whose it is: `buyer_name`, `nomeDoComprador`.
    fn name_of_lead(&self) -> Option<Vec<Found<'a>>> {
        let of = |words: &[&str]| {
            let named = self.likely(|name| words.iter().any(|word| is_of_lead(name, word)));
            let mut found = named.filter_map(|(_, value)| scalar(value));
            found.find(|(_, text)| looks_like_name(text))
        };
        if let Some(full) = of(names::NAME_WORDS) {
            return Some(vec![full]);
        }
        let parts = [of(names::FIRST_NAME_WORDS), of(names::LAST_NAME_WORDS)];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then_some(parts)
    }

    fn phones<'s>(
        &'s self,
        fields: impl Iterator<Item = (&'s str, &'a Value)>,
        fits: fn(&str) -> bool,
        read: &mut HashSet<*const Value>,
        out: &mut Vec<String>,
    ) {
        let nodes =
            fields.flat_map(|(name, value)| nodes(value).iter().map(move |node| (name, node)));
        for (name, node) in nodes {
            let inner = node.is_object().then(|| Place::new(node));
            let found = match &inner {
                Some(inner) => inner.text(names::NUMBERS),
                None => scalar(node),
            };
            let found = found.map(|(value, text)| (value, whole_number(value).unwrap_or(text)));
            let found = found.filter(|(_, text)| fits(text) && out.len() < MAX_CONTACTS);
            let Some((value, text)) = found else {
                continue;
            };
            read.insert(value);
            let code = |names| {
                let own = inner.as_ref().and_then(|inner| inner.text(names));
                own.or_else(|| self.code(name, names))
            };
            let phone_only = inner.as_ref().filter(|inner| inner.is_phone_only());
            let area = phone_only.and_then(|inner| inner.text(names::PHONE_AREAS));
            let phone = with_codes(
                text,
                area.or_else(|| code(names::AREA_CODES)),
                code(names::COUNTRY_CODES),
                read,
            );
            if !out.iter().any(|known| is_same_phone(known, &phone)) {
                out.push(phone);
            }
        }
    }
}

fn emails_in<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Found<'a>> {
    let found = values.flat_map(nodes).filter_map(|node| match node {
        Value::Object(_) => {
            let inner = Place::new(node);
            inner
                .text(names::EMAILS)
                .or_else(|| inner.text(&["value", "address"]))
        }
        node => scalar(node),
    });
    found.filter(|(_, text)| looks_like_email(text)).collect()
}

/// Returns the only element of a list, and all else as it is.
fn only(value: &Value) -> &Value {
    match value.as_array().map(Vec::as_slice) {
        Some([one]) => one,
        _ => value,
    }
}

fn nodes(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// Returns the text of a value, also of a list of one and of `{"value": "…"}`. JSON is no text.
fn scalar(value: &Value) -> Option<Found<'_>> {
    let one = only(value);
    let value = if one.is_object() {
        one.get("value")?
    } else {
        one
    };
    let is_json = |text: &String| text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
    let text = text_of(value).filter(|text| !is_json(text))?;
    Some((value, text))
}

/// Returns the digits of a whole number, also of one with a fraction or an exponent, as programs
/// write large numbers: of 1.1987654321e+10.
fn whole_number(value: &Value) -> Option<String> {
    let text = value.as_number()?.to_string();
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let point = before.len().checked_add(exponent.parse().ok()?)?;
    let digits = format!("{before}{after}");
    if point > 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{digits:0<point$}");
    let (whole, rest) = digits.split_at(point);
    let is_whole = rest.bytes().all(|byte| byte == b'0');
    is_whole.then(|| whole.trim_start_matches('0').to_owned())
}

/// Adds the codes that are beside a phone, if it has none itself.
fn with_codes(
    phone: String,
    area: Option<Found<'_>>,
    country: Option<Found<'_>>,
    read: &mut HashSet<*const Value>,
) -> String {
    let number = digits(&phone);
    if phone.starts_with('+') || number.len() > 11 {
        return phone;
    }
    let code = |found: Option<Found<'_>>| {
        let (value, text) = found.filter(|(_, text)| is_code(text))?;
        Some((std::ptr::from_ref(value), digits(&text)))
    };
    let mut out = phone;
    if let Some((value, text)) = code(area)
        && let code = text.trim_start_matches('0')
        && (1..=4).contains(&code.len())
        && number.len() < 10
    {
        read.insert(value);
        out = format!("({code}) {out}");
    }
    if let Some((value, code)) = code(country)
        && (1..=3).contains(&code.len())
    {
        read.insert(value);
        // A number of North America may have its country code already.
        let has_code = code == "1" && number.len() == 11 && number.starts_with('1');
        out = if has_code {
            format!("+{out}")
        } else {
            format!("+{code} {out}")
        };
    }
    out
}

fn is_code(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || "+() ".contains(c);
    (1..=4).contains(&digits(text).trim_start_matches('0').len()) && text.chars().all(is_part)
}

/// Returns the name of a phone without the words around it, as its code has it.
fn stem(name: &str) -> &str {
    let mut stem = name;
    for word in ["numerode", "numerodo", "numero", "number"] {
        stem = stem.strip_prefix(word).unwrap_or(stem);
    }
    for word in ["numero", "number"] {
        stem = stem.strip_suffix(word).unwrap_or(stem);
    }
    stem
}

/// Whether a phone's name is that of its owner with a usual name of a phone.
fn is_of_owner(phone: &str, owner: &str) -> bool {
    let rests = [phone.strip_prefix(owner), phone.strip_suffix(owner)];
    let mut rests = rests.into_iter().flatten();
    rests.any(|rest| names::PHONES.contains(&stem(rest)))
}

fn is_own(name: &str) -> bool {
    !is_others(name)
}

/// Whether a name is a word of a name with one for the lead.
fn is_of_lead(name: &str, word: &str) -> bool {
    let is_lead = |person: &str| names::LEAD_WORDS.contains(&person);
    let after = name.strip_prefix(word);
    let mut of = ["", "do", "da", "de", "del"].into_iter();
    name.strip_suffix(word).is_some_and(is_lead)
        || after.is_some_and(|after| of.any(|of| after.strip_prefix(of).is_some_and(is_lead)))
}
