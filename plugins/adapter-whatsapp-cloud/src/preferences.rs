//! A user who stopped or resumed marketing messages.

use leadhost_sdk::{ContactChange, Event, serde_json::Value, text_at};

use crate::{phone, status, user_id};

/// Returns the event of one preference. Unknown words are passed on unchanged.
///
/// # Errors
///
/// A text that says what the preference lacks.
pub fn event(preference: &Value) -> Result<Event, &'static str> {
    let wa_id = text_at(preference, &["wa_id"]);
    let id = wa_id
        .clone()
        .or_else(|| text_at(preference, &["user_id"]))
        .ok_or("the preference names no user")?;
    let own = id.clone();
    let value = text_at(preference, &["value"]).ok_or("the preference has no `value`")?;
    let change = match value.as_str() {
        "stop" => ContactChange::opt_out(id),
        "resume" | "signup" => ContactChange::opt_in(id),
        other => ContactChange::new(id, other),
    };
    let change = change
        .sender_phone(wa_id.filter(|id| phone::is_phone(id)))
        .occurred_at(status::time(preference.get("timestamp")));
    let ids = ["user_id", "parent_user_id"].map(|name| user_id::at(preference, &[name]));
    Ok(user_id::further(change.into(), Some(&own), ids))
}
