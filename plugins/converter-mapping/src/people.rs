//! People in a body: objects with their own phone or e-mail address. They become leads,
//! or a refusal names their places, or a note says that they were left out. As an attribute
//! of another person's lead they could not be found for an erasure.
//!
//! A person is recognised by the names of the fields, never by their values alone: ids,
//! prices and codes of eight digits and more look like phones, and an address under a
//! meaningless name is as often the sender's. Such values stay attributes.

use std::collections::BTreeSet;

use leadhost_sdk::addresses::addresses;
use leadhost_sdk::{digits, is_absent, serde_json::Value};

use crate::fold::fold;
use crate::guess::is_name;
use crate::heuristics::{
    is_email_name, is_others, is_phone_name, is_plain_phone, looks_like_email, looks_like_phone,
};
use crate::record::{FIRST_NAMES, text_of_node};
use crate::view::{email_text, phone_text};
use crate::{loose, names, pairs};

/// Maximum nesting of containers; real ones are three deep.
const MAX_DEPTH: usize = 8;
/// Maximum parts of one item that are compared.
const MAX_COMPARED: usize = 100;

/// A list of objects, at least one of them with a contact, or one such object, and its path.
pub struct People<'a> {
    pub path: String,
    pub value: &'a Value,
    trail: Vec<String>,
    /// The lists around it, outermost first.
    lists: Vec<Element<'a>>,
}

/// An element of a list.
#[derive(Clone, Copy)]
struct Element<'a> {
    list: &'a Vec<Value>,
    index: usize,
    /// The length of the trail down to the list.
    depth: usize,
}

/// Returns the people who may be leads: not under names for other people, not in `list`,
/// and not inside of others that are found.
pub fn candidates<'a>(body: &'a Value, list: Option<&'a Vec<Value>>) -> Vec<People<'a>> {
    let mut search = PeopleSearch {
        list,
        sheets: false,
        trail: Vec::new(),
        lists: Vec::new(),
        found: Vec::new(),
    };
    search.visit(body, "", false);
    search.found
}

/// Returns in the same way the objects whose contacts are in questions and answers, or under names that other
/// values have too.
pub fn sheets(body: &Value) -> Vec<People<'_>> {
    let mut search = PeopleSearch {
        list: None,
        sheets: true,
        trail: Vec::new(),
        lists: Vec::new(),
        found: Vec::new(),
    };
    search.visit(body, "", false);
    search.found
}

/// A list of records that contain a person each.
pub struct Records<'a> {
    pub list: &'a Vec<Value>,
    pub path: String,
    /// The steps from a record to its person.
    tail: Vec<String>,
}

impl<'a> Records<'a> {
    fn new(one: &People<'a>, Element { list, depth, .. }: Element<'a>) -> Self {
        Self {
            list,
            path: readable_path(&one.trail[..depth]),
            tail: one.trail[depth + 1..].to_vec(),
        }
    }

    /// Returns the value of a record where others have their person.
    pub fn person(&self, record: &'a Value) -> Option<&'a Value> {
        self.tail
            .iter()
            .try_fold(record, |value, step| match value {
                Value::Array(list) => list.get(step.parse::<usize>().ok()?),
                value => value.get(step),
            })
    }
}

/// Returns the list of records if each of the people is at the same place of another
/// element.
pub fn records<'a>(people: &[People<'a>]) -> Option<Records<'a>> {
    let (first, others) = people.split_first()?;
    if people.iter().any(|one| one.value.is_array()) {
        return None;
    }
    if others.is_empty() {
        return alone(first);
    }
    for (level, own) in first.lists.iter().enumerate() {
        let mut indexes = BTreeSet::from([own.index]);
        for other in others {
            let other = other.lists.get(level)?;
            if !std::ptr::eq(other.list, own.list) {
                return None;
            }
            indexes.insert(other.index);
        }
        // All are in one element.
        if indexes.len() == 1 {
            continue;
        }
        let records = Records::new(first, *own);
        let mut tails = others.iter().map(|other| &other.trail[own.depth + 1..]);
        let is_each = tails.all(|tail| tail == records.tail) && indexes.len() == people.len();
        return is_each.then_some(records);
    }
    None
}

