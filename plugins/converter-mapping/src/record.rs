//! One item while it is read: finds the values of paths, and records which values are
//! used in the lead, so that all others become attributes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use leadhost_sdk::nothing::{is_no_id, is_nothing, name_in, part_of_name};
use leadhost_sdk::path::{Path, Step, get, walk};
use leadhost_sdk::values::{is_test_mark, whole_number};
use leadhost_sdk::written_time;
use leadhost_sdk::{Delivery, digits, join, serde_json::Value, text_of};

use crate::config::{Condition, Field, Source, is_same};
use crate::fold::fold;
use crate::heuristics::{is_falsehood, is_truth};
use crate::kind::rank;
use crate::leftover::Leftover;
use crate::pairs::Pair;
use crate::people::Identity;
use crate::secrets;
use crate::view::{in_country_of, phone_in_full};

pub struct Record<'a> {
    pub item: &'a Value,
    pub root: &'a Value,
    pub delivery: &'a Delivery,
    /// The object in the item that is the person, if its name does not say so.
    pub person: Option<&'a Value>,
    pub pairs: Vec<Pair<'a>>,
    /// Addresses of values that are used in the lead.
    used: BTreeSet<*const Value>,
    /// The same values with the fields that they were read for, in order.
    reads: Vec<ReadValue>,
    /// The field that is being read, and whether it is guessed.
    field: (&'static str, bool),
    /// The name under the field, if it has several.
    part: String,
    /// Configured fields that got no value.
    empty: Vec<String>,
    /// Configured fields that found a value of another kind, with such values.
    misfits: Vec<(&'static str, Vec<*const Value>)>,
    /// Values that are words for nothing, in place of a value of the lead.
    nothings: Vec<*const Value>,
}

/// A value that was read for a field.
pub struct ReadValue {
    pub field: &'static str,
    /// Whether it was found under a usual name, not by the configuration.
    pub guessed: bool,
    /// The field of `campaign`, the purpose of `consents`; empty for other fields.
    pub part: String,
    pub value: *const Value,
}

/// A text, and the source that it came from.
pub struct FoundText<'c> {
    pub text: String,
    pub source: &'c Source,
    /// The first of its values.
    value: Option<*const Value>,
}

/// A text as the source writes it, and the addresses of its values.
struct Raw {
    text: String,
    from: Vec<*const Value>,
}

impl<'a> Record<'a> {
    /// Returns an item whose values are all unused.
    pub fn new(item: &'a Value, body: &'a Value, delivery: &'a Delivery) -> Self {
        Self {
            item,
            root: body,
            delivery,
            person: None,
            pairs: Vec::new(),
            used: BTreeSet::new(),
            reads: Vec::new(),
            field: ("", false),
            part: String::new(),
            empty: Vec::new(),
            misfits: Vec::new(),
            nothings: Vec::new(),
        }
    }

    /// Returns the values that are words for nothing, templates that were not filled, or the time zero.
    pub fn nothings(&self) -> &[*const Value] {
        &self.nothings
    }

    /// Notes a value that is such a word in place of one of the lead.
    pub fn tell_nothing(&mut self, value: *const Value) {
        if !self.nothings.contains(&value) {
            self.nothings.push(value);
        }
    }

    /// Names the field for which values are read from here on. `configured`: whether the
    /// configuration says where it is.
    pub fn reading(&mut self, field: &'static str, configured: bool) {
        self.field = (field, !configured);
        self.part.clear();
    }

    /// Returns the configured fields that got no value.
    pub fn empty(&self) -> &[String] {
        &self.empty
    }

    /// Returns the configured fields for which a value was found that does not fit them, with such values.
    /// One that is not of the body is not among them.
    pub fn misfits(&self) -> &[(&'static str, Vec<*const Value>)] {
        &self.misfits
    }

    /// Names the value of `campaign` or `consents` that is read from here on.
    pub fn reading_part(&mut self, name: &str) {
        name.clone_into(&mut self.part);
    }

    /// Returns the values that were read so far, field by field.
    pub fn reads(&self) -> &[ReadValue] {
        &self.reads
    }

    /// Marks a value as used in the lead.
    pub fn mark(&mut self, value: &Value) {
        self.mark_at(value);
    }

    fn mark_at(&mut self, value: *const Value) {
        let (field, guessed) = self.field;
        self.reads.push(ReadValue {
            field,
            guessed,
            part: self.part.clone(),
            value,
        });
        self.used.insert(value);
    }

    /// Returns what is read, without marking it as used.
    pub fn unmarked<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let (used, reads) = (self.used.clone(), self.reads.len());
        let found = read(self);
        self.used = used;
        self.reads.truncate(reads);
        found
    }

