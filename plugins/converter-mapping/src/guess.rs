//! Reading an item of which nothing is configured, by the usual names.
//!
//! An item is looked at as a few views: itself, the objects in it that are known
//! to hold a lead, and its lists of questions and answers. The view with a phone
//! or an e-mail address counts first. Objects of any other name (`client`, `user`,
//! `vendor`, ...) are never looked into for a person, since they hold somebody else.

use leadhost_sdk::{digits, is_absent, serde_json::Value, text_of};

use crate::fold::fold;
use crate::names;
use crate::pairs;
use crate::record::{self, Record, name_text, text_of_node};

/// One place where fields of the lead may be.
struct View<'a> {
    /// Folded names with their values.
    entries: Vec<(String, &'a Value)>,
    /// The names are questions of a form: parts of them say what is meant.
    questions: bool,
    /// It is a person, whose id is not the lead's.
    person: bool,
    /// It describes the lead's way here; its ids are not the lead's.
    about: bool,
    /// It is the item itself.
    root: bool,
}

pub struct Guess<'a> {
    views: Vec<View<'a>>,
    /// Whether the name stood beside what only events have.
    pub looks_like_event: bool,
}

/// Containers in containers; real ones are three deep.
const MAX_DEPTH: usize = 5;
/// Views of one item.
const MAX_VIEWS: usize = 16;

