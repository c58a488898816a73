//! Questions and answers: sources with user-defined forms send a list of names and
//! values instead of fields.

use leadhost_sdk::path::{Path, Step, get, walk};
use leadhost_sdk::{is_absent, serde_json::Value, text_of};

use crate::config::{Labels, Pairs};
use crate::fold::fold;
use crate::heuristics::{is_fax, is_others, looks_like_email, looks_like_phone};
use crate::loose;
use crate::names::{self, is_contact};
use crate::people::{self, is_contact_name, kinds};
use crate::view::{email_text, phone_text};

/// One question with its answer.
pub struct Pair<'a> {
    /// The source's name for it: a key, or a reference.
    pub name: String,
    /// The readable name, for people and for the attribute.
    pub label: String,
    pub value: &'a Value,
    /// `email` or `phone`, if the source says that the answer is one.
    pub hint: Option<&'static str>,
    /// The list that it is in.
    pub list: *const Value,
    /// Whether the list contains only its pairs, so that they replace it.
    pub whole: bool,
}

impl Pair<'_> {
    /// Whether this is a phone, and whether it is an e-mail address: by its names or its
    /// kind, and by its value.
    pub fn kinds(&self) -> (bool, bool) {
        let asked = [&self.name, &self.label].map(|name| kinds(&fold(name)));
        let is_phone = self.hint == Some("phone") || asked.iter().any(|asked| asked.0);
        let is_phone = is_phone && !self.is_fax();
        let is_email = self.hint == Some("email") || asked.iter().any(|asked| asked.1);
        (
            is_phone && has_text(self.value, phone_text, looks_like_phone),
            is_email && has_text(self.value, email_text, looks_like_email),
        )
    }

    /// Whether a name says that this is a fax, whatever its kind is.
    pub fn is_fax(&self) -> bool {
        [&self.name, &self.label]
            .iter()
            .any(|name| is_fax(&fold(name)))
    }

    /// Whether this is a phone or an e-mail address.
    pub fn is_contact(&self) -> bool {
        self.kinds() != (false, false)
    }
}

/// Whether the value, or an element of it, has such a text.
fn has_text(value: &Value, text: fn(&Value) -> Option<String>, fits: fn(&str) -> bool) -> bool {
    let nodes = match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    };
    nodes
        .iter()
        .any(|node| text(node).is_some_and(|text| fits(&text)))
}

/// Returns the pairs that a configuration describes.
pub fn configured<'a>(config: &Pairs, item: &'a Value, root: &'a Value) -> Vec<Pair<'a>> {
    let first = |paths: &[Path], of: &'a Value| {
        paths
            .iter()
            .find_map(|path| path.find(of, root).into_iter().next())
    };
    let mut out = Vec::new();
    for list in config.list.find(item, root) {
        let begin = out.len();
        let mut whole = true;
        for element in elements(list) {
            let name = first(&config.name, element).and_then(text_of);
            let (Some(name), Some(value)) = (name, first(&config.value, element)) else {
                whole &= says_nothing(element);
                continue;
            };
            let label = first(&config.label, element).and_then(text_of);
            let label = label.or_else(|| joined(config.labels.as_ref()?, element, item, root));
            out.push(Pair {
                label: label.unwrap_or_else(|| name.clone()),
                name,
                value,
                hint: hint(element),
                list,
                whole: true,
            });
        }
        out[begin..].iter_mut().for_each(|pair| pair.whole = whole);
    }
    out
}

/// Returns a pair's readable name from the list of names.
fn joined(labels: &Labels, pair: &Value, item: &Value, root: &Value) -> Option<String> {
    let text = |path: &Path, of: &Value| path.find(of, root).first().and_then(|v| text_of(v));
    let id = text(&labels.matches, pair)?;
    let lists = labels.list.find(item, root).into_iter();
    let mut entries = lists.flat_map(elements);
    let entry = entries.find(|entry| text(&labels.id, entry).as_deref() == Some(id.as_str()))?;
    text(&labels.label, entry)
}

/// Returns the elements of an array, the values of an object, or a lone element itself.
fn elements(list: &Value) -> Vec<&Value> {
    match list {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) if fields.values().all(Value::is_object) => fields.values().collect(),
        one => vec![one],
    }
}

/// Returns the pairs in a list or an object of one of the usual shapes. `beside` is
/// the object that contains it, for names that are separate from answers.
pub fn guessed<'a>(list: &'a Value, beside: &'a Value) -> Vec<Pair<'a>> {
    let usual = usual(list, beside);
    // Records are leads of their own.
    let mut items = list.as_array().into_iter().flatten();
    let is_lead = |item| raw(item, None, list, &[]).is_some() && is_record(item);
    if usual.iter().all(|pair| pair.value.is_object()) && items.any(is_lead) {
        Vec::new()
    } else {
        usual
    }
}

