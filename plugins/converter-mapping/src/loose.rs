//! Questions and answers in shapes and places that only their content gives away: a list
//! of names and values under any name, objects with a label and an answer under keys
//! without a meaning, contacts whose name is their type.
//!
//! They count only if a phone or an e-mail address is among them, so that a shopping list
//! is not read as a form.

use std::collections::BTreeSet;

use leadhost_sdk::{
    digits, is_absent,
    serde_json::{Map, Value},
    text_of,
};

use crate::fold::fold;
use crate::heuristics::{is_full_phone, is_name_question, is_others, looks_like_email};
use crate::names;
use crate::pairs::{self, Pair, chosen, contact_hint, is_record};
use crate::people::{has_contact, is_business, is_contact_name};
use crate::record::text_of_node;
use crate::view::phone_text;

/// Folded keys of a question's name; those that say most come first.
const NAMES: [&str; 34] = [
    "columnid",
    "name",
    "key",
    "slug",
    "question",
    "pergunta",
    "pregunta",
    "label",
    "title",
    "columnname",
    "fieldname",
    "fieldlabel",
    "field",
    "nome",
    "nombre",
    "campo",
    "chave",
    "clave",
    "titulo",
    "rotulo",
    "etiqueta",
    "atributo",
    "attribute",
    "column",
    "parameter",
    "property",
    "propriedade",
    "variable",
    "fieldkey",
    "fieldcode",
    "code",
    "k",
    "questionid",
    "id",
];

/// Folded keys of a readable name.
const LABELS: [&str; 10] = [
    "columnname",
    "label",
    "fieldlabel",
    "title",
    "titulo",
    "question",
    "pergunta",
    "pregunta",
    "friendlyname",
    "text",
];

/// Folded keys of an answer. A text is the question if there is another answer.
const VALUES: [&str; 21] = [
    "stringvalue",
    "value",
    "values",
    "answer",
    "answers",
    "resposta",
    "respostas",
    "respuesta",
    "respuestas",
    "response",
    "valor",
    "valores",
    "fieldvalue",
    "answervalue",
    "answerdetails",
    "textanswers",
    "content",
    "conteudo",
    "texto",
    "text",
    "v",
];

/// Folded keys of what kind of answer it is, which may be its only name.
pub const KINDS: [&str; 8] = [
    "type",
    "tipo",
    "kind",
    "channel",
    "canal",
    "code",
    "fieldcode",
    "predefinedfield",
];

/// Maximum objects around one answer.
const MAX_WRAPPED: usize = 5;

/// Returns the pairs of a list, or of an object whose keys say less than its members, if a
/// contact is among them.
fn pairs(list: &Value) -> Vec<Pair<'_>> {
    with(Pair::is_contact, list)
}

/// Returns the pairs of a list of answers in the same way. In an answer, a contact counts
/// whatever the question was.
fn answered(list: &Value) -> Vec<Pair<'_>> {
    let asks = match list {
        Value::Object(fields) => fields.values().all(is_asked),
        _ => true,
    };
    with(
        |pair| pair.is_contact() || asks && answer_kinds(pair) != (false, false),
        list,
    )
}

/// Whether an answer is a phone, and whether it is an e-mail address, whatever the question.
fn answer_kinds(pair: &Pair<'_>) -> (bool, bool) {
    match text_of_node(pair.value) {
        Some(text) if !is_others(&fold(&pair.name)) => {
            (is_full_phone(&text), looks_like_email(&text))
        }
        _ => (false, false),
    }
}

/// Whether the value names a question.
fn is_asked(value: &Value) -> bool {
    const ASKING: [&str; 7] = [
        "questionid",
        "question",
        "pergunta",
        "pregunta",
        "title",
        "label",
        "text",
    ];
    let mut fields = value.as_object().into_iter().flatten();
    fields.any(|(key, _)| ASKING.contains(&fold(key).as_str()))
}

fn with<'a>(wanted: impl Fn(&Pair<'a>) -> bool, list: &'a Value) -> Vec<Pair<'a>> {
    let pairs = match list {
        Value::Array(items) => listed(items, list).unwrap_or_default(),
        Value::Object(fields) if !has_contact(list) => members(fields),
        _ => Vec::new(),
    };
    if pairs.iter().any(wanted) {
        pairs
    } else {
        Vec::new()
    }
}

/// A list of pairs that is not read in any case.
pub struct List<'a> {
    pub pairs: Vec<Pair<'a>>,
    /// Whether its name says that it contains fields.
    pub is_form: bool,
    /// Whether its name says that it contains a person's answers.
    pub is_answered: bool,
}

