//! Twilio's response to a send.
//!
//! A send cannot be repeated safely: Twilio supports no idempotency key, and its own
//! internal error (20500) may come after it accepted the message. An error with
//! another code means that it did not. A 4xx without a code comes from a system in
//! front of Twilio: such a send may be retried.

use leadhost_sdk::{Accepted, HttpResponse, Refused, SendAnswer, serde_json::Value, text_at};

use crate::{address, errors};

/// Returns the outcome that Twilio's answer to a send means.
pub fn read(response: &HttpResponse) -> SendAnswer {
    let body = response.json().ok().filter(Value::is_object);
    if (200..300).contains(&response.status) {
        return body
            .as_ref()
            .and_then(|body| taken(body, response))
            .unwrap_or_else(|| unknown("the answer names no message", response));
    }
    let body = body.unwrap_or(Value::Null);
    match code(&body, "code") {
        Some(code) if !is_open(code) => refused(code, &body, response).into(),
        Some(_) => unknown("Twilio has an internal error", response),
        None => classify_status(&body, response),
    }
}

/// A message that Twilio created. It may have failed at once.
fn taken(body: &Value, response: &HttpResponse) -> Option<SendAnswer> {
    let sid = text_at(body, &["sid"])?;
    let status = text_at(body, &["status"]).unwrap_or_default();
    let failed = matches!(status.as_str(), "failed" | "undelivered" | "canceled");
    if failed {
        let code = code(body, "error_code").unwrap_or_default();
        return Some(refused(code, body, response).into());
    }
    Some(
        Accepted::new(sid)
            .recipient_id(text_at(body, &["to"]).map(|to| address::bare(&to).to_owned()))
            .status(match status.as_str() {
                "" | "queued" | "accepted" | "scheduled" | "sending" => "accepted",
                "read" => "delivered",
                word => word,
            })
            .into(),
    )
}

fn refused(code: u32, body: &Value, response: &HttpResponse) -> Refused {
    let category = errors::category(code, response.status);
    let text = text_at(body, &["message", "error_message"]);
    let title = errors::title(code);
    let waits = category.starts_with("throttled") || category == "transient";
    Refused::new(
        category,
        text.unwrap_or_else(|| match (code, title) {
            (0, _) => "Twilio took the message, and it failed at once".into(),
            (code, "") => format!("error {code} of Twilio"),
            (_, title) => title.into(),
        }),
    )
    .code(if code == 0 {
        String::new()
    } else {
        code.to_string()
    })
    .title(title)
    .details(text_at(body, &["details", "more_info"]).unwrap_or_default())
    .retry_after(
        waits
            .then(|| {
                response
                    .retry_after()
                    .or((code == DAILY_LIMIT).then_some(DAILY_SECONDS))
            })
            .flatten(),
    )
}

/// Classifies by the status alone.
fn classify_status(body: &Value, response: &HttpResponse) -> SendAnswer {
    let status = response.status;
    let words = text_at(body, &["message", "error", "detail"]);
    let text = words
        .clone()
        .unwrap_or_else(|| format!("Twilio's address answered with status {status}"));
    match status {
        // The address or the token is wrong: nothing is sent until an operator fixes it.
        300..=399 | 401 | 403 | 404 | 405 | 407 | 410 => Refused::connection(text),
        429 => Refused::throttled_account(text).retry_after(response.retry_after()),
        // A gateway stopped waiting; the call may have continued.
        408 | 499 => return unknown("a gateway gave up waiting", response),
        400 | 422 if words.is_some() => Refused::request(text),
        400..=499 => Refused::transient(text),
        _ => return unknown("there is no error code", response),
    }
    .title(format!("HTTP status {status}"))
    .into()
}

/// Whether the error leaves open whether Twilio accepted the message.
fn is_open(code: u32) -> bool {
    matches!(code, 20_500 | 500..=599)
}

fn code(body: &Value, name: &str) -> Option<u32> {
    text_at(body, &[name])?.parse().ok()
}

fn unknown(why: &str, response: &HttpResponse) -> SendAnswer {
    SendAnswer::Unknown(format!("{why} (status {})", response.status))
}

/// The account's daily limit of messages is reached.
const DAILY_LIMIT: u32 = 63_038;
/// The window is a rolling day, so a retry every hour is enough.
const DAILY_SECONDS: u32 = 3600;