/// Returns the list of records in which one person was found, if others are like it.
fn alone<'a>(one: &People<'a>) -> Option<Records<'a>> {
    let records = Records::new(one, *one.lists.last()?);
    let key = records.tail.first()?;
    let is_like = |value: &Value| value.get(key).is_some_and(Value::is_object);
    let is_list = records.list.len() > 1 && records.list.iter().all(is_like);
    is_list.then_some(records)
}

struct PeopleSearch<'a> {
    /// A list that is known already.
    list: Option<&'a Vec<Value>>,
    /// Whether to search for questions and answers.
    sheets: bool,
    trail: Vec<String>,
    lists: Vec<Element<'a>>,
    found: Vec<People<'a>>,
}

impl<'a> PeopleSearch<'a> {
    fn visit(&mut self, value: &'a Value, key: &str, in_others: bool) {
        match value {
            Value::Array(list) if self.is_known(list) => {}
            Value::Array(list) if self.are_people(key, list) && is_others(&fold(key)) => {}
            Value::Array(list) if self.are_people(key, list) => self.add(value),
            Value::Array(_) if is_contact_name(key) => {}
            Value::Array(list) => {
                let depth = self.trail.len();
                for (index, value) in list.iter().enumerate() {
                    self.lists.push(Element { list, index, depth });
                    self.below(&index.to_string(), value, "", in_others);
                    self.lists.pop();
                }
            }
            Value::Object(fields) => {
                let name = fold(key);
                let in_others = in_others || is_others(&name);
                if self.is_match(key, value) && !in_others && !is_business(&name, false) {
                    self.add(value);
                    if self.list.is_none() {
                        return;
                    }
                }
                // The answer `{"area": "11", "phone": "900000001"}` is no person.
                if fields.values().any(has_parts) && loose::is_contact(value) {
                    return;
                }
                for (key, value) in fields {
                    self.below(key, value, key, in_others);
                }
            }
            _ => {}
        }
    }

    fn is_match(&self, key: &str, value: &Value) -> bool {
        match self.list {
            // People in a container around a known list are found there.
            Some(_) => has_direct_contact(value) && !pairs::is_pair(value),
            None if self.sheets => is_sheet(value),
            // The phones of one person are an object of such, not a person.
            None => {
                let are_contacts = names::PLURALS.contains(&fold(key).as_str());
                is_person(value) && (!are_contacts || has_both(value))
            }
        }
    }

    fn are_people(&self, key: &str, list: &[Value]) -> bool {
        if self.sheets {
            list.iter().any(is_sheet)
        } else {
            are_people(key, list)
        }
    }

    fn below(&mut self, step: &str, value: &'a Value, key: &str, in_others: bool) {
        if has_parts(value) && !(self.sheets && is_set(key)) {
            self.trail.push(step.to_owned());
            self.visit(value, key, in_others);
            self.trail.pop();
        }
    }

    fn is_known(&self, list: &Vec<Value>) -> bool {
        self.list.is_some_and(|known| std::ptr::eq(known, list))
    }

    fn add(&mut self, value: &'a Value) {
        self.found.push(People {
            path: readable_path(&self.trail),
            value,
            trail: self.trail.clone(),
            lists: self.lists.clone(),
        });
    }
}

fn is_sheet(value: &Value) -> bool {
    let is_one = || loose::is_sheet(value) || has_plain_contact(value);
    value.is_object() && is_one() && !pairs::is_pair(value)
}

