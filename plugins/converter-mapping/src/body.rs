//! Reads a delivery's body, in any format, as one tree of JSON values.
//!
//! The content type counts only if the body agrees with it: senders
//! post JSON as a form and XML as plain text.

use leadhost_sdk::{
    Content, Delivery, Problem, content_text, form, multipart, parse_json,
    serde_json::{Map, Value},
};

use crate::config::{Config, Format};
use crate::fold::fold;
use crate::path::Step;
use crate::xml;

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
    }
    Ok(body)
}

fn guess(delivery: &Delivery) -> Result<Value, Problem> {
    let kind = delivery.content_type();
    if kind == "multipart/form-data" {
        return multipart_tree(delivery);
    }
    let text = content_text(&delivery.body);
    let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    match trimmed.chars().next() {
        // Some sources send all data in the address.
        None if !delivery.query.is_empty() => Ok(form::tree_of(&delivery.query)),
        None => Err(Problem::new("the body is empty")),
        Some('{' | '[') => parse_json(&text),
        Some('<') => xml::parse(&text),
        Some(_) if kind.ends_with("json") => parse_json(&text),
        Some(_) if kind == "application/x-www-form-urlencoded" || trimmed.contains('=') => {
            Ok(form_tree(delivery))
        }
        Some('"') => parse_json(&text),
        Some(_) => Err(Problem::new(format!(
            "the body is neither JSON nor XML nor a form (content type `{kind}`)"
        ))),
    }
}

fn form_tree(delivery: &Delivery) -> Value {
    match &delivery.body {
        Content::Text(text) => form::tree(text.trim().as_bytes()),
        Content::Bytes(bytes) => form::tree(bytes),
    }
}

/// Files are kept by name only.
fn multipart_tree(delivery: &Delivery) -> Result<Value, Problem> {
    let header = delivery.header("content-type").unwrap_or_default();
    let parts = multipart::parts(header, &delivery.body)?;
    let fields: Vec<(String, String)> = parts
        .iter()
        .map(|part| {
            let text = part.file_name.clone().unwrap_or_else(|| part.text());
            (part.name.clone(), text)
        })
        .collect();
    Ok(form::tree_of(&fields))
}

/// Returns the list or object that a text contains as JSON, even if it was serialised twice.
pub fn json_in(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[', '"']) {
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
            && let Ok(inner) = parse_json(text)
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
        (Step::All, Value::Array(items)) => items.iter_mut().for_each(|item| decode(item, rest)),
        (Step::All, Value::Object(fields)) => {
            fields.values_mut().for_each(|item| decode(item, rest));
        }
        _ => {}
    }
}

/// Form builders send the whole answer as JSON in one field of a form.
fn decode_usual(body: &mut Value) {
    const USUAL: [&str; 8] = [
        "rawrequest",
        "datajson",
        "message",
        "payload",
        "data",
        "json",
        "lead",
        "body",
    ];
    if let Value::Object(fields) = body {
        decode_fields(fields, &USUAL);
    }
}

fn decode_fields(fields: &mut Map<String, Value>, names: &[&str]) {
    for (name, value) in fields {
        if let Value::String(text) = value
            && text.trim_start().starts_with(['{', '['])
            && names.contains(&fold(name).as_str())
            && let Ok(inner) = parse_json(text)
        {
            *value = inner;
        }
    }
}
