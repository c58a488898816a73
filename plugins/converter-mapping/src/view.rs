//! One place of an item that may contain fields of the lead, and how each kind of
//! field is read from it by the usual names.

use leadhost_sdk::{digits, is_absent, serde_json::Value, text_of};

use crate::body::json_in;
use crate::fold::fold;
use crate::heuristics::{is_name_question, is_others, looks_like_email, may_be_name};
use crate::names;
use crate::people::has_both;
use crate::record::{FIRST_NAMES, LAST_NAMES, Record, name_text, text_of_node};

/// One place that may contain fields of the lead.
pub struct View<'a> {
    /// Folded names with their values.
    pub entries: Vec<(String, &'a Value)>,
    /// The names are questions of a form: parts of them carry the meaning.
    pub questions: bool,
    /// The place is a person, whose id is not the lead's.
    pub person: bool,
    /// The place describes the lead's origin; its ids are not the lead's.
    pub about: bool,
    /// The place is the item itself.
    pub root: bool,
}

impl<'a> View<'a> {
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        self.entries
            .iter()
            .filter(move |(own, value)| own == name && !is_absent(value))
            .map(|(_, value)| *value)
    }

    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    pub fn first(&self, names: &[&str]) -> Option<(&'a Value, String)> {
        names.iter().find_map(|name| {
            self.values(name).find_map(|value| {
                let value = match value {
                    Value::Array(items) => items.first()?,
                    other => other,
                };
                // Attributes of an XML element, or a CRM's history, are beside the value.
                let text = match value {
                    Value::Object(fields) => {
                        let inner = fields.get("#text").or_else(|| fields.get("value"));
                        inner.and_then(text_of)
                    }
                    other => text_of(other),
                };
                // JSON is for programs, and may contain people.
                let text = text.filter(|text| json_in(text).is_none())?;
                Some((value, text))
            })
        })
    }

    pub fn has_contact(&self) -> bool {
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

    /// Returns a name; `plain` says whether the key `name` itself counts here.
    pub fn name(&self, record: &mut Record<'a>, plain: bool) -> Option<String> {
        if let Some((value, name)) = self.first(names::FULL_NAMES) {
            record.mark(value);
            return Some(name);
        }
        let first = self.first(&FIRST_NAMES);
        let last = self.first(&LAST_NAMES);
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

    pub fn phones(&self, record: &mut Record<'a>, out: &mut Vec<String>) {
        let area = self.first(names::AREA_CODES);
        let country = self.first(names::COUNTRY_CODES);
        for name in names::PHONES {
            for value in self.values(name) {
                let nodes: Vec<&'a Value> = match value {
                    Value::Array(items) => items.iter().collect(),
                    one => vec![one],
                };
                for node in nodes.into_iter().filter(|node| !has_both(node)) {
                    let own_area = node_text(node, names::AREA_CODES);
                    let Some(text) = phone_text(node) else {
                        continue;
                    };
                    // A switch such as `whatsapp: 1` is not a phone, nor is a list in JSON.
                    let is_short = digits(&text).len() < 4 && !text.starts_with('<');
                    if is_short || json_in(&text).is_some() {
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

    pub fn texts(
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
                for node in nodes.into_iter().filter(|node| !has_both(node)) {
                    if let Some(text) = email_text(node).filter(|text| fits(text)) {
                        record.mark(node);
                        push(out, text);
                    }
                }
            }
        }
    }

    /// Texts whose names match a usual name only in part.
    pub fn likely(
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

/// Returns a phone's text: a scalar's, or that of an object around it.
pub fn phone_text(node: &Value) -> Option<String> {
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

/// Returns an address's text in the same way.
pub fn email_text(node: &Value) -> Option<String> {
    text_of_node(node).or_else(|| node_text(node, names::EMAILS))
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

/// Adds the area code and the country code that are beside a phone, if it has none
/// itself.
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

pub fn push(out: &mut Vec<String>, text: String) {
    if !out.contains(&text) {
        out.push(text);
    }
}

/// One number may come whole and in halves; the first spelling stays.
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