fn has_parts(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Whether the source sets what is under this name.
fn is_set(key: &str) -> bool {
    let name = fold(key);
    names::SETTINGS.iter().any(|part| name.contains(part))
}

/// Whether the value has a name, and a contact under a name such as `contato` or in an
/// object of several.
fn has_plain_contact(value: &Value) -> bool {
    plain_contacts(value).next().is_some() && name(value).is_some()
}

fn plain_contacts(value: &Value) -> impl Iterator<Item = &Value> {
    let fields = value.as_object().into_iter().flatten();
    fields.flat_map(|(key, value)| {
        let name = fold(key);
        let is_contact = |text: &str| is_plain_phone(&name, text) || looks_like_email(text);
        if names::CONTACT_TEXTS.contains(&name.as_str()) && value.as_str().is_some_and(is_contact) {
            return vec![value];
        }
        let is_plural = names::PLURALS.contains(&name.as_str());
        let members = is_plural
            .then(|| members(value, |node| contact(node, kinds(&name)).is_some()))
            .into_iter();
        members.flatten().map(|(_, node)| node).collect()
    })
}

/// Whether a value under this name is another person: one with contacts that are not all this person's.
/// Questions and answers must ask for a name, too.
pub fn is_other_than(own: &Identity, name: &str, value: &Value) -> bool {
    if is_person_under(name, value) {
        return !own.has_all_of(value);
    }
    let mut pairs = loose::sheet(name, value);
    if !pairs
        .iter()
        .any(|pair| is_name(&pair.name) || is_name(&pair.label))
    {
        pairs.clear();
    }
    let asked = pairs.iter().filter(|pair| pair.is_contact());
    let plain = plain_contacts(value).filter(|_| has_plain_contact(value));
    let mut contacts = asked.map(|pair| pair.value).chain(plain);
    contacts.any(|node| !contact(node, (true, true)).is_some_and(|one| own.has(&one)))
}

/// Returns a path for readers.
pub fn readable_path(trail: &[String]) -> String {
    trail
        .iter()
        .fold(String::new(), |path, step| below(&path, step))
}

/// Returns the path with one more step; a hostile one is cut.
pub fn below(path: &str, step: &str) -> String {
    const MOST: usize = 200;
    let step = &step[..step.floor_char_boundary(MOST)];
    match (path, step) {
        ("", step) => step.to_owned(),
        (path, "") => path.to_owned(),
        (path, _) if path.len() > MOST => path.to_owned(),
        (path, step) => format!("{path}.{step}"),
    }
}

/// Whether a list under this name contains people: the phones of one person are
/// objects with a phone as well, and so are answers.
fn are_people(key: &str, list: &[Value]) -> bool {
    list.iter().any(|value| is_person_under(key, value))
}

/// Whether the value under this name is a person. Under the name of a phone it must also
/// have an e-mail address.
pub fn is_person_under(key: &str, value: &Value) -> bool {
    is_person(value) && (!is_contact_name(key) || has_both(value))
}

/// Whether the object has a phone and an e-mail address, and so is neither of them.
pub fn has_both(value: &Value) -> bool {
    let has = |wanted: fn((bool, bool)) -> (bool, bool)| {
        let mut fields = value.as_object().into_iter().flatten();
        fields.any(|(key, value)| contact(value, wanted(kinds(&fold(key)))).is_some())
    };
    has(|(is_phone, _)| (is_phone, false)) && has(|(_, is_email)| (false, is_email))
}

/// Whether the name asks for a phone or an e-mail address.
pub fn is_contact_name(key: &str) -> bool {
    let (is_phone, is_email) = kinds(&fold(key));
    is_phone || is_email
}

/// Whether the value is an object with its own contact.
pub fn is_person(value: &Value) -> bool {
    !pairs::is_pair(value) && has_contact(value)
}

/// Whether an object of this name is not a private person, though it has a contact: the
/// advertiser, its staff, the listing, or the contact of one of these.
pub fn is_business(name: &str, in_business: bool) -> bool {
    is_others(name) && !is_private(name)
        || is_thing(name)
        || in_business && names::CONTACT_PARTS.contains(&name)
}

/// Whether a folded name refers to another private person.
pub fn is_private(name: &str) -> bool {
    names::PRIVATE.iter().any(|part| name.contains(part))
}

/// Whether an object of this name is a listing, a company or another thing.
pub fn is_thing(name: &str) -> bool {
    names::LISTING_OBJECTS.contains(&name) || names::THINGS.contains(&name)
}

/// Whether the value itself contains a contact, outside of lists of people and of objects
/// of other people.
pub fn has_contact(value: &Value) -> bool {
    each_contact(value, 0, true, &mut |_| true)
}

/// Whether the value contains a contact directly, not in an object inside it.
pub fn has_direct_contact(value: &Value) -> bool {
    each_contact(value, 0, false, &mut |_| true)
}

/// Whether the value contains a phone in the same way, and whether an e-mail address.
pub fn has_kinds(value: &Value) -> (bool, bool) {
    let who = Identity::from_value(value, true);
    (!who.phones.is_empty(), !who.emails.is_empty())
}

/// Returns the members of an object of several contacts, which say what kind each is:
/// `{"main": "…", "home": "…"}`. An object with other texts is not one.
pub fn members(value: &Value, is_contact: impl Fn(&Value) -> bool) -> Vec<(&String, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    let given = fields.filter(|(_, node)| !is_absent(node));
    let mut found = Vec::new();
    for (key, node) in given {
        if !node.is_string() || is_others(&fold(key)) || !is_contact(node) {
            return Vec::new();
        }
        found.push((key, node));
    }
    found
}

enum Contact {
    /// Only the digits.
    Phone(String),
    Email(String),
}

/// Passes the contacts of the value to `found` until it returns true.
fn each_contact(
    value: &Value,
    depth: usize,
    in_containers: bool,
    found: &mut dyn FnMut(Contact) -> bool,
) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    depth <= MAX_DEPTH
        && fields.iter().any(|(key, value)| {
            let name = fold(key);
            let kinds = kinds(&name);
            match value {
                // A person under the name of a phone is another person.
                Value::Array(items) if kinds != (false, false) => items.iter().any(|item| {
                    !has_both(item)
                        && (contact(item, kinds).is_some_and(&mut *found)
                            || each_contact(item, depth + 1, in_containers, found))
                }),
                Value::Object(_) if names::is_container(&name) => {
                    in_containers && each_contact(value, depth + 1, in_containers, found)
                }
                value => !has_both(value) && contact(value, kinds).is_some_and(&mut *found),
            }
        })
}

