//! The templates of the business account, and their list with cursors.

use serde_json::{Value, json};

use crate::double::http::{Answer, Request, encoded};
use crate::double::placeholders;
use crate::double::proof::base64;

const PAGE: usize = 25;

/// An approved template in the form of the provider's list. Its parameters are
/// positional unless a placeholder has a name.
fn template(name: &str, language: &str, components: Value) -> Value {
    let named = components
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .flat_map(placeholders)
        .any(|name| name.parse::<u32>().is_err());
    let seed = format!("{name}{language}");
    let id = seed.bytes().fold(0_u64, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u64::from(byte)) % 1_000_000_000_000
    });
    json!({
        "name": name,
        "parameter_format": if named { "NAMED" } else { "POSITIONAL" },
        "components": components,
        "language": language,
        "status": "APPROVED",
        "category": "MARKETING",
        "id": format!("4000{id:012}"),
    })
}

pub fn made_up() -> Vec<Value> {
    let declared: Value = serde_json::from_str(include_str!("templates.json")).expect("JSON");
    let word = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    let made = declared.as_array().into_iter().flatten().map(|one| {
        let components = one["components"].clone();
        let mut made = template(&word(one, "name"), &word(one, "language"), components);
        if !one["status"].is_null() {
            made["status"] = one["status"].clone();
        }
        made
    });
    made.collect()
}

pub fn find<'a>(templates: &'a mut [Value], name: &str, language: &str) -> Option<&'a mut Value> {
    templates
        .iter_mut()
        .find(|template| template["name"] == name && template["language"] == language)
}

/// `GET /{version}/{account}/message_templates`.
pub fn list(templates: &[Value], request: &Request, address: &str) -> Answer {
    let limit = request
        .query("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(PAGE)
        .max(1);
    let wanted: Vec<&Value> = templates
        .iter()
        .filter(|template| {
            ["name", "language", "status"].into_iter().all(|field| {
                request
                    .query(field)
                    .is_none_or(|value| template[field] == value)
            })
        })
        .collect();
    // A cursor names the row before it.
    let start = match request.query("after") {
        None => 0,
        Some(cursor) => match (0..wanted.len()).find(|at| cursor_of(*at) == cursor) {
            Some(at) => at + 1,
            None => return super::Refusal::with(100, "Invalid cursor").answer(),
        },
    };
    let end = (start + limit).min(wanted.len());
    let page = wanted.get(start..end).unwrap_or_default();
    let data: Vec<Value> = page
        .iter()
        .map(|template| with_fields(template, request.query("fields")))
        .collect();
    let mut body = json!({ "data": data });
    if !page.is_empty() {
        body["paging"] = json!({"cursors": {
            "before": cursor_of(start),
            "after": cursor_of(end - 1),
        }});
        if end < wanted.len() {
            body["paging"]["next"] = json!(next(request, address, limit, &cursor_of(end - 1)));
        }
    }
    Answer::json(200, &body)
}

/// The real API writes the caller's access token into this address.
fn next(request: &Request, address: &str, limit: usize, cursor: &str) -> String {
    let token = request.bearer().or_else(|| request.query("access_token"));
    let mut url = format!(
        "{address}{}?access_token={}&limit={limit}&after={cursor}",
        request.path,
        encoded(token.unwrap_or_default()),
    );
    for field in ["fields", "name", "language", "status"] {
        if let Some(value) = request.query(field) {
            url.push_str(&format!("&{field}={}", encoded(value)));
        }
    }
    url
}

fn with_fields(template: &Value, fields: Option<&str>) -> Value {
    let Some(fields) = fields else {
        return template.clone();
    };
    let mut out = json!({ "id": template["id"] });
    for field in fields.split(',').map(str::trim) {
        if let Some(value) = template.get(field) {
            out[field] = value.clone();
        }
    }
    out
}

fn cursor_of(at: usize) -> String {
    base64(format!("row {at:06}").as_bytes())
}

pub fn lines(templates: &[Value]) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines: Vec<String> = templates
        .iter()
        .map(|template| {
            format!(
                "{:<14} {:<6} {}",
                word(&template["name"]),
                word(&template["language"]),
                word(&template["status"]),
            )
        })
        .collect();
    lines.join("\n")
}