impl<'a> List<'a> {
    /// Under a name that says nothing, the pairs must say more: a product may be named
    /// after a phone, and have a price like one.
    fn new(name: &str, list: &'a Value) -> Option<Self> {
        let is_answered = names::QUESTIONS.contains(&name);
        let is_form = name.is_empty()
            || names::PAIR_LISTS.contains(&name)
            || names::FIELD_LISTS.iter().any(|part| name.contains(part));
        let mut others = names::SETTINGS.iter().chain(names::GOODS);
        let mut is_other = || others.any(|part| name.contains(part));
        let pairs = if is_answered {
            answered(list)
        } else {
            pairs(list)
        };
        let counts = if is_form {
            !pairs.is_empty()
        } else {
            !is_other() && pairs.iter().any(is_certain)
        };
        counts.then_some(Self {
            pairs,
            is_form,
            is_answered,
        })
    }

    /// Returns the values of the contacts.
    pub fn contacts(&self) -> BTreeSet<String> {
        let contacts = self.pairs.iter().filter(|pair| pair.is_contact());
        contacts.map(|pair| fold(&pair.value.to_string())).collect()
    }

    /// Whether there is a phone, and whether there is an e-mail address.
    pub fn kinds(&self) -> (bool, bool) {
        let kinds = self.pairs.iter().map(|pair| {
            let (phone, email) = pair.kinds();
            let (is_phone, is_email) = if self.is_answered {
                answer_kinds(pair)
            } else {
                (false, false)
            };
            (phone || is_phone, email || is_email)
        });
        kinds.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1))
    }
}

/// Whether the pair has exactly a usual name, or its kind, and the digits of a phone with
/// its area code.
fn is_certain(pair: &Pair<'_>) -> bool {
    let is_named = || {
        let mut names = [&pair.name, &pair.label].into_iter();
        names.any(|name| names::is_contact(&fold(name)))
    };
    let (is_phone, is_email) = pair.kinds();
    let is_complete = || phone_text(pair.value).is_some_and(|text| digits(&text).len() >= 10);
    (pair.hint.is_some() || is_named()) && (is_email || is_phone && is_complete())
}

/// Returns the lists of pairs directly in an object: under any name that is not other
/// people's, and its own members. Without the lists whose contacts are read in any case.
pub fn beside(value: &Value) -> Vec<List<'_>> {
    let Value::Object(fields) = value else {
        return Vec::new();
    };
    // Without a part there is no list.
    if !fields
        .values()
        .any(|part| part.is_object() || part.is_array())
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (key, inner) in fields {
        let name = fold(key);
        let name = name.as_str();
        let is_usual = names::PAIR_LISTS.contains(&name);
        let is_read =
            inner.is_array() || inner.is_object() && (is_usual || !names::is_container(name));
        if FORMS.contains(&name) {
            found.extend(in_form(inner));
        } else if is_read && !is_others(name) && !is_business(name, false) {
            let (phone, email) = if is_usual {
                pairs::guessed_kinds(inner, value)
            } else {
                (false, false)
            };
            let has_more = |list: &List<'_>| {
                let kinds = list.kinds();
                kinds.0 && !phone || kinds.1 && !email
            };
            found.extend(List::new(name, inner).filter(has_more));
        }
    }
    found.extend(List::new("", value));
    found
}

/// Objects that describe the form, and may contain its answers.
const FORMS: [&str; 2] = ["form", "formulario"];

fn in_form(form: &Value) -> impl Iterator<Item = List<'_>> {
    let fields = form.as_object().into_iter().flatten();
    let own = fields.filter(|(key, _)| !is_others(&fold(key)));
    own.filter_map(|(_, inner)| List::new("", inner))
}

/// Whether the value is a question with its answer.
pub fn is_pair(value: &Value) -> bool {
    pair(value, None, value).is_some()
}

/// Whether the value is a question whose answer is a phone or an e-mail address.
pub fn is_contact(value: &Value) -> bool {
    pair(value, None, value).is_some_and(|pair| pair.is_contact())
}

