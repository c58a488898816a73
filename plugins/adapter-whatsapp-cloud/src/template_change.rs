//! A template that Meta has approved, paused, rejected or changed.

use leadhost_sdk::{
    Event, TemplateChange,
    serde_json::{Map, Value},
    text_of,
};

use crate::templates::reason_word;

/// The event of `message_template_status_update`.
pub fn from_status_update(value: &Map<String, Value>) -> Event {
    let event = at(value, &["event"]).unwrap_or_default();
    let reasons = [
        at(value, &["reason"]).map(|reason| reason_word(&reason)),
        at(value, &["rejection_info", "reason"]),
        at(value, &["rejection_info", "recommendation"]),
        at(value, &["disable_info", "disable_date"]).map(|date| format!("disabled on {date}")),
        at(value, &["other_info", "title"]),
        at(value, &["other_info", "description"]),
    ];
    let mut reasons = reasons
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty());
    let reason = match (reasons.next(), reasons.collect::<Vec<_>>()) {
        (None, _) => String::new(),
        (Some(first), rest) if rest.is_empty() => first,
        (Some(first), rest) => format!("{first}: {}", rest.join(" ")),
    };
    changed(value, &status(&event), reason)
}

/// The event of a change of category, quality or components, which makes the host
/// request the list again.
pub fn from_other_update(field: &str, value: &Map<String, Value>) -> Event {
    let named = |what: &str, old: &str, new: &str| match (at(value, &[old]), at(value, &[new])) {
        (Some(old), Some(new)) => Some(format!("{what} from {old} to {new}")),
        (None, Some(new)) => Some(format!("{what}: {new}")),
        _ => None,
    };
    let words = named("category", "previous_category", "new_category")
        .or_else(|| named("category to come", "new_category", "correct_category"))
        .or_else(|| named("quality", "previous_quality_score", "new_quality_score"))
        .unwrap_or_else(|| field.to_owned());
    changed(value, "", words)
}

fn changed(value: &Map<String, Value>, status: &str, reason: String) -> Event {
    match (
        at(value, &["message_template_name"]),
        at(value, &["message_template_language"]),
    ) {
        (Some(name), Some(language)) => TemplateChange::new(name, language, status)
            .reason(reason)
            .into(),
        _ => Event::other("a change of a template without its name and language"),
    }
}

/// Returns what an event means for sending. A warning and a lock of editing leave a
/// template unchanged; the state of an unarchived one is only in the list.
fn status(event: &str) -> String {
    let event = event.to_ascii_lowercase();
    match event.as_str() {
        "reinstated" => "approved".into(),
        "flagged" | "locked" | "unlocked" | "unarchived" => String::new(),
        "in_appeal" => "pending".into(),
        _ => event,
    }
}

fn at(value: &Map<String, Value>, path: &[&str]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let mut found = value.get(*first)?;
    for step in rest {
        found = found.get(step)?;
    }
    text_of(found)
}
