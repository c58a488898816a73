//! The Cloud API's errors, with their statuses and texts.

use serde_json::{Value, json};

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

    /// Returns the documented error of a code, with other details.
    pub fn with(code: u32, details: impl Into<String>) -> Self {
        Self {
            details: Some(details.into()),
            ..Self::documented(code)
        }
    }

    /// A required field of the body is missing.
    pub fn missing(field: &str) -> Self {
        Self {
            message: format!("(#100) The parameter {field} is required."),
            details: None,
            ..Self::documented(100)
        }
    }

    /// Returns the error for an id that does not exist.
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

    /// Returns the error for a request without an access token.
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

    /// Returns the error for a body that is not JSON.
    pub fn no_json() -> Self {
        Self {
            message: "(#100) The body is no valid JSON.".to_owned(),
            details: None,
            ..Self::documented(100)
        }
    }

    /// Returns the answer with its status and the error as JSON.
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

/// An error in the form of a failed status.
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

/// Status, title and details. A code that is not listed is a 400.
fn table(code: u32) -> (u16, &'static str, &'static str) {
    let of = |status, title| (status, title, title);
    match code {
        0 => of(401, "Unable to authenticate the app user"),
        1 => of(400, "API Unknown"),
        2 => of(503, "API Service"),
        3 => of(500, "API Method"),
        4 => of(429, "Application request limit reached"),
        10 => of(403, "Permission Denied"),
        33 => of(400, "Parameter value is not valid"),
        100 => of(400, "Invalid parameter"),
        190 => of(401, "Error validating access token: Session has expired."),
        200..=299 => of(403, "API Permission"),
        368 => of(403, "Temporarily blocked for policies violations"),
        80_007 => of(429, "Rate limit issues"),
        130_429 => (
            429,
            "Rate limit hit",
            "The number sends too many messages in too short a time",
        ),
        130_472 => (
            400,
            "User's number is part of an experiment",
            "The recipient's number is part of an experiment",
        ),
        130_497 => of(
            403,
            "Business account is restricted from messaging users in this country",
        ),
        131_000 => of(500, "Something went wrong"),
        131_005 => of(403, "Access denied"),
        131_008 => of(400, "Required parameter is missing"),
        131_009 => of(400, "Parameter value is not valid"),
        131_016 => of(500, "Service unavailable"),
        131_021 => of(400, "Recipient cannot be sender"),
        131_026 => (
            400,
            "Message undeliverable",
            "The recipient cannot receive this message",
        ),
        131_030 => (
            400,
            "Recipient phone number not in allowed list",
            "The recipient is not on the list of the test number",
        ),
        131_031 => of(403, "Business Account locked"),
        131_037 => of(400, "Display name approval needed"),
        131_042 => (
            400,
            "Business eligibility payment issue",
            "The account's payment method has a problem",
        ),
        131_045 => of(500, "Incorrect certificate"),
        131_047 => (
            400,
            "Re-engagement message",
            "More than 24 hours have passed since the recipient wrote last",
        ),
        131_048 => (
            429,
            "Spam rate limit hit",
            "Too many messages of this number were blocked or reported",
        ),
        131_049 => (
            400,
            "This message was not delivered to maintain healthy ecosystem engagement.",
            "The recipient gets too many messages of this kind",
        ),
        131_050 => (
            400,
            "User has stopped receiving marketing messages",
            "The recipient has chosen to get no more marketing messages of this business",
        ),
        131_051 => of(400, "Unsupported message type"),
        131_052 => of(400, "Media download error"),
        131_053 => (
            400,
            "Media upload error",
            "The media could not be loaded from its link",
        ),
        131_056 => (
            429,
            "(Business Account, Consumer Account) pair rate limit hit",
            "The number sends this recipient too many messages in too short a time",
        ),
        131_057 => of(500, "Account in maintenance mode"),
        132_000 => of(
            400,
            "Number of parameters does not match the expected number of params",
        ),
        132_001 => of(404, "Template name does not exist in the translation"),
        132_005 => of(400, "Template Hydrated Text Too Long"),
        132_007 => of(400, "Template Format Character Policy Violated"),
        132_012 => of(
            400,
            "Parameter format does not match format in the created template",
        ),
        132_015 => of(400, "Template is Paused"),
        132_016 => of(400, "Template is Disabled"),
        132_018 => of(400, "There's an issue with the parameters in your template"),
        132_068 => of(400, "Flow is in blocked state"),
        132_069 => of(400, "Flow is in throttled state"),
        133_004 => of(503, "Server temporarily unavailable"),
        133_010 => of(400, "Account not registered"),
        135_000 => of(400, "Generic user error"),
        _ => of(400, "Unexpected error"),
    }
}