/// Returns one person's questions and answers with a contact: a list under this name, or those in an object.
pub fn sheet<'a>(name: &str, value: &'a Value) -> Vec<Pair<'a>> {
    let usual = |name: &str, list: &'a Value| {
        let is_usual = names::PAIR_LISTS.contains(&name);
        let pairs = is_usual.then(|| pairs::guessed(list, value));
        pairs.filter(|pairs| pairs.iter().any(Pair::is_contact))
    };
    let name = fold(name);
    match value {
        Value::Object(fields) => {
            let lists = fields
                .iter()
                .filter_map(|(key, list)| usual(&fold(key), list));
            let beside = beside(value).into_iter().map(|list| list.pairs);
            lists.chain(beside).flatten().collect()
        }
        Value::Array(_) => usual(&name, value)
            .or_else(|| Some(List::new(&name, value)?.pairs))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Whether the value is one person's questions and answers with a contact.
pub fn is_sheet(value: &Value) -> bool {
    value.is_object() && !sheet("", value).is_empty()
}

/// Returns the pairs of a list; `None` if it has other elements.
fn listed<'a>(items: &'a [Value], list: &'a Value) -> Option<Vec<Pair<'a>>> {
    let mut pairs = Vec::new();
    for item in items {
        match pair(item, None, list) {
            Some(pair) => pairs.push(pair),
            None if says_nothing(item) => {}
            None => return None,
        }
    }
    Some(pairs)
}

/// Returns the members of an object that are questions with their answers.
fn members(fields: &Map<String, Value>) -> Vec<Pair<'_>> {
    let members = fields.iter();
    members
        .filter_map(|(key, member)| pair(member, Some(key), member))
        .collect()
}

/// Whether the question has no answer.
fn says_nothing(item: &Value) -> bool {
    let mut answers = answers(item).peekable();
    is_absent(item) || answers.peek().is_some() && answers.all(|(_, value)| is_absent(value))
}

/// Returns the values that may be answers, likeliest first, with their folded keys.
pub fn answers(item: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let fields = item.as_object().into_iter().flatten();
    let mut found: Vec<_> = fields
        .filter_map(|(key, value)| {
            let name = fold(key);
            let rank = VALUES.iter().position(|known| *known == name)?;
            Some((rank, value))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(rank, value)| (VALUES[rank], value))
}

fn pair<'a>(item: &'a Value, key: Option<&str>, list: &'a Value) -> Option<Pair<'a>> {
    let fields = item.as_object()?;
    let (answer, value) = answers(item).find(|(_, value)| !is_absent(value))?;
    // A person is not a question.
    if fields.keys().any(|key| names::is_contact(&fold(key))) || is_record(item) {
        return None;
    }
    let folded: Vec<_> = fields
        .iter()
        .map(|(key, value)| (fold(key), value))
        .collect();
    let texts = |names: &[&str]| -> Vec<String> {
        let named = names.iter().filter(|name| **name != answer);
        let found = named.filter_map(|name| {
            let (_, value) = folded.iter().find(|(key, _)| key == name)?;
            text_in(value)
        });
        found.collect()
    };
    let (mut names, labels) = (texts(&NAMES), texts(&LABELS));
    let all: Vec<_> = names.iter().chain(&labels).collect();
    let hint = contact_hint(item, &all);
    if names.is_empty() && labels.is_empty() {
        names.extend(texts(&KINDS));
    }
    // A key alone is the name of a field, whose value may be an object.
    if names.is_empty() && labels.is_empty() {
        return None;
    }
    names.extend(key.map(str::to_owned));
    let label = labels.into_iter().next();
    let telling = names.iter().find(|name| is_telling(name));
    let name = telling.or(names.first()).or(label.as_ref())?.clone();
    Some(Pair {
        label: label.unwrap_or_else(|| name.clone()),
        name,
        value: unwrapped(chosen(value)),
        hint,
        list,
        whole: true,
    })
}

/// Whether the name asks for a contact or a name.
fn is_telling(name: &str) -> bool {
    let folded = fold(name);
    let name = folded.as_str();
    is_contact_name(name)
        || names::FULL_NAMES.contains(&name)
        || names::NAMES.contains(&name)
        || is_name_question(name)
}

/// Returns the text of a name, or of an object that describes the question.
fn text_in(value: &Value) -> Option<String> {
    const TEXTS: [&str; 8] = [
        "name", "nome", "label", "title", "titulo", "text", "key", "ref",
    ];
    text_of(value).or_else(|| {
        let inside = TEXTS.iter().filter_map(|name| value.get(name));
        inside.filter_map(text_of).next()
    })
}

/// Returns the answer inside of objects and lists that contain nothing else.
fn unwrapped(value: &Value) -> &Value {
    let mut value = value;
    for _ in 0..MAX_WRAPPED {
        let only = match value {
            Value::Object(fields) if fields.len() == 1 => fields.values().next(),
            Value::Array(items) if items.len() == 1 && items[0].is_object() => items.first(),
            _ => None,
        };
        match only {
            Some(inner) => value = inner,
            None => break,
        }
    }
    value
}