/// Whether a folded name asks for a phone, and for an e-mail address.
pub fn kinds(name: &str) -> (bool, bool) {
    (
        names::is_phone(name) || is_phone_name(name),
        names::is_email(name) || is_email_name(name),
    )
}

fn contact(value: &Value, (is_phone, is_email): (bool, bool)) -> Option<Contact> {
    let phone = || phone_text(value).filter(|text| looks_like_phone(text));
    let email = || addresses(&email_text(value)?).into_iter().next();
    let phone = is_phone.then(phone).flatten();
    phone
        .map(|text| Contact::Phone(digits(&text)))
        .or_else(|| Some(Contact::Email(is_email.then(email)??.to_lowercase())))
}

/// The identity of a person.
#[derive(Default)]
pub struct Identity {
    name: Option<String>,
    phones: Vec<String>,
    emails: Vec<String>,
}

impl Identity {
    /// Returns the identity of a person with these contacts and no name.
    pub fn new<'t>(
        phones: impl IntoIterator<Item = &'t String>,
        emails: impl IntoIterator<Item = &'t String>,
    ) -> Self {
        Self {
            name: None,
            phones: phones.into_iter().map(|phone| digits(phone)).collect(),
            emails: emails
                .into_iter()
                .flat_map(|email| addresses(email))
                .map(|email| email.to_lowercase())
                .collect(),
        }
    }

    fn from_value(value: &Value, in_containers: bool) -> Self {
        let mut who = Self {
            name: name(value),
            ..Self::default()
        };
        each_contact(value, 0, in_containers, &mut |contact| {
            match contact {
                Contact::Phone(number) => who.phones.push(number),
                Contact::Email(address) => who.emails.push(address),
            }
            // An object with more contacts is not a person.
            who.phones.len() + who.emails.len() > MAX_COMPARED
        });
        who
    }

    fn has_phone(&self, number: &str) -> bool {
        self.phones.iter().any(|own| {
            own.len().min(number.len()) >= 8 && (own.ends_with(number) || number.ends_with(own))
        })
    }

    fn has(&self, contact: &Contact) -> bool {
        match contact {
            Contact::Phone(number) => self.has_phone(number),
            Contact::Email(address) => self.emails.contains(address),
        }
    }

    /// Whether all contacts of the value belong to this person.
    fn has_all_of(&self, value: &Value) -> bool {
        !each_contact(value, 0, true, &mut |contact| !self.has(&contact))
    }

    /// Whether these are two people. One person may have two phones, and one part of a body
    /// may have the phone while another has the address. But two parts that share neither a
    /// phone nor an address are two people if both have both, or if their names differ.
    fn is_other_than(&self, other: &Self) -> bool {
        let share = other.phones.iter().any(|number| self.has_phone(number))
            || other
                .emails
                .iter()
                .any(|address| self.emails.contains(address));
        let (differ, same) = match (&self.name, &other.name) {
            (Some(own), Some(other)) => {
                let same = own.starts_with(other.as_str()) || other.starts_with(own.as_str());
                (!same, same)
            }
            _ => (false, false),
        };
        let phones = !self.phones.is_empty() && !other.phones.is_empty();
        let emails = !self.emails.is_empty() && !other.emails.is_empty();
        !share && !same && (phones && emails || (phones || emails) && differ)
    }
}