impl<'a> Guess<'a> {
    /// Looks at the item, and adds its questions and answers to the record's.
    pub fn new(record: &mut Record<'a>) -> Self {
        let mut guess = Self {
            views: Vec::new(),
            looks_like_event: false,
        };
        let configured = record.pairs.len();
        guess.collect(record, record.item, "", 0);
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
            questions: names::QUESTIONS.contains(&name),
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

    /// The first of the names, view after view, whose value gives a text.
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

    /// The name, and whether it stood in the item itself.
    pub fn name(&self, record: &mut Record<'a>) -> Option<(String, bool)> {
        // Beside a form's answers, `name` is the form's; beside a contact's phone
        // it may be the person's.
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

    /// All phones, likeliest first; one number written twice is one.
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
            // An answer that is an address, whatever was asked.
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

    /// The client's own reference first, then the portal's.
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
                        if let Some(text) = text_of(value) {
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
            // A date and a time of the day in two fields.
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
        // Longer ones are no name of a source.
        (text.chars().count() <= 200).then(|| record.mark(value))?;
        Some(text)
    }

    /// Whether the item says that it is a test; nothing if it says nothing.
    pub fn is_test(&self, record: &mut Record<'a>) -> Option<bool> {
        let (value, text) = self.first(names::TESTS)?;
        record.mark(value);
        Some(is_truth(&text))
    }

    pub fn campaign(&self, record: &mut Record<'a>) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        for (name, keys) in names::CAMPAIGN {
            if let Some(text) = self.take(record, keys) {
                out.push((*name, text));
            }
        }
        for (name, key) in [
            ("form-id", "id"),
            ("form-name", "name"),
            ("form-name", "title"),
        ] {
            if let Some(value) = record.item.get("form").and_then(|form| form.get(key))
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

impl<'a> View<'a> {
    fn values(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        self.entries
            .iter()
            .filter(move |(own, value)| own == name && !is_absent(value))
            .map(|(_, value)| *value)
    }

    fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    fn first(&self, names: &[&str]) -> Option<(&'a Value, String)> {
        names.iter().find_map(|name| {
            self.values(name).find_map(|value| {
                let value = match value {
                    Value::Array(items) => items.first()?,
                    other => other,
                };
                // Attributes of an XML element, or a CRM's history, stand beside the value.
                let text = match value {
                    Value::Object(fields) => {
                        let inner = fields.get("#text").or_else(|| fields.get("value"));
                        inner.and_then(text_of)
                    }
                    other => text_of(other),
                };
                Some((value, text?))
            })
        })
    }

    fn has_contact(&self) -> bool {
        let phone = || names::PHONES.iter().any(|name| self.has(name));
        let email = || names::EMAILS.iter().any(|name| self.has(name));
        phone()
            || email()
            || self.questions
                && self.entries.iter().any(|(name, value)| {
                    !is_others(name)
                        && text_of_node(value).is_some_and(|text| looks_like_email(&text))
                })
    }

    /// A name; `plain` says whether `name` itself is one here.
    fn name(&self, record: &mut Record<'a>, plain: bool) -> Option<String> {
        if let Some((value, name)) = self.first(names::FULL_NAMES) {
            record.mark(value);
            return Some(name);
        }
        let first = self.first(&record::FIRST_NAMES);
        let last = self.first(&record::LAST_NAMES);
        if let (Some((first_value, first)), Some((last_value, last))) = (&first, &last) {
            record.mark(first_value);
            record.mark(last_value);
            let whole = first.to_lowercase().ends_with(&last.to_lowercase());
            return Some(if whole {
                first.clone()
            } else {
                format!("{first} {last}")
            });
        }
        if !plain {
            return None;
        }
        for name in names::NAMES {
            for value in self.values(name) {
                // An object of this name may be the person rather than the name.
                let is_name = !value.is_object() || matches!(*name, "name" | "nome" | "nombre");
                if is_name && let Some(text) = name_text(value).filter(|text| may_be_name(text)) {
                    record.mark(value);
                    return Some(text);
                }
            }
        }
        if self.questions {
            let asked = self.entries.iter().find(|(name, value)| {
                is_name_question(name)
                    && text_of(value).is_some_and(|text| !looks_like_email(&text))
            });
            if let Some((_, value)) = asked {
                record.mark(value);
                return text_of(value);
            }
        }
        let (value, name) = first.or(last)?;
        record.mark(value);
        Some(name)
    }

    fn phones(&self, record: &mut Record<'a>, out: &mut Vec<String>) {
        let area = self.first(names::AREA_CODES);
        let country = self.first(names::COUNTRY_CODES);
        for name in names::PHONES {
            for value in self.values(name) {
                let nodes: Vec<&'a Value> = match value {
                    Value::Array(items) => items.iter().collect(),
                    one => vec![one],
                };
                for node in nodes {
                    let own_area = node_text(node, names::AREA_CODES);
                    let Some(text) = phone_text(node) else {
                        continue;
                    };
                    // A switch such as `whatsapp: 1` is no phone.
                    if digits(&text).len() < 4 && !text.starts_with('<') {
                        continue;
                    }
                    record.mark(node);
                    let beside = area.as_ref().map(|(value, text)| (*value, text.clone()));
                    let area = own_area.or_else(|| beside.as_ref().map(|(_, text)| text.clone()));
                    let text =
                        with_codes(&text, area, country.as_ref().map(|(_, text)| text.as_str()));
                    if let Some((value, _)) = beside {
                        record.mark(value);
                    }
                    if let Some((value, _)) = &country {
                        record.mark(value);
                    }
                    push_phone(out, text);
                }
            }
        }
    }

    fn texts(
        &self,
        record: &mut Record<'a>,
        names: &[&str],
        out: &mut Vec<String>,
        fits: fn(&str) -> bool,
    ) {
        for name in names {
            for value in self.values(name) {
                let nodes: Vec<&'a Value> = match value {
                    Value::Array(items) => items.iter().collect(),
                    one => vec![one],
                };
                for node in nodes {
                    let text = text_of_node(node).or_else(|| node_text(node, names::EMAILS));
                    if let Some(text) = text.filter(|text| fits(text)) {
                        record.mark(node);
                        push(out, text);
                    }
                }
            }
        }
    }

    /// Texts whose names say only in part what they are.
    fn likely(
        &self,
        record: &mut Record<'a>,
        out: &mut Vec<String>,
        name_fits: fn(&str) -> bool,
        fits: fn(&str) -> bool,
    ) {
        for (name, value) in &self.entries {
            if name_fits(name)
                && let Some(text) = text_of_node(value).filter(|text| fits(text))
            {
                record.mark(value);
                push(out, text);
            }
        }
    }
}

/// A phone's text: a scalar's, or that of an object around it.
fn phone_text(node: &Value) -> Option<String> {
    text_of_node(node).or_else(|| {
        node_text(
            node,
            &[
                "numero",
                "phone",
                "telefone",
                "telefono",
                "phonenumber",
                "raw",
                "e164",
            ],
        )
    })
}

fn node_text(node: &Value, names: &[&str]) -> Option<String> {
    let fields = node.as_object()?;
    names.iter().find_map(|name| {
        fields
            .iter()
            .find(|(key, _)| fold(key) == *name)
            .and_then(|(_, value)| text_of(value))
    })
}

/// A phone with the area code, and the country's, that stand beside it, where it
/// has none itself.
fn with_codes(phone: &str, area: Option<String>, country: Option<&str>) -> String {
    let number = digits(phone);
    if phone.starts_with(['+', '<']) || phone.starts_with("p:") || number.len() > 11 {
        return phone.to_owned();
    }
    let area = area.map(|area| digits(&area).trim_start_matches('0').to_owned());
    let phone = match area.filter(|area| (1..=4).contains(&area.len())) {
        Some(area) if number.len() < 10 => format!("({area}) {phone}"),
        _ => phone.to_owned(),
    };
    match country.map(digits) {
        Some(code) if (1..=3).contains(&code.len()) => format!("+{code} {phone}"),
        _ => phone,
    }
}

fn push(out: &mut Vec<String>, text: String) {
    if !out.contains(&text) {
        out.push(text);
    }
}

/// One number comes whole and in halves; the first spelling stays.
fn push_phone(out: &mut Vec<String>, text: String) {
    let number = digits(&text);
    let known = out.iter().any(|known| {
        let known = digits(known);
        let same_end = known.ends_with(&number) || number.ends_with(&known);
        same_end && known.len().min(number.len()) >= 8
    });
    if !known && !out.contains(&text) {
        out.push(text);
    }
}

pub fn is_truth(text: &str) -> bool {
    matches!(
        fold(text).as_str(),
        "true"
            | "1"
            | "yes"
            | "y"
            | "sim"
            | "s"
            | "si"
            | "on"
            | "test"
            | "teste"
            | "aceito"
            | "accepted"
            | "granted"
    )
}

/// `contact` may hold a name, but also a phone or an address.
fn may_be_name(text: &str) -> bool {
    text.contains(char::is_alphabetic) && !looks_like_email(text)
}

pub fn looks_like_email(text: &str) -> bool {
    let text = text.trim();
    // The marker of a test lead stands for an address.
    if text.starts_with("<test lead") {
        return true;
    }
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    !local.is_empty()
        && domain.contains('.')
        && !domain.contains('@')
        && text.len() <= 254
        && !text.contains(char::is_whitespace)
}

fn looks_like_phone(text: &str) -> bool {
    let number = digits(text).len();
    (8..=20).contains(&number)
        && text.chars().count() <= 40
        && !text.contains("//")
        && text.chars().filter(|c| c.is_alphabetic()).count() <= 5
        && !looks_like_date(text)
}

fn looks_like_date(text: &str) -> bool {
    crate::time::read(
        &Value::String(text.to_owned()),
        &[
            "%Y-%m-%dT%H:%M:%S%f%z".into(),
            "%Y-%m-%d".into(),
            "%d/%m/%Y".into(),
            "%d/%m/%Y %H:%M".into(),
        ],
        false,
    )
    .is_some()
}

fn is_phone_name(name: &str) -> bool {
    const PARTS: [&str; 8] = [
        "telefone", "telefono", "celular", "whatsapp", "phone", "fone", "mobile", "movil",
    ];
    PARTS.iter().any(|part| name.contains(part)) && !name.ends_with("id") && !is_others(name)
}

fn is_email_name(name: &str) -> bool {
    (name.contains("email") || name.contains("correo")) && !is_others(name)
}

fn is_name_question(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "fullname",
        "nomecompleto",
        "nombrecompleto",
        "yourname",
        "seunome",
        "tunombre",
        "sunombre",
    ];
    let asks = PARTS.iter().any(|part| name.contains(part))
        || ["nome", "name", "nombre"]
            .iter()
            .any(|word| name.strip_prefix(word).is_some_and(|rest| rest.len() <= 3));
    asks && !is_others(name) && !name.contains("empresa") && !name.contains("company")
}

/// Whether the name says that this is somebody else's. `client` is the
/// advertiser's word for itself, `cliente` the lead.
fn is_others(name: &str) -> bool {
    names::OTHERS.iter().any(|part| name.contains(part))
        || (name.contains("client") && !name.contains("cliente"))
}
