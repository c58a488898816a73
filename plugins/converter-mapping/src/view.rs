//! One place of an item that may contain fields of the lead, and how each kind of
//! field is read from it by the usual names.

use std::collections::BTreeMap;

use leadhost_sdk::nothing::{is_no_id, is_nothing, name_in, part_of_name};
use leadhost_sdk::path::get;
use leadhost_sdk::values::{is_code, is_iso_code, is_test_mark, with_codes};
use leadhost_sdk::{digits, is_absent, join, serde_json::Value, text_of};

use crate::body::json_in;
use crate::fold::fold;
use crate::heuristics::{
    Part, is_full_phone, is_name_question, is_others, is_phone_name, looks_like_email,
    looks_like_phone, may_be_name, owned_name_part,
};
use crate::kind::{rank_of_word, ranked};
use crate::names;
use crate::people::{has_both, members};
use crate::record::{
    FIRST_NAMES, FRENCH_FIRST_NAME, FRENCH_LAST_NAME, LAST_NAMES, Record, name_text, number_text,
    phone_of_node, text_of_node,
};

/// One place that may contain fields of the lead.
pub struct View<'a> {
    /// Folded names with their values.
    pub entries: Vec<(String, &'a Value)>,
    /// The names are questions of a form: parts of them carry the meaning.
    pub questions: bool,
    /// The place is the answers of a form: a contact counts whatever the question was.
    pub form: bool,
    /// The place is a person, whose id is not the lead's.
    pub person: bool,
    /// The place describes the lead's origin; its ids are not the lead's.
    pub about: bool,
    /// The place is the item itself.
    pub root: bool,
    /// The place has a word for the lead as its name.
    pub lead: bool,
    /// The place is a question with its answer, whose `name` is no person's.
    pub answer: bool,
}