/// Returns a name, for comparison.
fn name(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let of = |names: &[&str]| {
        fields
            .iter()
            .filter(|(key, _)| names.contains(&fold(key).as_str()))
            .find_map(|(_, value)| text_of_node(value))
    };
    let text = of(names::FULL_NAMES).or_else(|| of(&FIRST_NAMES))?;
    Some(fold(&text)).filter(|name| !name.is_empty())
}

/// Returns the places of two people in a value that would be read as one lead: in the value
/// itself, in objects that are known to hold a lead, and in the object that is the person.
pub fn at_odds(value: &Value, person: Option<&People<'_>>) -> Vec<String> {
    let mut parts = PartComparison::default();
    parts.visit(value, 0);
    if let Some(person) = person {
        parts.trail = vec![person.path.clone()];
        parts.visit(person.value, 0);
    }
    parts.odd
}

#[derive(Default)]
struct PartComparison {
    trail: Vec<String>,
    known: Vec<(String, Identity)>,
    odd: Vec<String>,
}

impl PartComparison {
    fn visit(&mut self, value: &Value, depth: usize) {
        let Value::Object(fields) = value else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        self.compare(Identity::from_value(value, false));
        for (key, inner) in fields {
            let name = fold(key);
            // An object under one of these names may be a person.
            let is_name = matches!(name.as_str(), "name" | "nome" | "nombre");
            if !is_name && !names::is_container(&name) {
                continue;
            }
            // Answers are in lists. Elsewhere a part may look like one: `id` beside `answers`.
            let may_answer = inner.is_array() && names::PAIR_LISTS.contains(&name.as_str());
            let parts = match inner {
                Value::Array(list) => list,
                one => std::slice::from_ref(one),
            };
            self.trail.push(key.clone());
            for part in parts {
                if self.known.len() >= MAX_COMPARED || !self.odd.is_empty() {
                    return;
                }
                // A person's name may be in one object and the phone in another.
                self.compare(Identity::from_value(part, true));
                if !(may_answer && pairs::is_pair(part)) {
                    self.visit(part, depth + 1);
                }
            }
            self.trail.pop();
        }
    }