/// Whether there is a phone among the pairs of a list of one of the usual shapes, and
/// whether an e-mail address.
pub fn guessed_kinds(list: &Value, beside: &Value) -> (bool, bool) {
    let pairs = guessed(list, beside);
    let kinds = pairs.iter().map(Pair::kinds);
    kinds.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1))
}

fn usual<'a>(list: &'a Value, beside: &'a Value) -> Vec<Pair<'a>> {
    match list {
        Value::Array(items) => {
            let titles = titles(beside);
            let mut pairs: Vec<Pair<'a>> = Vec::new();
            let mut whole = true;
            for item in items {
                match pair(item, None, list, &titles) {
                    Some(pair) => pairs.push(pair),
                    None => whole &= says_nothing(item),
                }
            }
            pairs.iter_mut().for_each(|pair| pair.whole = whole);
            pairs
        }
        // Form builders index the fields by name.
        Value::Object(fields)
            if !fields.is_empty()
                && fields
                    .values()
                    .all(|field| member(field, "value").is_some()) =>
        {
            fields
                .iter()
                .filter_map(|(key, item)| pair(item, Some(key), list, &[]))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Keys of an answer.
const VALUES: [&str; 11] = [
    "string_value",
    "value",
    "values",
    "answer",
    "answers",
    "resposta",
    "respuesta",
    "response",
    "text",
    "valor",
    "content",
];

/// Those that may be the question's as well.
const QUESTIONS_TOO: [&str; 2] = ["text", "content"];

/// Returns the member of an object, whose name may be in another case.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    get(object.as_object()?, name)
}

/// Whether the question has no answer.
fn says_nothing(item: &Value) -> bool {
    let answers = VALUES.iter().filter_map(|name| member(item, name));
    let mut answers = answers.peekable();
    is_absent(item) || answers.peek().is_some() && answers.all(is_absent)
}

/// Whether a list element is a question with its answer.
pub fn is_pair(item: &Value) -> bool {
    pair(item, None, item, &[]).is_some()
}

/// Whether an object is a record with a person in it, though its names look like a question with its answer:
/// an `id` beside `answers` that are a person's fields. The person in the answer to a question is another
/// one.
pub fn is_record(item: &Value) -> bool {
    const ASKING: [&str; 5] = ["question", "pergunta", "pregunta", "label", "title"];
    const IDS: [&str; 2] = ["id", "key"];
    let text = |names: &[&str]| {
        let values = names.iter().filter_map(|name| member(item, name));
        values.filter_map(text_of).next()
    };
    if text(&ASKING).is_some() {
        return false;
    }
    let name = text(&["column_id", "name", "slug", "field_name", "field"]);
    if let Some(name) = &name
        && (is_contact_name(name) || is_others(&fold(name)))
    {
        return false;
    }
    let id = text(&IDS).filter(|id| !is_others(&fold(id)));
    let is_apart = name.is_none() && id.is_some();
    let mut values = VALUES.iter().filter_map(|name| member(item, name));
    people::has_contact(item)
        || values.any(|value| holds_answers(value) || is_apart && people::has_contact(value))
}

/// Whether the value is a list of questions and answers with a contact, or contains one
/// under a usual name.
fn holds_answers(value: &Value) -> bool {
    let asks = |list: &Value| {
        let items = list.as_array().into_iter().flatten();
        let mut pairs = items.filter_map(|item| raw(item, None, list, &[]));
        pairs.any(|pair| pair.is_contact())
    };
    let fields = value.as_object().into_iter().flatten();
    let mut lists = fields.filter(|(key, _)| names::PAIR_LISTS.contains(&fold(key).as_str()));
    asks(value) || lists.any(|(_, list)| asks(list))
}

/// The ids and titles of questions.
type Titles<'a> = Vec<(&'a Value, &'a Value)>;

fn titles(beside: &Value) -> Titles<'_> {
    let questions = member(beside, "definition")
        .and_then(|definition| member(definition, "fields"))
        .or_else(|| member(beside, "questions"))
        .and_then(Value::as_array);
    let entries = questions.into_iter().flatten();
    entries
        .filter_map(|question| Some((member(question, "id")?, member(question, "title")?)))
        .collect()
}

fn pair<'a>(
    item: &'a Value,
    key: Option<&str>,
    list: &'a Value,
    titles: &[(&'a Value, &'a Value)],
) -> Option<Pair<'a>> {
    let pair = raw(item, key, list, titles)?;
    (typed(item).is_some() || !is_record(item)).then_some(pair)
}