impl<'a> View<'a> {
    /// Returns the present values under a folded name.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        self.entries
            .iter()
            .filter(move |(own, value)| own == name && !is_absent(value))
            .map(|(_, value)| *value)
    }

    /// Whether a folded name has a present value.
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Returns the first value that has a text, and the text. The order of the names decides.
    pub fn first(&self, names: &[&str]) -> Option<(&'a Value, String)> {
        names.iter().find_map(|name| {
            self.values(name)
                .flat_map(each)
                .find_map(|value| Some((value, said_in(name, value)?)))
        })
    }

    /// Whether a phone or an e-mail address is under a usual name, or in questions and answers.
    pub fn has_contact(&self) -> bool {
        let has = |(name, value): &(String, &Value)| names::is_phone(name) && !is_absent(value);
        let phone = || self.entries.iter().any(has);
        let email = || names::EMAILS.iter().any(|name| self.has(name));
        phone()
            || email()
            || self.questions
                && self.entries.iter().any(|(name, value)| {
                    !is_others(name)
                        && text_of_node(value).is_some_and(|text| looks_like_email(&text))
                })
    }

    /// Returns a name whose key, or place, says that it is the lead's: `buyer_name`.
    pub fn own_name(&self, record: &mut Record<'a>) -> Option<String> {
        let text = |(_, value): &(String, &'a Value)| name_of(value);
        let of = |part: Part| {
            let mut named = self
                .entries
                .iter()
                .filter(|(name, _)| owned_name_part(name) == Some(part));
            named.find_map(text)
        };
        // The parts of an answer.
        let asked = || {
            let mut asked = self.entries.iter().filter(|(name, value)| {
                let asks = names::FULL_NAMES.contains(&name.as_str()) || is_name_question(name);
                asks && value.is_object()
            });
            asked.find_map(text)
        };
        let parts = match of(Part::Full).or_else(asked) {
            Some(full) => vec![full],
            None => [of(Part::First), of(Part::Last)]
                .into_iter()
                .flatten()
                .collect(),
        };
        parts.iter().for_each(|(value, _)| record.mark(value));
        let mut texts = parts.into_iter().map(|(_, text)| text);
        let name = join([texts.next(), texts.next()]);
        name.or_else(|| self.lead.then(|| self.name(record, true))?)
    }

    /// Returns a name; `plain` says whether the key `name` itself counts here.
    pub fn name(&self, record: &mut Record<'a>, plain: bool) -> Option<String> {
        if let Some((value, name)) = self.first(names::FULL_NAMES) {
            record.mark(value);
            return Some(name);
        }
        let first = self.first(&FIRST_NAMES);
        let last = self.first(&LAST_NAMES).or_else(|| {
            self.first(&[FRENCH_FIRST_NAME])?;
            self.first(&[FRENCH_LAST_NAME])
        });
        if let (Some((first_value, first)), Some((last_value, last))) = (&first, &last) {
            record.mark(first_value);
            record.mark(last_value);
            return name_in(&join([Some(first.clone()), Some(last.clone())])?);
        }
        if !plain {
            return None;
        }
        for name in names::NAMES {
            for value in self.values(name) {
                // An object of this name may be the person rather than the name.
                let is_name = !value.is_object() || matches!(*name, "name" | "nome" | "nombre");
                if is_name && let Some((value, text)) = name_of(value) {
                    record.mark(value);
                    return Some(text);
                }
            }
        }
        if self.questions {
            let asked = self
                .entries
                .iter()
                .filter(|(name, _)| is_name_question(name));
            let mut asked = asked.flat_map(|(name, value)| {
                each(value)
                    .iter()
                    .filter_map(|value| Some((value, said_in(name, value)?)))
            });
            if let Some((value, name)) = asked.find(|(_, text)| !looks_like_email(text)) {
                record.mark(value);
                return Some(name);
            }
        }
        let (value, name) = first.or(last)?;
        let name = name_in(&name);
        match name {
            Some(_) => record.mark(value),
            None => record.tell_nothing(value),
        }
        name
    }

    /// Adds the phones under usual names, mobiles first, after those that say that they are in E.164.
    pub fn phones(&self, record: &mut Record<'a>, out: &mut Vec<String>) {
        for (name, value) in &self.entries {
            if name.contains("e164") && is_phone_name(name) {
                self.phone(record, name, value, out, is_full_phone);
            }
        }
        let named = self.entries.iter().map(|(name, _)| name.as_str());
        let mut named: Vec<&str> = named.filter(|name| names::is_phone(name)).collect();
        named.sort_by_cached_key(|name| {
            let place = names::PHONES.iter().position(|known| known == name);
            (rank_of_word(name), place.unwrap_or(usize::MAX))
        });
        named.dedup();
        for name in named {
            for value in self.values(name) {
                // A switch such as `whatsapp: 1` is not a phone, nor is a list in JSON.
                let fits = |text: &str| {
                    digits(text).len() >= 4 && !is_test_mark(text) && json_in(text).is_none()
                };
                self.phone(record, name, value, out, fits);
            }
        }
    }

    /// Phones whose names match a usual name only in part.
    pub fn likely_phones(&self, record: &mut Record<'a>, out: &mut Vec<String>) {
        for (name, value) in &self.entries {
            if is_phone_name(name) {
                self.phone(record, name, value, out, looks_like_phone);
            }
        }
    }

    /// The members of objects of several contacts.
    pub fn members(
        &self,
        record: &mut Record<'a>,
        out: &mut Vec<String>,
        names: &[&str],
        fits: fn(&str) -> bool,
    ) {
        let is_plural = |name: &&&str| names::PLURALS.contains(*name);
        for name in names.iter().filter(is_plural) {
            for value in self.values(name).filter(|value| !has_both(value)) {
                let is_contact = |node: &Value| text_of(node).is_some_and(|text| fits(&text));
                let found = members(value, is_contact).into_iter();
                let ranked =
                    found.filter_map(|(key, node)| Some((rank_of_word(&fold(key))?, node)));
                let mut ranked: Vec<_> = ranked.collect();
                ranked.sort_by_key(|(rank, _)| *rank);
                for (_, node) in ranked {
                    record.mark(node);
                    out.extend(text_of(node));
                }
            }
        }
    }

    /// The number beside an area code.
    pub fn split_phone(&self, record: &mut Record<'a>, out: &mut Vec<String>) {
        let mut codes = names::AREA_CODES.iter().filter(|name| **name != "area");
        if codes.all(|name| self.first(&[*name]).is_none()) {
            return;
        }
        for name in names::NUMBERS {
            for value in self.values(name) {
                let fits =
                    |text: &str| matches!(digits(text).len(), 8 | 9) && looks_like_phone(text);
                self.phone(record, name, value, out, fits);
            }
        }
    }

    /// Adds the phones of a value with the codes that belong to its name.
    fn phone(
        &self,
        record: &mut Record<'a>,
        name: &str,
        value: &'a Value,
        out: &mut Vec<String>,
        fits: impl Fn(&str) -> bool,
    ) {
        let beside = [names::AREA_CODES, names::COUNTRY_CODES].map(|names| self.code(name, names));
        let country_beside = self.country();
        for node in nodes(value) {
            let Some(text) = phone_text(node).filter(|text| fits(text)) else {
                continue;
            };
            record.mark(node);
            let mut code = |own: Option<String>, beside: &Option<(&'a Value, String)>| {
                own.or_else(|| {
                    let (value, text) = beside.as_ref()?;
                    record.mark(value);
                    Some(text.clone())
                })
            };
            let area = code(node_text(node, names::AREA_CODES), &beside[0]);
            let mut country = code(country_of(node), &beside[1]);
            if country.is_none() && !node.is_object() {
                country = code(None, &country_beside);
            }
            push_phone(out, with_codes(&text, area.as_deref(), country.as_deref()));
        }
    }

    /// Returns the ISO code of the country beside a phone, unless it belongs to an address.
    fn country(&self) -> Option<(&'a Value, String)> {
        let is_address = names::ADDRESS_PARTS.iter().any(|name| self.has(name));
        let named = ["phonecountry", "country", "pais"]
            .iter()
            .take(if is_address { 1 } else { 3 });
        named
            .filter_map(|name| self.first(&[*name]))
            .find(|(_, text)| is_iso_code(text))
    }

    /// Returns the code beside the phone of this name: `ddd_celular` or `celular_ddd` of
    /// `celular`, `ddd2` of `telefone2`, `contactDDD` of `contactPhone`, or a code without the
    /// name of a phone.
    fn code(&self, phone: &str, names: &[&str]) -> Option<(&'a Value, String)> {
        let phone = stem(phone);
        // The names without the code's own word, with values that may be codes.
        let others = names.iter().flat_map(|code| {
            self.entries.iter().filter_map(move |(name, value)| {
                let rest = name.strip_prefix(code).or_else(|| name.strip_suffix(code));
                let rest = rest.filter(|rest| !rest.is_empty())?;
                let text = text_of(value).filter(|text| is_code(text))?;
                Some((*code, rest, *value, text))
            })
        });
        let others: Vec<_> = others.collect();
        let own = others.iter().find(|(code, rest, ..)| {
            let is_number = *code != "area" && rest.bytes().all(|byte| byte.is_ascii_digit());
            stem(rest) == phone || is_number && phone.ends_with(rest)
        });
        // The one whose name says the same owner comes after the one that names the phone.
        let of_owner = || others.iter().find(|(_, rest, ..)| is_of_owner(phone, rest));
        let own = own.or_else(of_owner);
        let found = |(_, _, value, text): &(_, _, &'a Value, String)| (*value, text.clone());
        if own.is_some() {
            return own.map(found);
        }
        // `area` may be a property's: `85 m2`.
        let is_area = names == names::AREA_CODES;
        let plain = self.first(names);
        let plain = plain.filter(|(_, text)| !is_area || is_code(text));
        plain.or_else(|| match others.as_slice() {
            [only] if is_area && only.0 != "area" && self.has_one_phone() => Some(found(only)),
            _ => None,
        })
    }

    fn has_one_phone(&self) -> bool {
        let mut phones = self.entries.iter().filter(|(name, value)| {
            let is_phone = names::is_phone(name) || is_phone_name(name);
            is_phone && phone_text(value).is_some_and(|text| looks_like_phone(&text))
        });
        phones.next().is_some() && phones.next().is_none()
    }

    /// Adds the texts under these names that fit.
    pub fn texts(
        &self,
        record: &mut Record<'a>,
        names: &[&str],
        out: &mut Vec<String>,
        fits: fn(&str) -> bool,
    ) {
        for name in names {
            for value in self.values(name) {
                for node in nodes(value) {
                    if let Some(text) = email_text(node).filter(|text| fits(text)) {
                        record.mark(node);
                        push(out, text);
                    }
                }
            }
        }
    }

    /// Texts whose names match a usual name only in part; from lists only if `in_lists`.
    pub fn likely(
        &self,
        record: &mut Record<'a>,
        out: &mut Vec<String>,
        name_fits: fn(&str) -> bool,
        in_lists: bool,
        fits: fn(&str) -> bool,
    ) {
        for (_, value) in self.entries.iter().filter(|(name, _)| name_fits(name)) {
            let nodes: Vec<&'a Value> = match value {
                Value::Array(items) if in_lists => {
                    items.iter().filter(|node| !has_both(node)).collect()
                }
                one => vec![*one],
            };
            for node in nodes {
                if let Some(text) = text_of_node(node).filter(|text| fits(text)) {
                    record.mark(node);
                    push(out, text);
                }
            }
        }
    }

    /// Contacts under the names that may be a person's name or an id as well.
    pub fn plain_contacts(
        &self,
        record: &mut Record<'a>,
        out: &mut Vec<String>,
        fits: fn(&str, &str) -> bool,
    ) {
        let is_named = self.first(names::FULL_NAMES).is_some()
            || self.first(&FIRST_NAMES).is_some()
            || self
                .entries
                .iter()
                .any(|(name, _)| owned_name_part(name).is_some());
        for name in names::CONTACT_TEXTS.iter().filter(|_| is_named) {
            for value in self.values(name) {
                if let Some(text) = value.as_str().filter(|text| fits(name, text)) {
                    record.mark(value);
                    push(out, text.trim().to_owned());
                }
            }
        }
    }
}

