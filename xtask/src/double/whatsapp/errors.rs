//! The Cloud API's errors, with their statuses and texts.

use serde_json::{Value, json};

use crate::double::http::Answer;
use crate::double::{documented, graph};

/// As in the provider's table of errors, but for a status or details that are given.
pub fn listed(code: u32, status: Option<u16>, details: Option<&str>) -> Answer {
    let (usual, title, explained) = table(code);
    let status = status.unwrap_or(usual);
    let message = format!("(#{code}) {title}");
    match code {
        // The Graph API refuses these by itself, without details.
        0 => graph::error(status, code, None, title, None),
        190 => graph::error(status, code, Some(463), title, None),
        _ => {
            let subcode = (code == 132_001).then_some(2_494_015);
            let details = details.unwrap_or(explained);
            graph::error(status, code, subcode, &message, Some(details))
        }
    }
}

pub fn missing(field: &str) -> Answer {
    let message = format!("(#100) The parameter {field} is required.");
    graph::error(400, 100, None, &message, None)
}

pub fn no_object(method: &str, id: &str) -> Answer {
    graph::no_object(&method.to_lowercase(), id)
}

pub fn in_status(code: u32) -> Value {
    let (_, title, details) = table(code);
    json!({
        "code": code,
        "title": title,
        "message": title,
        "error_data": { "details": details },
        "href": "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/",
    })
}

fn table(code: u32) -> (u16, &'static str, &'static str) {
    match code {
        200..=299 => (403, "API Permission", "API Permission"),
        code => documented(include_str!("errors.txt"), code),
    }
}
