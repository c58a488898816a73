//! The body of a delivery as one tree of JSON values, whatever its format: JSON, a form, urlencoded or in
//! parts, or XML.
//!
//! The content type counts only if the body agrees with it: senders post JSON as a form and XML as plain
//! text.

use serde_json::Value;

use crate::{Content, Delivery, Problem, content_text, form, multipart, parse_json, xml};

impl Delivery {
    /// Returns the body as a tree. At its top, a text that is itself JSON, under a name such as
    /// `rawRequest` or `payload`, is what it contains.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body is empty, or is not what it begins like.
    pub fn tree(&self) -> Result<Value, Problem> {
        let mut body = self.undecoded_tree()?;
        // A sender that serialised the body twice.
        if let Value::String(text) = &body
            && is_json(text)
        {
            body = parse_json(text)?;
        }
        decode_usual_texts(&mut body);
        Ok(body)
    }

    fn undecoded_tree(&self) -> Result<Value, Problem> {
        let kind = self.content_type();
        if kind == "multipart/form-data" {
            let header = self.header("content-type").unwrap_or_default();
            return Ok(multipart::tree(&multipart::parts(header, &self.body)?));
        }
        let text = content_text(&self.body);
        let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        match trimmed.chars().next() {
            // Some sources send all data in the address.
            None if !self.query.is_empty() => Ok(form_tree(self.query.clone())),
            None => Err(Problem::new("the body is empty")),
            Some('{' | '[' | '"') => parse_json(&text),
            Some('<') => xml::parse(&text),
            Some(_) if kind == "application/x-www-form-urlencoded" || trimmed.contains('=') => {
                Ok(form_tree(match &self.body {
                    Content::Text(text) => form::fields(text.trim().as_bytes()),
                    Content::Bytes(bytes) => form::fields(bytes),
                }))
            }
            Some(_) => Err(Problem::new(format!(
                "the body is neither JSON nor XML nor a form (content type `{kind}`)"
            ))),
        }
    }
}

fn form_tree(mut fields: Vec<(String, String)>) -> Value {
    for (_, value) in &mut fields {
        if has_lost_plus(value) {
            value.replace_range(..1, "+");
        }
    }
    form::tree_of(&fields)
}

/// Whether a value is a phone whose plus was not percent-encoded, so that it arrived as a space: no person
/// types a space there.
fn has_lost_plus(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(' ') else {
        return false;
    };
    let count = rest.bytes().filter(u8::is_ascii_digit).count();
    (10..=15).contains(&count)
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && rest
            .bytes()
            .all(|c| c.is_ascii_digit() || b" ()-".contains(&c))
}

/// The names under which form builders send the whole answer as JSON in one field, in lower case and
/// without other characters than letters and digits.
pub const JSON_TEXTS: [&str; 8] = [
    "rawrequest",
    "datajson",
    "message",
    "payload",
    "data",
    "json",
    "lead",
    "body",
];

fn decode_usual_texts(body: &mut Value) {
    let Value::Object(fields) = body else {
        return;
    };
    for (name, value) in fields {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let name: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        if let Value::String(text) = value
            && is_json(text)
            && JSON_TEXTS.contains(&name.as_str())
            && let Ok(inner) = parse_json(text)
        {
            *value = inner;
        }
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}