/// Returns the elements of a list, or the value: a form repeats a field that it asks for once.
pub fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// Returns a name that a value is, has in its parts, or is the first of its elements.
fn name_of(value: &Value) -> Option<(&Value, String)> {
    let mut values = std::iter::once(value).chain(value.as_array().into_iter().flatten());
    values.find_map(|value| {
        let name = name_in(&name_text(value)?).filter(|name| may_be_name(name))?;
        Some((value, name))
    })
}

/// Returns the text of a value under a folded name, if it says something.
fn said_in(name: &str, value: &Value) -> Option<String> {
    // Attributes of an XML element, or a CRM's history, are beside the value.
    let text = match value {
        Value::Object(fields) => text_of(get(fields, "#text").or_else(|| get(fields, "value"))?),
        other => text_of(other),
    };
    // JSON is for programs, and may contain people.
    said(name, text.filter(|text| json_in(text).is_none())?)
}

/// Returns the contacts in a value, likeliest first, without people: the elements of a list, or the value.
fn nodes(value: &Value) -> Vec<&Value> {
    ranked(each(value).iter().filter(|node| !has_both(node)))
}

/// Returns what the text of a field with this folded name says; `None` if it is a word for nothing.
pub fn said(name: &str, text: String) -> Option<String> {
    if FIRST_NAMES.contains(&name) || LAST_NAMES.contains(&name) {
        return part_of_name(&text);
    }
    if names::FULL_NAMES.contains(&name) || is_name_question(name) {
        return name_in(&text);
    }
    let is_id = names::IDS.contains(&name) || names::PLAIN_IDS.contains(&name);
    let is_none = if is_id { is_no_id } else { is_nothing };
    (!is_none(&text)).then_some(text)
}