    /// Whether the value is marked as used; values within it do not count.
    pub fn is_used(&self, value: &Value) -> bool {
        self.used.contains(&std::ptr::from_ref(value))
    }

    /// Whether the condition holds.
    pub fn meets(&self, condition: &Condition) -> bool {
        let found = self.find(&condition.path);
        let among = |values: &[Value]| {
            let is_wanted = |value: &Value| values.iter().any(|wanted| is_same(wanted, value));
            found.iter().any(|value| is_wanted(value))
        };
        condition.equals.as_deref().is_none_or(among)
            && !condition.not_equals.as_deref().is_some_and(among)
            && condition
                .exists
                .is_none_or(|exists| exists != found.is_empty())
    }

    /// Returns the first text of a field.
    pub fn first(&mut self, field: &Field) -> Option<String> {
        self.read(field, false, text_of_node, |_, _| true)
            .into_iter()
            .next()
            .map(|found| found.text)
    }

    /// Returns the first name of a field; it may be an object or list of a name's parts.
    pub fn first_name(&mut self, field: &Field) -> Option<String> {
        self.read(field, false, name_text, |_, _| true)
            .into_iter()
            .next()
            .map(|found| found.text)
    }

    /// Returns all texts of a field, best first.
    pub fn all<'c>(&mut self, field: &'c Field) -> Vec<FoundText<'c>> {
        self.read(field, true, text_of_node, |_, _| true)
    }

    /// Returns the phones of a field, best first. A text with at most three digits, such as an
    /// area code alone, is no phone.
    /// A path that ends at the number has the country beside it.
    /// Of one path the kinds of the phones decide, unless it chooses one itself.
    pub fn phones(&mut self, field: &Field) -> Vec<String> {
        let fits = |text: &str| digits(text).len() > 3 && !is_test_mark(text);
        let text = |node: &Value, around: Option<&Value>| {
            let text = phone_in_full(node)?;
            Some(around.map_or_else(|| text.clone(), |around| in_country_of(&text, around)))
        };
        self.contacts(field, text, fits)
    }

    fn contacts(
        &mut self,
        field: &Field,
        text: impl Fn(&Value, Option<&Value>) -> Option<String>,
        fits: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let beside = self.around(field);
        let paths = || field.0.iter().flat_map(|source| &source.paths);
        let is_chosen = paths().any(|path| {
            path.steps
                .iter()
                .any(|step| matches!(step, Step::Where(..)))
        });
        let ranks = RefCell::new(BTreeMap::new());
        let text = |node: &Value| {
            let around = beside.get(&std::ptr::from_ref(node)).copied();
            // What stands beside a value of the item itself is not the phone's.
            let kinds = around.filter(|object| !std::ptr::eq(*object, self.item));
            let rank = rank(kinds.unwrap_or(node)).or(is_chosen.then_some(u8::MAX))?;
            ranks.borrow_mut().insert(std::ptr::from_ref(node), rank);
            text(node, around)
        };
        let mut found = self.read(field, true, text, |_, text| fits(text));
        // The order of the sources is the configured one.
        found.sort_by_key(|found| {
            let source = field
                .0
                .iter()
                .position(|source| std::ptr::eq(source, found.source));
            let rank = found
                .value
                .and_then(|value| ranks.borrow().get(&value).copied());
            (source, rank.filter(|_| !is_chosen))
        });
        found.into_iter().map(|found| found.text).collect()
    }

    /// Returns the objects whose member a path of the field ends at, by the address of the member.
    fn around(&self, field: &Field) -> BTreeMap<*const Value, &'a Value> {
        let paths = field.0.iter().flat_map(|source| &source.paths);
        let mut around = BTreeMap::new();
        for (path, key) in paths.filter_map(Path::parent) {
            for object in self.find(&path) {
                let member = object.as_object().and_then(|fields| get(fields, key));
                around.extend(member.map(|member| (std::ptr::from_ref(member), object)));
            }
        }
        around
    }

    /// Returns the e-mail addresses of a field, best first. A text without `@` is none.
    pub fn emails(&mut self, field: &Field) -> Vec<String> {
        let fits = |text: &str| text.contains('@') && !is_test_mark(text);
        self.contacts(field, |node, _| text_of_node(node), fits)
    }

    /// Returns whether a value of the item is one that Meta sends for a test lead.
    pub fn has_test_mark(&self) -> bool {
        let mut left = MAX_LOOKED_AT;
        has_test_mark(self.item, &mut left)
    }

    /// Returns whether the first text of a field that is a word for yes or no means yes.
    pub fn truth(&mut self, field: &Field) -> Option<bool> {
        let fits = |_: &Source, text: &str| is_truth(text) || is_falsehood(text);
        let found = self.read(field, false, ticked, fits);
        found.first().map(|found| is_truth(&found.text))
    }

    /// Returns whether the first text of a field means yes.
    pub fn is_granted(&mut self, field: &Field) -> Option<bool> {
        let found = self.read(field, false, ticked, |_, _| true);
        found.first().map(|found| is_truth(&found.text))
    }

    /// Returns the first text of a field in small letters. `known`: the words that are expected.
    pub fn word(&mut self, field: &Field, known: &[&str]) -> Option<String> {
        let word = self.first(field)?.trim().to_lowercase();
        if !known.contains(&word.as_str()) {
            let (field, _) = self.field;
            let of_field = self.reads.iter().filter(|read| read.field == field);
            let from = of_field.map(|read| read.value).collect();
            self.tell_misfit(from);
        }
        Some(word)
    }

    /// Returns the first country code of a field, in capitals.
    pub fn region(&mut self, field: &Field) -> Option<String> {
        let fits = |_: &Source, text: &str| {
            let text = text.trim();
            text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        let found = self.read(field, false, text_of_node, fits);
        found
            .first()
            .map(|found| found.text.trim().to_ascii_uppercase())
    }

    /// Returns the first readable time of a field.
    pub fn time(&mut self, field: &Field, month_first: bool) -> Option<String> {
        let time = |source: &Source, text: &str| {
            let text = Value::String(text.to_owned());
            written_time::read(&text, &source.format, month_first)
                .filter(|time| !is_zero_time(time))
        };
        let fits = |source: &Source, text: &str| time(source, text).is_some();
        let text = |node: &Value| text_of_node(node).or_else(|| written_time::text(node));
        let found = self.read(field, true, text, fits);
        found
            .first()
            .and_then(|found| time(found.source, &found.text))
    }

    /// Returns the texts of a field that fit it. The value of one that does not fit stays unused, so
    /// that it becomes an attribute.
    fn read<'c>(
        &mut self,
        field: &'c Field,
        all: bool,
        text: impl Fn(&Value) -> Option<String> + Copy,
        fits: impl Fn(&Source, &str) -> bool,
    ) -> Vec<FoundText<'c>> {
        let mut out: Vec<FoundText<'c>> = Vec::new();
        for source in &field.0 {
            for raw in self.raw(source, all, text) {
                let text = transform(source, &raw.text);
                if text
                    .as_deref()
                    .is_some_and(|text| self.is_nothing(&text[source.prefix.len()..]))
                {
                    raw.from
                        .into_iter()
                        .for_each(|value| self.tell_nothing(value));
                    continue;
                }
                let is_lost = text.is_none() && !source.empties(&raw.text);
                if is_lost || text.as_deref().is_some_and(|text| !fits(source, text)) {
                    self.tell_misfit(raw.from);
                    continue;
                }
                let value = raw.from.first().copied();
                raw.from.into_iter().for_each(|value| self.mark_at(value));
                if let Some(text) = text
                    && (all || out.is_empty())
                    && !out.iter().any(|found| found.text == text)
                {
                    out.push(FoundText {
                        text,
                        source,
                        value,
                    });
                }
            }
            if !all && !out.is_empty() {
                return out;
            }
        }
        if out.is_empty() && !field.0.is_empty() {
            self.tell_empty();
        }
        out
    }

    /// Whether a text of the field is a word for nothing.
    fn is_nothing(&self, text: &str) -> bool {
        match self.field.0 {
            "externalId" | "listings" => is_no_id(text),
            "name" => name_in(text).is_none(),
            _ => is_nothing(text),
        }
    }

    fn tell_empty(&mut self) {
        let (field, guessed) = self.field;
        if !guessed {
            let dot = if self.part.is_empty() { "" } else { "." };
            self.empty.push(format!("fields.{field}{dot}{}", self.part));
        }
    }

    fn tell_misfit(&mut self, from: Vec<*const Value>) {
        let (field, guessed) = self.field;
        if guessed {
            return;
        }
        match self.misfits.iter_mut().find(|(known, _)| *known == field) {
            Some((_, known)) => known.extend(from),
            None => self.misfits.push((field, from)),
        }
    }

    fn raw(
        &self,
        source: &Source,
        all: bool,
        text: impl Fn(&Value) -> Option<String> + Copy,
    ) -> Vec<Raw> {
        let mut out = Vec::new();
        for path in &source.paths {
            for value in self.find(path) {
                out.extend(texts(value, text));
            }
            if !all && !out.is_empty() {
                return out;
            }
        }
        if !source.join.is_empty() {
            let (mut parts, mut from) = (Vec::new(), Vec::new());
            for path in &source.join {
                for value in self.find(path).into_iter().take(1) {
                    let mut texts = texts(value, text);
                    texts.retain(|raw| part_of_name(&raw.text).is_some());
                    from.extend(texts.iter().flat_map(|raw| raw.from.iter().copied()));
                    parts.extend(texts.into_iter().next().map(|raw| raw.text));
                }
            }
            if !parts.is_empty() {
                let text = parts.join(source.between.as_deref().unwrap_or(" "));
                out.push(Raw { text, from });
            }
        }
        let header = source
            .header
            .as_deref()
            .and_then(|name| self.delivery.header(name));
        let query = source
            .query
            .as_deref()
            .and_then(|name| self.delivery.query_field(name));
        let given = [header, query, source.constant.as_deref()];
        out.extend(given.into_iter().flatten().map(|text| Raw {
            text: text.to_owned(),
            from: Vec::new(),
        }));
        out
    }

    /// Returns the values of a path, in the item or else among its pairs.
    pub fn find(&self, path: &Path) -> Vec<&'a Value> {
        let found = path.find(self.item, self.root);
        if !found.is_empty() || path.is_from_root() {
            return found;
        }
        let Some((Step::Key(name), rest)) = path.steps.split_first() else {
            return found;
        };
        let exact = |pair: &&Pair<'a>| pair.name == *name || pair.label == *name;
        let alike = |pair: &&Pair<'a>| {
            pair.name.eq_ignore_ascii_case(name) || pair.label.eq_ignore_ascii_case(name)
        };
        let pair = self
            .pairs
            .iter()
            .find(exact)
            .or_else(|| self.pairs.iter().find(alike));
        let mut out = Vec::new();
        if let Some(pair) = pair {
            walk(pair.value, rest, &mut out);
        }
        out
    }

    /// Returns the values that are not used in the lead of this person, under their own names:
    /// of the pairs, of the item, and small values of the envelope around it. Also returns the
    /// places of other people, who are left out.
    pub fn rest(&mut self, own: &Identity) -> (Vec<(String, Value)>, Vec<String>) {
        let mut out: Vec<(String, Value)> = Vec::new();
        let pairs = std::mem::take(&mut self.pairs);
        let lists = pairs.iter().filter(|pair| pair.whole).map(|pair| pair.list);
        self.used.extend(lists);
        let mut leftover = Leftover::new(&self.used, own);
        for pair in pairs {
            let value = single(pair.value);
            if !self.is_used(pair.value)
                && !secrets::is_secret(&pair.name)
                && let Some(value) = leftover.rest_of(&pair.label, value)
            {
                add(&mut out, &pair.label, value);
            }
        }
        if let Value::Object(fields) = self.item {
            for (name, value) in fields {
                if let Some(value) = leftover.rest_of(name, value) {
                    add(&mut out, name, value);
                }
            }
        }
        if let Value::Object(envelope) = self.root
            && !std::ptr::eq(self.item, self.root)
        {
            for (name, value) in envelope {
                if is_small(value)
                    && !contains(value, self.item)
                    && let Some(value) = leftover.rest_of(name, value)
                    && out.iter().all(|(taken, _)| taken != name)
                {
                    out.push((name.clone(), value));
                }
            }
        }
        (out, leftover.left_out)
    }
}

