//! Changes of the account or its numbers, and all else that is no message: said
//! in words, for people.

use leadhost_sdk::{
    serde_json::{Map, Value},
    text_of,
};

/// The field, and the scalars that say what happened.
pub fn words(field: &str, value: &Map<String, Value>) -> String {
    let said: Vec<String> = SAYING
        .iter()
        .filter_map(|name| Some((name, value.get(*name).and_then(text_of)?)))
        .map(|(name, text)| match *name {
            "event" => text,
            name => format!("{name} {text}"),
        })
        .collect();
    if said.is_empty() {
        format!("a change of `{field}`")
    } else {
        format!("a change of `{field}`: {}", said.join(", "))
    }
}

/// What account, quality, name, limit and review changes say.
const SAYING: [&str; 9] = [
    "event",
    "decision",
    "display_phone_number",
    "current_limit",
    "requested_verified_name",
    "rejection_reason",
    "alert_type",
    "alert_severity",
    "entity_type",
];
