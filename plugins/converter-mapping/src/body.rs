//! Reads a delivery's body, in any format, as one tree of JSON values.
//!
//! The content type counts only if the body agrees with it: senders
//! post JSON as a form and XML as plain text.

use std::collections::BTreeMap;

use leadhost_sdk::addresses::addresses;
use leadhost_sdk::path::{Step, get};
use leadhost_sdk::{
    Content, Delivery, JSON_TEXTS, Problem, content_text, form, multipart, parse_json,
    serde_json::{Map, Value},
    text_of, xml,
};

use crate::config::{Config, Format};
use crate::fold::fold;
use crate::heuristics::{is_full_phone, is_unread_phone};
use crate::people::kinds;

/// Reads the body in the configured format, and decodes the values that are configured as JSON
/// texts.
///
/// # Errors
///
/// [`Problem`] if the body does not have the format.
pub fn read(config: &Config, delivery: &Delivery) -> Result<Value, Problem> {
    let mut body = match config.format {
        Format::Auto => guess(delivery)?,
        Format::Json => delivery.json()?,
        Format::Form => form_tree(delivery),
        Format::Multipart => multipart_tree(delivery)?,
        Format::Xml => xml::parse(&content_text(&delivery.body))?,
    };
    // A sender that serialised the body twice.
    if let Value::String(text) = &body
        && text.trim_start().starts_with(['{', '['])
    {
        body = parse_json(text)?;
    }
    for path in &config.decode {
        decode(&mut body, &path.steps);
    }
    if config.defaults {
        decode_usual(&mut body);
        name_choices(&mut body);
    }
    Ok(body)
}

fn guess(delivery: &Delivery) -> Result<Value, Problem> {
    let not_multipart = match multipart_tree(delivery) {
        Ok(tree) => return Ok(tree),
        Err(problem) => problem,
    };
    let kind = delivery.content_type();
    let text = content_text(&delivery.body);
    let trimmed = without_blanks(&text);
    match trimmed.chars().next() {
        // Some sources send all data in the address.
        None if !delivery.query.is_empty() => Ok(tree_with_plus(delivery.query.clone())),
        None => Err(Problem::new("the body is empty")),
        Some('{' | '[') => parse_json(&text),
        Some('<') => xml::parse(&text),
        Some(_) if kind.ends_with("json") && !is_form(trimmed) => parse_json(&text),
        Some(_) if kind == "multipart/form-data" && trimmed.trim_end().contains('\n') => {
            Err(not_multipart)
        }
        Some(_) if kind == "application/x-www-form-urlencoded" || trimmed.contains('=') => {
            Ok(form_tree(delivery))
        }
        Some('"') => parse_json(&text),
        Some(_) if kind == "multipart/form-data" => Err(not_multipart),
        Some(_) => Err(Problem::new(format!(
            "the body is neither JSON nor XML nor a form (content type `{kind}`)"
        ))),
    }
}

/// Whether a text is a form in spite of its label: names without spaces, each with a value.
fn is_form(text: &str) -> bool {
    let is_field = |field: &str| {
        let name = field.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && !name.contains(['"', '{', ' ', '\n']))
    };
    text.trim_end().split('&').all(is_field)
}

fn form_tree(delivery: &Delivery) -> Value {
    tree_with_plus(match &delivery.body {
        Content::Text(text) => form::fields(text.trim().as_bytes()),
        Content::Bytes(bytes) => form::fields(bytes),
    })
}

/// Returns the fields of a form as a tree. A plus that is not percent-encoded arrives as a space: before
/// the digits of a phone and in an address it is put back, since no person types a space there.
fn tree_with_plus(mut fields: Vec<(String, String)>) -> Value {
    for (name, value) in &mut fields {
        if value.starts_with(' ') && value[1..].starts_with(|c: char| c.is_ascii_digit()) {
            let phone = format!("+{}", &value[1..]);
            if is_full_phone(&phone) && is_unread_phone(&fold(name), &phone) {
                *value = phone;
            }
        }
        if kinds(&fold(name)).1 && value.contains(' ') {
            let email = with_pluses(value);
            if addresses(&email).len() > addresses(value).len() {
                *value = email;
            }
        }
    }
    form::tree_of(&fields)
}

/// Returns a text with a plus in place of each space after the begin of an address.
fn with_pluses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        let is_begin = |last: &str| !last.contains('@') && last.ends_with(char::is_alphanumeric);
        let last = out.rsplit([' ', '+']).next().unwrap_or_default();
        let is_lost = word.contains('@') && is_begin(last);
        out.push(if is_lost { '+' } else { ' ' });
        out.push_str(word);
    }
    out.trim().to_owned()
}