/// Returns the texts of a value: a scalar's own, or one per list element.
fn texts(value: &Value, text: impl Fn(&Value) -> Option<String>) -> Vec<Raw> {
    let raw = |value: &Value| {
        text(value).map(|text| Raw {
            text,
            from: vec![std::ptr::from_ref(value)],
        })
    };
    match (raw(value), value) {
        (Some(own), _) => vec![own],
        (None, Value::Array(items)) => items.iter().filter_map(raw).collect(),
        (None, _) => Vec::new(),
    }
}

/// Adds an attribute; a repeated name gets a list of its values.
fn add(out: &mut Vec<(String, Value)>, name: &str, value: Value) {
    let Some((_, taken)) = out.iter_mut().find(|(taken, _)| taken == name) else {
        out.push((name.to_owned(), value));
        return;
    };
    if let Value::Array(values) = taken {
        values.push(value);
    } else {
        let first = taken.take();
        *taken = Value::Array(vec![first, value]);
    }
}

/// Returns the element of a list with one element.
fn single(value: &Value) -> &Value {
    match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    }
}

/// Whether the value contains the item. Does not search inside the item.
fn contains(value: &Value, item: &Value) -> bool {
    std::ptr::eq(value, item)
        || match value {
            Value::Object(fields) => fields.values().any(|inner| contains(inner, item)),
            // Items of one list are adjacent in memory, so the range identifies the list.
            Value::Array(items) => items.as_ptr_range().contains(&std::ptr::from_ref(item)),
            _ => false,
        }
}

