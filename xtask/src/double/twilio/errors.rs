//! Twilio's errors: flat, with the status inside.

use serde_json::json;

use crate::double::http::Answer;

/// With its documented status unless another is given.
pub fn error(code: u32, status: Option<u16>) -> Answer {
    let (documented, words) = table(code);
    let status = status.unwrap_or(documented);
    Answer::json(
        status,
        &json!({
            "code": code,
            "message": words,
            "more_info": format!("https://www.twilio.com/docs/errors/{code}"),
            "status": status,
        }),
    )
}

/// The message of the error.
pub fn words(code: u32) -> &'static str {
    table(code).1
}

fn table(code: u32) -> (u16, &'static str) {
    match code {
        20_003 => (401, "Authenticate"),
        20_404 => (404, "The requested resource was not found"),
        20_429 => (429, "Too Many Requests"),
        20_500 => (500, "Internal Server Error"),
        20_503 => (503, "Service Unavailable"),
        21_211 => (400, "Invalid 'To' Phone Number"),
        21_603 => (400, "A 'From' phone number is required."),
        21_604 => (400, "A 'To' phone number is required."),
        21_610 => (400, "Attempt to send to unsubscribed recipient"),
        21_611 => (
            429,
            "This 'From' number has exceeded the maximum number of queued messages",
        ),
        21_619 => (400, "A text message body or media urls must be specified."),
        21_655 => (400, "The ContentSid Parameter is Invalid."),
        21_656 => (400, "The Content Variables parameter is invalid."),
        21_910 => (
            400,
            "Invalid From and To pair. From and To should be of the same channel",
        ),
        63_003 => (400, "Channel could not find To address"),
        63_007 => (
            400,
            "Twilio could not find a Channel with the specified From address",
        ),
        63_016 => (
            400,
            "Failed to send freeform message because you are outside the allowed window.",
        ),
        63_018 => (429, "Rate limit exceeded for Channel"),
        63_024 => (400, "Invalid message recipient"),
        63_032 => (400, "User's number is part of an experiment"),
        63_038 => (429, "Account exceeded the daily messages limit"),
        _ => (400, "Unexpected error"),
    }
}
