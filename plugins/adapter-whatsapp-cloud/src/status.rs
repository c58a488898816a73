//! The status of a sent message.

use leadhost_sdk::{Event, StatusUpdate, epoch_to_rfc3339, serde_json::Value, text_at, text_of};

use crate::errors::Reported;
use crate::inbound::{Senders, short};
use crate::user_id;

/// Returns the event of one status. Unknown words are passed on unchanged.
///
/// # Errors
///
/// A text that says what the status lacks.
pub fn event(status: &Value, contacts: &Senders<'_>) -> Result<Event, &'static str> {
    // Payments and calls have states of their own, with the id of the message or without.
    let kind = text_at(status, &["type"]).map(|kind| kind.to_ascii_lowercase());
    if let Some(kind) = kind.filter(|kind| kind != "message") {
        return Ok(Event::other(match kind.as_str() {
            "payment" | "call" => format!("the status of a {kind}"),
            _ => format!("a status of the type `{}`, not of a message", short(kind)),
        }));
    }
    let id = text_at(status, &["id"]).ok_or("the status names no message: `id` is missing")?;
    let word = text_at(status, &["status"]).ok_or("the status has no `status`")?;
    let recipient = text_at(
        status,
        &[
            "recipient_participant_id",
            "recipient_id",
            "recipient_user_id",
        ],
    );
    let contact = contacts.find_contact(&[recipient.as_deref()]);
    let ids = [
        user_id::at(status, &["recipient_user_id"]),
        user_id::at(
            status,
            &["recipient_parent_user_id", "parent_recipient_user_id"],
        ),
        contact.and_then(|contact| user_id::at(contact, &["user_id"])),
        contact.and_then(|contact| user_id::at(contact, &["parent_user_id"])),
    ];
    let mut update = StatusUpdate::new(id, &word)
        .message_id(text_at(status, &["biz_opaque_callback_data"]))
        .occurred_at(time(status.get("timestamp")))
        .recipient_id(recipient.clone());
    for error in list(status.get("errors")) {
        update = update.error(Reported::read(error).into_message_error());
    }
    Ok(user_id::further(update.into(), recipient.as_deref(), ids))
}

/// Returns the time. Meta's times are seconds in a text. If the text is not such a
/// number, there is none, and the host uses the time of receipt.
pub fn time(timestamp: Option<&Value>) -> Option<String> {
    let text = timestamp.and_then(text_of)?;
    let whole = text
        .split_once('.')
        .map_or(text.as_str(), |(whole, _)| whole);
    let epoch = whole.parse::<i64>().ok()?;
    if epoch < EARLIEST {
        return None;
    }
    epoch_to_rfc3339(epoch)
}

/// Returns the entries of a list, or the single entry in place of a list.
pub fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(entries)) => entries,
        Some(entry @ (Value::Object(_) | Value::Number(_) | Value::String(_))) => {
            std::slice::from_ref(entry)
        }
        _ => &[],
    }
}

/// WhatsApp did not exist before 2009, so a smaller number is not a time.
const EARLIEST: i64 = 1_230_768_000;

#[cfg(test)]
mod tests {
    use leadhost_sdk::serde_json::json;

    use super::*;

    #[test]
    fn times_that_are_not_numbers_are_left_out() {
        let check = |value: Value, expect: Option<&str>| {
            assert_eq!(time(Some(&value)).as_deref(), expect, "{value}");
        };
        check(json!("1772452799"), Some("2026-03-02T11:59:59Z"));
        check(json!(1_772_452_799), Some("2026-03-02T11:59:59Z"));
        check(json!("1772452799000"), Some("2026-03-02T11:59:59Z"));
        check(json!("1772452799.25"), Some("2026-03-02T11:59:59Z"));
        check(json!("soon"), None);
        check(json!("0"), None);
        check(json!("-1772452799"), None);
        check(json!("99999999999999999999999"), None);
        check(json!(null), None);
        check(json!({}), None);
    }
}