/// Reads the body by its own lines if its content type does not fit. Files are kept by name only.
fn multipart_tree(delivery: &Delivery) -> Result<Value, Problem> {
    let header = delivery.header("content-type").unwrap_or_default();
    let parts = match multipart::parts(header, &delivery.body) {
        Ok(parts) => parts,
        Err(problem) => multipart::detect(&delivery.body).ok_or(problem)?,
    };
    Ok(multipart::tree(&parts))
}

/// Returns a text without the white space and byte order marks before it.
fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Returns the list or object that a text contains as JSON, even if it was serialised twice.
pub fn json_in(text: &str) -> Option<Value> {
    let text = without_blanks(text);
    if !text.starts_with(['{', '[', '"']) {
        return None;
    }
    match parse_json(text).ok()? {
        Value::String(inner) => json_in(&inner),
        value => Some(value),
    }
}

/// Replaces the texts at the path with the JSON that they contain; other texts stay.
fn decode(value: &mut Value, steps: &[Step]) {
    let Some((step, rest)) = steps.split_first() else {
        if let Value::String(text) = value
            && let Ok(inner) = parse_json(without_blanks(text))
        {
            *value = inner;
        }
        return;
    };
    match (step, value) {
        (Step::Key(key), Value::Object(fields)) => {
            if let Some(next) = fields.get_mut(key) {
                decode(next, rest);
            }
        }
        (Step::Index(index), Value::Array(items)) => {
            if let Some(next) = items.get_mut(*index) {
                decode(next, rest);
            }
        }
        (Step::All | Step::Each, Value::Array(items)) => {
            items.iter_mut().for_each(|item| decode(item, rest));
        }
        (Step::All | Step::Each, Value::Object(fields)) => {
            fields.values_mut().for_each(|item| decode(item, rest));
        }
        _ => {}
    }
}

/// Puts the labels of options in place of their ids where an answer has the ids of options beside it:
/// `{"value": ["o1"], "options": [{"id": "o1", "text": "Comprar"}]}`. The parser bounds the depth.
fn name_choices(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(name_choices),
        Value::Object(fields) => {
            fields.values_mut().for_each(name_choices);
            let options = ["options", "choices", "opcoes", "opciones"];
            let Some(labels) = options
                .iter()
                .find_map(|name| labels_of(get(fields, name)?))
            else {
                return;
            };
            for (name, value) in fields {
                const ANSWERS: [&str; 8] = [
                    "value",
                    "values",
                    "answer",
                    "answers",
                    "valor",
                    "resposta",
                    "respuesta",
                    "selected",
                ];
                if ANSWERS.contains(&fold(name).as_str()) {
                    name_chosen(value, &labels);
                }
            }
        }
        _ => {}
    }
}

fn name_chosen(value: &mut Value, labels: &BTreeMap<String, Value>) {
    let chosen = match value {
        Value::Array(chosen) => chosen,
        one => std::slice::from_mut(one),
    };
    let label = |id: &str| labels.get(id).cloned();
    for value in chosen {
        let fields = value.as_object();
        let id = |name: &&str| text_of(get(fields?, name)?);
        let id = text_of(value).or_else(|| IDS.iter().find_map(id));
        // Several ids in one text.
        let each = || {
            let ids = id.as_deref()?.split([',', ';', '|']);
            let all: Option<Vec<_>> = ids.map(|id| text_of(&label(id.trim())?)).collect();
            Some(Value::String(all?.join(", ")))
        };
        if let Some(label) = id.as_deref().and_then(label).or_else(each) {
            *value = label;
        }
    }
}

/// Keys of the id of an option.
const IDS: [&str; 4] = ["id", "key", "value", "code"];

/// Returns the labels of options by their ids.
fn labels_of(options: &Value) -> Option<BTreeMap<String, Value>> {
    let first = |fields: &Map<String, Value>, names: &[&str]| {
        let mut found = names.iter().filter_map(|name| get(fields, name));
        found.find(|value| text_of(value).is_some()).cloned()
    };
    let pair = |option: &Value| {
        let fields = option.as_object()?;
        let id = first(fields, &IDS)?;
        Some((
            text_of(&id)?,
            first(fields, &["label", "text", "title", "name", "value"])?,
        ))
    };
    let labels: BTreeMap<_, _> = match options {
        Value::Array(options) => options.iter().filter_map(pair).collect(),
        Value::Object(options) => {
            let named = options.iter().filter(|(_, label)| label.is_string());
            named
                .map(|(id, label)| (id.clone(), label.clone()))
                .collect()
        }
        _ => return None,
    };
    (!labels.is_empty()).then_some(labels)
}

/// Form builders send the whole answer as JSON in one field of a form.
fn decode_usual(body: &mut Value) {
    let Value::Object(fields) = body else {
        return;
    };
    for (name, value) in fields {
        if let Value::String(text) = value
            && without_blanks(text).starts_with(['{', '['])
            && JSON_TEXTS.contains(&fold(name).as_str())
            && let Ok(inner) = parse_json(without_blanks(text))
        {
            *value = inner;
        }
    }
}