/// Whether a field of an envelope is small. Each item gets a copy, so it must not be a
/// second body.
fn is_small(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.len() <= 20
                && fields.values().all(|inner| {
                    inner.is_number()
                        || inner.is_boolean()
                        || inner.as_str().is_some_and(|text| text.len() <= 500)
                })
        }
        Value::Array(_) => false,
        Value::String(text) => text.len() <= 500,
        _ => true,
    }
}

/// Values of an item among which the mark of a test lead is looked for: the item may be 4 MiB.
const MAX_LOOKED_AT: usize = 2_000;

/// The parser bounds the depth.
fn has_test_mark(value: &Value, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match value {
        Value::String(text) => is_test_mark(text),
        Value::Array(items) => items.iter().any(|item| has_test_mark(item, left)),
        Value::Object(fields) => fields.values().any(|value| has_test_mark(value, left)),
        _ => false,
    }
}

/// Returns the text of a scalar, of an XML element with attributes, or of one of the
/// usual objects around one value.
pub fn text_of_node(value: &Value) -> Option<String> {
    node_with(value, text_of)
}

/// Returns the text of a phone in the same way: a whole number in its plain digits.
pub fn phone_of_node(value: &Value) -> Option<String> {
    node_with(value, number_text)
}

fn node_with(value: &Value, text: fn(&Value) -> Option<String>) -> Option<String> {
    match value {
        Value::Object(fields) => [
            "#text", "value", "number", "address", "full", "label", "code",
        ]
        .iter()
        .find_map(|name| get(fields, name).and_then(text)),
        other => text(other),
    }
}

