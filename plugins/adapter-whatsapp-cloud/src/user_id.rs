//! The ids by which Meta names a user beside the phone: the business's own, and the one that
//! several businesses share. A later webhook may have one of them alone, so that hosts have to
//! learn all of them.

use leadhost_sdk::{
    Event,
    serde_json::{Value, json},
    text_at,
};

/// Returns the id at the first of the paths that has one.
pub fn at(value: &Value, paths: &[&str]) -> Option<String> {
    text_at(value, paths).filter(|id| id.len() <= MAX_ID)
}

/// Adds the ids other than `own` to an event, each once.
pub fn further(event: Event, own: Option<&str>, ids: impl Into<Vec<Option<String>>>) -> Event {
    let mut seen: Vec<String> = own.map(str::to_owned).into_iter().collect();
    ids.into().into_iter().flatten().fold(event, |event, id| {
        if seen.contains(&id) {
            return event;
        }
        let event = event.attribute(name(&id), &json!(id));
        seen.push(id);
        event
    })
}

/// Returns the attribute for an id. The shared ones have `ENT` after the country.
pub fn name(id: &str) -> &'static str {
    match id.get(2..7) {
        Some(".ENT.") => "parent-user-id",
        _ => "user-id",
    }
}

/// Maximum bytes of an id: a phone has at most 15 digits, a user's id some 130 characters.
pub const MAX_ID: usize = 256;