/// Gives a numbered name of a person, a message or a contact (`name1`, `textarea-1`, `tel-619`) the usual
/// name: form builders number their fields. The lowest number counts, and none counts beside the name itself.
pub fn without_numbers(mut entries: Vec<(String, &Value)>) -> Vec<(String, &Value)> {
    let mut lowest: BTreeMap<String, (u32, usize)> = BTreeMap::new();
    for (index, (name, value)) in entries.iter().enumerate() {
        let usual = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[usual.len()..].parse().ok();
        if let Some(number) = number.or((usual == name).then_some(0))
            && is_numbered(usual)
            && !is_absent(value)
        {
            let lowest = lowest.entry(usual.to_owned()).or_insert((number, index));
            *lowest = (number, index).min(*lowest);
        }
    }
    for (usual, (_, index)) in lowest {
        entries[index].0 = usual;
    }
    entries
}

/// Names that form builders number although they have one meaning. A number after another name
/// tells answers apart: `text1`, `question2`, `nota3`.
fn is_numbered(name: &str) -> bool {
    const COUNTED: [&str; 11] = [
        "text", "texto", "question", "pergunta", "pregunta", "nota", "notas", "note", "notes",
        "first", "last",
    ];
    let lists = [
        names::FULL_NAMES,
        names::NAMES,
        &FIRST_NAMES,
        &LAST_NAMES,
        names::MESSAGES,
        names::LAST_MESSAGES,
    ];
    let is_meant = lists.iter().any(|list| list.contains(&name)) && !COUNTED.contains(&name);
    // A numbered name with the word for a phone or an address in it is one already.
    is_meant || ["tel", "yourtel", "zap", "wpp", "whats", "cell", "mail"].contains(&name)
}

