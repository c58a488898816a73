//! The Graph API's response to a call.
//!
//! A send cannot be repeated safely: if a response leaves open whether Meta has
//! accepted the message, the outcome is `unknown`. An error with a code means that
//! Meta has not. A 4xx without one comes from a system in front of Meta: such a send
//! may be retried.

use leadhost_sdk::{
    Accepted, HttpResponse, Refused, SendAnswer, is_absent,
    serde_json::{Value, json},
    text_at,
};

use crate::errors::Reported;
use crate::user_id;

/// Returns the outcome of a send.
pub fn from_response(response: &HttpResponse) -> SendAnswer {
    let body = response.json().ok();
    if let Some(refused) = refusal(body.as_ref(), response) {
        return SendAnswer::Refused(refused);
    }
    let status = response.status;
    if !(200..300).contains(&status) {
        return SendAnswer::Unknown(format!(
            "the Graph API's address answered with status {status} and without an error code"
        ));
    }
    body.as_ref().and_then(accepted).map_or_else(
        || SendAnswer::Unknown(format!("the answer with status {status} names no message")),
        SendAnswer::Accepted,
    )
}

/// Returns the reason why a call failed; `None` if it succeeded, or if the outcome is
/// not known.
pub fn refusal(body: Option<&Value>, response: &HttpResponse) -> Option<Refused> {
    let error = body
        .and_then(|body| body.get("error"))
        .filter(|error| !is_absent(error))
        .map(Reported::read);
    match error {
        Some(error) if error.has_code() => Some(error.refused(response)),
        error => refusal_from_status(response, error),
    }
}

/// Classifies by the status alone. A text without a code comes from a relay.
fn refusal_from_status(response: &HttpResponse, words: Option<Reported>) -> Option<Refused> {
    let status = response.status;
    let category = match status {
        // The address or the token is wrong: nothing is sent until an operator fixes it.
        300..=399 | 401 | 403 | 404 | 405 | 407 | 410 => "connection",
        429 => "throttled-number",
        // A gateway stopped waiting; the call may have continued.
        408 | 499 => return None,
        400 | 422 if words.is_some() => "request",
        400..=499 => "transient",
        _ => return None,
    };
    let by_status = Refused {
        category: category.into(),
        code: String::new(),
        title: format!("HTTP status {status}"),
        text: format!("the Graph API's address answered with status {status}"),
        details: String::new(),
        retry_after_seconds: match status {
            429 | 423 | 425 => response.retry_after(),
            _ => None,
        },
    };
    Some(match words {
        Some(words) => {
            let words = words.refused(response);
            Refused {
                text: if words.title.is_empty() {
                    by_status.text
                } else {
                    words.text
                },
                details: words.details,
                ..by_status
            }
        }
        None => by_status,
    })
}

fn accepted(body: &Value) -> Option<Accepted> {
    let messages = body.get("messages").and_then(Value::as_array)?;
    let external_ids: Vec<String> = messages
        .iter()
        .filter_map(|message| text_at(message, &["id"]))
        .collect();
    if external_ids.is_empty() {
        return None;
    }
    let status = messages
        .iter()
        .find_map(|message| text_at(message, &["message_status"]));
    // May lack the ninth digit that was sent; statuses use this form.
    let recipient_id = text_at(body, &["contacts[0].wa_id", "contacts[0].user_id"]);
    let ids = ["contacts[0].user_id", "contacts[0].parent_user_id"];
    let ids = ids
        .into_iter()
        .filter_map(|path| user_id::at(body, &[path]));
    let further = ids.filter(|id| Some(id) != recipient_id.as_ref());
    Some(Accepted {
        external_ids,
        attributes: further
            .map(|id| (user_id::name(&id).to_owned(), json!(id).to_string()))
            .collect(),
        recipient_id,
        status: match status.as_deref() {
            None => "accepted".into(),
            Some("held_for_quality_assessment") => "held".into(),
            Some(word) => word.into(),
        },
    })
}
