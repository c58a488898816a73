//! The status of a sent message. Twilio sends no time, so the host uses the time of
//! receipt.

use leadhost_sdk::{ChannelError, Delivery, Event, StatusUpdate, serde_json::json};

use crate::{address, errors, form::Form, send::MESSAGE_ID};

/// Returns the event of a status. Unknown words are passed on unchanged.
pub fn event(form: &Form, id: &str, word: &str, delivery: &Delivery) -> Event {
    let update = StatusUpdate::new(
        id,
        match word {
            "undelivered" => "failed",
            word => word,
        },
    )
    .message_id(delivery.query_field(MESSAGE_ID).map(str::to_owned))
    .recipient_id(form.get(&["To"]).map(|to| address::bare(to).to_owned()));
    let update = match error(form) {
        Some(error) => update.error(error),
        None => update,
    };
    let user_id = form.get(&["ExternalUserId"]).map(address::bare);
    let is_further = |id: &&str| update.recipient_id.as_deref() != Some(*id);
    match user_id.filter(is_further) {
        Some(id) => Event::from(update).attribute("user-id", &json!(id)),
        None => update.into(),
    }
}

fn error(form: &Form) -> Option<ChannelError> {
    let words = form.text("ChannelStatusMessage").unwrap_or_default();
    let metas = metas_code(&words);
    let code = form
        .get(&["ErrorCode"])
        .filter(|code| *code != "0")
        .or(metas)?
        .to_owned();
    let number = code.parse().unwrap_or_default();
    let title = errors::title(number);
    // Meta's code is more specific than an unlisted code of Twilio, and Meta's opt-out
    // counts whatever Twilio's code is.
    let category = match metas.and_then(meta_category) {
        Some("opt-out") => "opt-out",
        Some(metas) if errors::listed(number).is_none() => metas,
        _ => errors::category(number, 0),
    };
    let description = form.text("ErrorMessage");
    Some(
        ChannelError::new(code, category)
            .title(title)
            .description(description.unwrap_or_else(|| title.to_owned()))
            .details(words),
    )
}

/// Returns Meta's code in the channel's text: six digits that stand alone.
fn metas_code(words: &str) -> Option<&str> {
    words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| {
            word.len() == 6
                && word.starts_with('1')
                && word.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Returns the category of Meta's code for a recipient.
fn meta_category(code: &str) -> Option<&'static str> {
    Some(match code {
        "130472" | "131026" | "131049" => "recipient",
        "131047" => "window",
        "131050" => "opt-out",
        _ => return None,
    })
}