/// Returns a scalar as text. A whole number that was written with a fraction or an exponent, as
/// programs write large numbers, is its digits: `1.1987654321e+10` is `11987654321`.
pub fn number_text(value: &Value) -> Option<String> {
    let text = text_of(value)?;
    match value {
        Value::Number(_) => Some(whole_number(&text).unwrap_or(text)),
        _ => Some(text),
    }
}

/// Returns a name: a text, an object of its parts, or XML elements that are its parts.
pub fn name_text(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let part = |names: &[&str]| {
                fields
                    .iter()
                    .find(|(key, _)| names.contains(&fold(key).as_str()))
                    .and_then(|(_, value)| part_of_name(&text_of(value)?))
            };
            let last = || {
                part(&LAST_NAMES).or_else(|| {
                    part(&[FRENCH_FIRST_NAME])?;
                    part(&[FRENCH_LAST_NAME])
                })
            };
            text_of_node(value).or_else(|| {
                part(&["fullname", "name", "nome", "nombre"])
                    .filter(|_| last().is_none())
                    .or_else(|| join([part(&FIRST_NAMES), last()]))
            })
        }
        Value::Array(items) => {
            let part = |wanted: &str| {
                items
                    .iter()
                    .find(|item| item.get("@part").and_then(Value::as_str) == Some(wanted))
                    .and_then(|item| part_of_name(&text_of_node(item)?))
            };
            part("full").or_else(|| join([part("first"), part("last")]))
        }
        other => text_of(other),
    }
}