    fn compare(&mut self, who: Identity) {
        if who.phones.is_empty() && who.emails.is_empty() {
            return;
        }
        let path = readable_path(&self.trail);
        let mut known = self.known.iter();
        if self.odd.is_empty()
            && let Some((other, _)) = known.find(|(_, known)| known.is_other_than(&who))
        {
            self.odd = vec![other.clone(), path.clone()];
        }
        self.known.push((path, who));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_sdk::serde_json::json;

    #[test]
    fn lists_of_people_are_found_under_any_name_and_others_are_not() {
        let check = |body: Value, expect: &[&str]| {
            let found = candidates(&body, None);
            let paths: Vec<_> = found.iter().map(|people| people.path.as_str()).collect();
            assert_eq!(paths, expect, "{body}");
        };
        let ana = json!({"nome": "Ana", "telefone": "11900000001"});
        check(json!({"total": 1, "dados": [ana]}), &["dados"]);
        check(json!({"a": {"b": [1, ana], "c": [ana]}}), &["a.b", "a.c"]);
        check(
            json!({"quem": [{"contato": {"email": "a@example.com"}}]}),
            &["quem"],
        );
        check(
            json!({"pedidos": [{"telefones": ["11900000001"]}]}),
            &["pedidos"],
        );
        // People inside of a found person do not count.
        check(
            json!({"a": [{"email": "a@example.com", "b": [ana]}]}),
            &["a"],
        );
        // A single person is found as well.
        check(json!({"ficha": ana, "b": [ana]}), &["b", "ficha"]);
        check(json!({"a": [{"b": ana}, [ana]]}), &["a.0.b", "a.1"]);
        check(
            json!({"a": {"telefone": {"ddd": "11", "numero": "900000001"}}}),
            &["a"],
        );
        // The phones of one person are not people.
        check(
            json!({"phones": [{"type": "home", "phone": "11900000001"}]}),
            &[""],
        );
        for none in [
            json!({"answers": [{"name": "phone", "value": "11900000001"}]}),
            json!({"items": [{"name": "Sofá", "email": "x"}]}),
            json!({"imoveis": [{"vendedor": {"telefone": "11900000001"}}]}),
            json!({"corretores": [ana], "conjuge": ana, "client": {"contact": ana}}),
            json!({"empresa": ana, "imovel": ana}),
            json!({"a": [{"b": "11900000001", "c": "a@example.com"}]}),
            json!([]),
        ] {
            check(none, &[]);
        }
    }

    #[test]
    fn two_people_are_distinguished_and_parts_of_one_are_not() {
        let odd = |body: Value| at_odds(&body, None);
        let ana = json!({"nome": "Ana", "telefone": "11900000001", "email": "a@example.com"});
        let bia = json!({"nome": "Bia", "telefone": "11900000002", "email": "b@example.com"});
        assert_eq!(
            odd(json!({"lead": ana, "contact": bia})),
            ["contact", "lead"]
        );
        assert_eq!(
            odd(json!({"data": {"lead": ana, "contact": bia}})),
            ["data.contact", "data.lead"]
        );
        assert_eq!(
            odd(json!({"nome": "Bia", "telefone": "11900000002", "contatos": [ana]})),
            ["", "contatos"]
        );
        let unnamed = json!({"telefone": "11900000003", "email": "c@example.com"});
        assert_eq!(
            odd(json!({"lead": unnamed, "contact": bia})),
            ["contact", "lead"]
        );
        for one in [
            json!({"lead": {"nome": "Ana", "telefone": "11900000001"}, "contact": {"nome": "A.", "email": "a@example.com"}}),
            json!({"lead": ana, "contact": {"nome": "Ana Lima", "telefone": "1130000000"}}),
            json!({"lead": ana, "contact": {"nome": "Lima", "telefone": "+55 11 90000-0001"}}),
            json!({"contact": {"nome": "Lima", "telefone": "11900000001"}, "lead": {"nome": "Ana", "telefone": "+55 11 90000-0001"}}),
            json!({"telefone": "11900000001", "contact": {"telefone": "11900000002"}}),
            json!({"lead": ana, "client": bia}),
        ] {
            assert!(odd(one.clone()).is_empty(), "{one}");
        }
    }
}
