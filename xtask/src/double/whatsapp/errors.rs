//! The Cloud API's errors, with their statuses and texts.

use serde_json::{Value, json};

use crate::double::documented;
use crate::double::http::Answer;

pub struct Refusal {
    pub status: u16,
    code: u32,
    subcode: Option<u32>,
    kind: &'static str,
    message: String,
    /// The details; the real API omits them if the Graph API refuses.
    details: Option<String>,
}

impl Refusal {
    /// As in the provider's table of errors.
    pub fn documented(code: u32) -> Self {
        let (status, title, details) = table(code);
        let token = matches!(code, 0 | 190);
        Self {
            status,
            code,
            subcode: match code {
                190 => Some(463),
                132_001 => Some(2_494_015),
                _ => None,
            },
            kind: "OAuthException",
            message: if token {
                title.to_owned()
            } else {
                format!("(#{code}) {title}")
            },
            details: (!token).then(|| details.to_owned()),
        }
    }

    pub fn with(code: u32, details: impl Into<String>) -> Self {
        Self {
            details: Some(details.into()),
            ..Self::documented(code)
        }
    }

    pub fn missing(field: &str) -> Self {
        Self {
            message: format!("(#100) The parameter {field} is required."),
            details: None,
            ..Self::documented(100)
        }
    }

    pub fn no_object(method: &str, id: &str) -> Self {
        let method = method.to_lowercase();
        Self {
            subcode: Some(33),
            kind: "GraphMethodException",
            message: format!(
                "Unsupported {method} request. Object with ID '{id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation."
            ),
            details: None,
            ..Self::documented(100)
        }
    }

    pub fn no_token() -> Self {
        Self {
            status: 401,
            code: 104,
            message: "An access token is required to request this resource.".to_owned(),
            subcode: None,
            kind: "OAuthException",
            details: None,
        }
    }

    pub fn no_json() -> Self {
        Self {
            message: "(#100) The body is no valid JSON.".to_owned(),
            details: None,
            ..Self::documented(100)
        }
    }

    pub fn answer(&self) -> Answer {
        let mut error = json!({
            "message": self.message,
            "type": self.kind,
            "code": self.code,
            "fbtrace_id": "double",
        });
        if let Some(subcode) = self.subcode {
            error["error_subcode"] = json!(subcode);
        }
        if let Some(details) = &self.details {
            error["error_data"] = json!({"messaging_product": "whatsapp", "details": details});
        }
        Answer::json(self.status, &json!({ "error": error }))
    }
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