/// Keys of the question.
const NAMES: [&str; 13] = [
    "column_id",
    "name",
    "key",
    "slug",
    "question",
    "pergunta",
    "pregunta",
    "label",
    "title",
    "column_name",
    "field_name",
    "field",
    "id",
];

/// Returns the value whose key is the name of its type. A field of the type `name` has the
/// question under `name`.
fn typed(item: &Value) -> Option<&Value> {
    let kind = member(item, "type")?.as_str()?.to_ascii_lowercase();
    let is_question = kind == "type" || NAMES.contains(&kind.as_str());
    if is_question {
        None
    } else {
        member(item, &kind)
    }
}

/// Returns a pair, without asking whether it is a record.
fn raw<'a>(
    item: &'a Value,
    key: Option<&str>,
    list: &'a Value,
    titles: &[(&'a Value, &'a Value)],
) -> Option<Pair<'a>> {
    const LABELS: [&str; 8] = [
        "column_name",
        "label",
        "title",
        "question",
        "pergunta",
        "pregunta",
        "friendlyName",
        "name",
    ];
    let fields = item.as_object()?;
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| get(fields, name).and_then(text_of))
    };
    let field = get(fields, "field").filter(|field| field.is_object());
    let name = match (key, field) {
        (Some(key), _) => key.to_owned(),
        (None, Some(field)) => ["ref", "id", "name"]
            .iter()
            .find_map(|name| member(field, name).and_then(text_of))?,
        (None, None) => text(&NAMES)?,
    };
    let typed = typed(item);
    // A person with a name and a text is not a question.
    if typed.is_none() && fields.keys().any(|key| is_contact(&fold(key))) {
        return None;
    }
    let value = |name: &&str| get(fields, name).filter(|value| !is_absent(value));
    // `{"type": "email", "email": "E-mail", "value": "..."}` has the question under its type.
    let telling = VALUES.iter().filter(|name| !QUESTIONS_TOO.contains(*name));
    let value = telling
        .clone()
        .find_map(value)
        .or(typed)
        .or_else(|| VALUES.iter().find_map(value))?;
    let value = chosen(value);
    let title = field.and_then(|field| member(field, "title")).or_else(|| {
        let id = member(field?, "id")?;
        titles
            .iter()
            .find(|(own, _)| *own == id)
            .map(|(_, title)| *title)
    });
    let label = title.and_then(text_of).or_else(|| text(&LABELS));
    let label = label.unwrap_or_else(|| name.clone());
    Some(Pair {
        hint: hint(item),
        label,
        name,
        value,
        list,
        whole: true,
    })
}

/// Returns the choice in an answer to a choice question.
pub fn chosen(value: &Value) -> &Value {
    let inner = ["label", "labels", "other"]
        .iter()
        .find_map(|name| member(value, name));
    inner.unwrap_or(value)
}

fn hint(item: &Value) -> Option<&'static str> {
    let mut kinds = Vec::new();
    for path in [&["type"][..], &["field", "type"]] {
        let steps: Vec<_> = path
            .iter()
            .map(|key| Step::Key((*key).to_owned()))
            .collect();
        walk(item, &steps, &mut kinds);
    }
    kinds
        .iter()
        .find_map(|kind| match fold(kind.as_str()?).as_str() {
            "email" => Some("email"),
            "phone" | "phonenumber" | "tel" | "telephone" | "telefone" => Some("phone"),
            _ => None,
        })
}

/// Returns the kind of contact that an item says it is, in a word of the source, if its answer looks like
/// one: `INPUT_PHONE_NUMBER`, `tipo` with `celular`. Not if its names are for other people's contacts.
pub fn contact_hint(item: &Value, names: &[&String]) -> Option<&'static str> {
    const PHONES: [&str; 9] = [
        "phone",
        "phonenumber",
        "tel",
        "telephone",
        "telefone",
        "telefono",
        "celular",
        "mobile",
        "whatsapp",
    ];
    let fields = item.as_object()?;
    let has = |text: fn(&Value) -> Option<String>, fits: fn(&str) -> bool| {
        loose::answers(item).any(|(_, value)| has_text(value, text, fits))
    };
    let kinds = fields.iter().filter_map(|(key, value)| {
        let is_kind = loose::KINDS.contains(&fold(key).as_str());
        is_kind.then(|| value.as_str().map(fold))?
    });
    let mut kinds = kinds.filter(|kind| !is_others(kind)).peekable();
    if kinds.peek().is_none() || names.iter().any(|name| is_others(&fold(name))) {
        return None;
    }
    for kind in kinds {
        if kind.ends_with("email") && has(email_text, looks_like_email) {
            return Some("email");
        }
        if PHONES.iter().any(|phone| kind.ends_with(phone)) && has(phone_text, looks_like_phone) {
            return Some("phone");
        }
    }
    None
}
