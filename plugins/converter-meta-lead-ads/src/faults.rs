//! The Graph API's errors, classified by their remedy.

use leadhost_sdk::{Failure, HttpResponse, serde_json::Value, text_at};

/// Wait for a lead that may not be readable yet.
pub const NOT_READY_SECONDS: u32 = 60;
/// Wait after a limit without a time of its own.
const LIMIT_SECONDS: u32 = 300;

/// Classifies by the error's code; the HTTP status says little.
pub fn from_error(error: &Value, response: &HttpResponse) -> Failure {
    let code = number(error, "code");
    let subcode = number(error, "error_subcode");
    let message = text_at(error, &["message", "error_user_msg"]).unwrap_or_default();
    let words = words(code, subcode, &message);
    match (code, subcode) {
        // Deleted, not permitted or not replicated yet. Only time shows which.
        (Some(100), Some(33)) => Failure::retry(words, Some(NOT_READY_SECONDS)),
        (Some(100), _) if message.contains("Unsupported get request") => {
            Failure::retry(words, Some(NOT_READY_SECONDS))
        }
        (Some(100), _) if asks_for_permission(&message) => Failure::stop(words),
        (Some(3 | 10 | 102 | 190 | 200..=299), _) => Failure::stop(words),
        (Some(100 | 803), _) => Failure::give_up(words),
        (Some(4 | 17 | 32 | 613 | 429 | 80_000..=80_014), _) => limited(words, response),
        (Some(1 | 2), _) => Failure::retry(words, response.retry_after()),
        (Some(_), _) if response.status == 429 => limited(words, response),
        // An unlisted code. The host limits the attempts.
        (Some(_), _) => Failure::retry(words, response.retry_after()),
        (None, _) => from_status(response),
    }
}

/// Classifies by the status alone, if the response is unreadable.
pub fn from_status(response: &HttpResponse) -> Failure {
    let status = response.status;
    match status {
        429 => limited("the Graph API's limit is reached".into(), response),
        401 | 403 => Failure::stop(format!("the Graph API refuses the token: status {status}")),
        200 => Failure::retry("the Graph API's answer cannot be read as a lead", None),
        _ => Failure::retry(
            format!("the Graph API answered with status {status}"),
            response.retry_after(),
        ),
    }
}

fn limited(words: String, response: &HttpResponse) -> Failure {
    Failure::retry(words, Some(response.retry_after().unwrap_or(LIMIT_SECONDS)))
}

fn asks_for_permission(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("permission")
        || ["requires pages_", "requires leads_", "requires ads_"]
            .iter()
            .any(|asked| message.contains(asked))
}

/// Returns the code. Codes are numbers, or texts if a relay changed them.
fn number(error: &Value, name: &str) -> Option<u32> {
    text_at(error, &[name])?.parse().ok()
}

fn words(code: Option<u32>, subcode: Option<u32>, message: &str) -> String {
    let mut out = "the Graph API answered with error".to_owned();
    if let Some(code) = code {
        out.push_str(&format!(" {code}"));
    }
    if let Some(subcode) = subcode {
        out.push_str(&format!("/{subcode}"));
    }
    if !message.is_empty() {
        out.push_str(": ");
        out.extend(message.chars().take(MAX_MESSAGE));
    }
    out
}

/// Maximum characters of Meta's own text.
const MAX_MESSAGE: usize = 500;