/// Returns a phone's text: a scalar, or the text of an object around it, in E.164 if it has one.
pub fn phone_text(node: &Value) -> Option<String> {
    let fields = node.as_object().into_iter().flatten();
    let mut texts = fields
        .filter(|(name, _)| names::is_international(&fold(name)))
        .filter_map(|(_, value)| text_of(value));
    let international = texts.find(|text| is_full_phone(text));
    international.or_else(|| phone_of_node(node)).or_else(|| {
        let fields = node.as_object()?;
        let names = [
            "numero",
            "phone",
            "telefone",
            "telefono",
            "phonenumber",
            "raw",
            "e164",
            "internationalnumber",
            "nationalnumber",
            "formatted",
            "num",
        ];
        names.iter().find_map(|name| {
            let mut named = fields.iter().filter(|(key, _)| fold(key) == *name);
            number_text(named.next()?.1)
        })
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

/// Returns the country that an object gives with its phone: an ISO code, or a dialling code.
fn country_of(node: &Value) -> Option<String> {
    let fields = node.as_object()?;
    let is_country = |text: &String| is_iso_code(text) || is_code(text);
    let of = |names: &[&str]| {
        names.iter().find_map(|name| {
            let mut named = fields.iter().filter(|(key, _)| fold(key) == *name);
            named.find_map(|(_, value)| {
                let inner = || country_of(value).or_else(|| text_of_node(value));
                text_of(value).or_else(inner).filter(is_country)
            })
        })
    };
    of(names::COUNTRY_CODES).or_else(|| of(names::COUNTRIES))
}

/// Returns the text of a phone with the country that an object has beside it, unless it belongs to an
/// address.
pub fn in_country_of(phone: &str, node: &Value) -> String {
    let is_address = |name: &String| names::ADDRESS_PARTS.contains(&fold(name).as_str());
    let mut fields = node.as_object().into_iter().flatten();
    let country = country_of(node).filter(|country| is_iso_code(country));
    let country = country.filter(|_| !fields.any(|(name, _)| is_address(name)));
    with_codes(phone, None, country.as_deref())
}

/// Returns the text of a phone with the codes of the object around it.
pub fn phone_in_full(node: &Value) -> Option<String> {
    let area = node_text(node, names::AREA_CODES);
    Some(with_codes(
        &phone_text(node)?,
        area.as_deref(),
        country_of(node).as_deref(),
    ))
}

/// Returns the name of a phone without the words around it, as its code has it.
fn stem(name: &str) -> &str {
    let mut stem = name;
    for word in ["numerode", "numerodo", "numero", "number", "do", "de"] {
        stem = stem.strip_prefix(word).unwrap_or(stem);
    }
    for word in ["numero", "number"] {
        stem = stem.strip_suffix(word).unwrap_or(stem);
    }
    stem
}

/// Whether a phone's name is its owner's with a usual name of a phone: `contact` of
/// `contactphone`, `contato` of `telefonecontato`.
fn is_of_owner(phone: &str, owner: &str) -> bool {
    let rest = [phone.strip_prefix(owner), phone.strip_suffix(owner)];
    let mut rest = rest.into_iter().flatten();
    rest.any(|rest| names::is_phone(stem(rest)))
}

/// Adds a text that is not there yet.
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
