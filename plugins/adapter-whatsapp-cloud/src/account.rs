//! Changes of the account or its numbers, and everything else that is not a message:
//! described as text, for people.

use leadhost_sdk::{
    serde_json::{Map, Value},
    text_of,
};

/// Returns the field, and the scalars that describe the change.
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

/// The fields that describe account, quality, name, limit and review changes.
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