/// Whether a time is before any lead could be sent: what programs print for none, such as the years 1 and 1900
/// and the begin of 1970.
pub fn is_zero_time(time: &str) -> bool {
    time < "1980"
}

/// Returns the text of an answer; of a box with a hidden field beside it, which a form sends as `0` and `1`, the
/// one that says yes.
pub fn ticked(value: &Value) -> Option<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(text_of);
    text_of_node(value).or_else(|| texts.into_iter().find(|text| is_truth(text)))
}

pub const FIRST_NAMES: [&str; 13] = [
    "firstname",
    "first",
    "fname",
    "givenname",
    "primeironome",
    "primernombre",
    "nome",
    "nombre",
    "nombres",
    "name",
    "yourfirstname",
    "vorname",
    FRENCH_FIRST_NAME,
];
pub const LAST_NAMES: [&str; 13] = [
    "lastname",
    "last",
    "lname",
    "surname",
    "familyname",
    "sobrenome",
    "ultimonome",
    "apellido",
    "apellidos",
    "yourlastname",
    "apelido",
    "nachname",
    "cognome",
];
/// In French, `nom` is a last name beside this name; alone it may be a thing's name.
pub const FRENCH_FIRST_NAME: &str = "prenom";
pub const FRENCH_LAST_NAME: &str = "nom";

/// Returns the text of a source as its options change it. `None`: nothing is left.
fn transform(source: &Source, raw: &str) -> Option<String> {
    let mut text = source.cut(raw);
    if let Some(mapped) = source.map.get(text.trim()) {
        text.clone_from(mapped);
    }
    if text.trim().is_empty() {
        return None;
    }
    text.insert_str(0, &source.prefix);
    Some(text)
}

impl Source {
    /// Applies `trim`, `digits` and `lower`.
    fn cut(&self, raw: &str) -> String {
        let mut text = raw.to_owned();
        if let Some(characters) = &self.trim {
            let cut = |c: char| c.is_whitespace() || characters.contains(c);
            text = text.trim_matches(cut).to_owned();
        }
        if self.digits {
            text = digits(&text);
        }
        if self.lower {
            text = text.to_lowercase();
        }
        text
    }

    /// Whether a text without a rest is meant to have none: it was empty, or `map` empties it.
    fn empties(&self, raw: &str) -> bool {
        raw.trim().is_empty() || self.map.contains_key(self.cut(raw).trim())
    }
}

#[cfg(test)]
mod tests {
    use leadhost_sdk::serde_json;

    use super::*;

    #[test]
    fn a_whole_number_is_its_digits() {
        for (json, expect) in [
            ("1.1987654321e+10", "11987654321"),
            ("1.1987654321E10", "11987654321"),
            ("0.11987654321e11", "11987654321"),
            ("11987654321.0", "11987654321"),
            ("11987654321", "11987654321"),
            ("1198765432.5", "1198765432.5"),
            ("1e40", "1e+40"),
            ("-1.1987654321e+10", "-1.1987654321e+10"),
            ("\"1.1987654321e+10\"", "1.1987654321e+10"),
        ] {
            let value: Result<Value, _> = serde_json::from_str(json);
            let text = value.ok().as_ref().and_then(number_text);
            assert_eq!(text.as_deref(), Some(expect), "{json}");
        }
    }
}
