//! Values and names as a person reads them.

use std::borrow::Cow;

use serde_json::Value;

use leadhost_admin_api::activity::ActivityPeriod;
use leadhost_domain::time::Micros;

/// Returns how a chart calls the slots of a period.
pub fn slot_names(period: ActivityPeriod, slots: &[Micros]) -> Vec<String> {
    // The distinguishing part of `2026-03-02 12:15`.
    let name = |at: &Micros| {
        let text = at.text().replace('T', " ");
        let part = match period {
            ActivityPeriod::Hour | ActivityPeriod::Day => text.get(11..16),
            ActivityPeriod::Week => text.get(5..16),
        };
        part.unwrap_or_default().to_owned()
    };
    slots.iter().map(name).collect()
}

/// Returns a value as a person reads it: a text without its quotes.
pub fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed("-"),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(all) if !all.iter().any(|one| one.is_object() || one.is_array()) => {
            let all: Vec<Cow<'_, str>> = all.iter().map(plain).collect();
            Cow::Owned(all.join(", "))
        }
        other => Cow::Owned(other.to_string()),
    }
}
