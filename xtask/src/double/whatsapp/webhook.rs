//! Webhooks in the format of the Cloud API.

use serde_json::{Value, json};

use super::WhatsAppOptions;
use super::errors::in_status;
use crate::double::channel::{Event, Inbound, Letter, Status};

/// One request with these events; adjacent events of a kind share a change.
pub fn letter(options: &WhatsAppOptions, events: &[Event]) -> Letter {
    let mut changes: Vec<Value> = Vec::new();
    let mut rest = events;
    while let Some(first) = rest.first() {
        let kind = std::mem::discriminant(first);
        let alike = |event: &&Event| std::mem::discriminant(*event) == kind;
        let many = match first {
            // Each is a separate change.
            Event::Change { .. } => 1,
            Event::Status(_) | Event::Inbound(_) => rest.iter().take_while(alike).count(),
        };
        let (these, others) = rest.split_at(many);
        changes.push(change(options, these));
        rest = others;
    }
    let body = json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": options.waba_id, "changes": changes}],
    });
    Letter {
        content_type: "application/json",
        body: escaped(&body).into_bytes(),
    }
}

pub fn template_change(template: &Value) -> Event {
    let value = json!({
        "event": template["status"],
        "message_template_id": template["id"].as_str().and_then(|id| id.parse::<u64>().ok()),
        "message_template_name": template["name"],
        "message_template_language": template["language"],
        "reason": "NONE",
        "message_template_category": template["category"],
    });
    Event::Change {
        field: "message_template_status_update".to_owned(),
        value: value.to_string(),
    }
}

fn change(options: &WhatsAppOptions, events: &[Event]) -> Value {
    let mut value = json!({
        "messaging_product": "whatsapp",
        "metadata": {
            "display_phone_number": options.number,
            "phone_number_id": options.phone_number_id,
        },
    });
    for event in events {
        match event {
            Event::Status(status) => push(&mut value, "statuses", status_value(status)),
            Event::Inbound(inbound) => {
                push(&mut value, "contacts", contact(inbound));
                push(&mut value, "messages", message(options, inbound));
            }
            Event::Change { field, value } => {
                let value: Value = serde_json::from_str(value).unwrap_or(Value::Null);
                return json!({ "value": value, "field": field });
            }
        }
    }
    json!({ "value": value, "field": "messages" })
}

fn push(value: &mut Value, list: &str, item: Value) {
    match value[list].as_array_mut() {
        Some(items) => items.push(item),
        None => value[list] = json!([item]),
    }
}

fn status_value(status: &Status) -> Value {
    let mut out = json!({
        "id": status.id,
        "status": status.word,
        "timestamp": status.at.unwrap_or_default().to_string(),
    });
    if let Some(recipient) = &status.recipient {
        out["recipient_id"] = json!(recipient);
    }
    if let Some(opaque) = &status.opaque {
        out["biz_opaque_callback_data"] = json!(opaque);
    }
    // With `read` the real API omits both.
    if ["sent", "delivered"].contains(&status.word.as_str()) {
        out["conversation"] = json!({"id": "double", "origin": {"type": "marketing"}});
        out["pricing"] = json!({"billable": true, "pricing_model": "PMP", "category": "marketing"});
    }
    if !status.errors.is_empty() {
        let errors: Vec<Value> = status.errors.iter().map(|code| in_status(*code)).collect();
        out["errors"] = json!(errors);
    }
    out
}

fn contact(inbound: &Inbound) -> Value {
    json!({"profile": {"name": inbound.name}, "wa_id": inbound.sender})
}

fn message(options: &WhatsAppOptions, inbound: &Inbound) -> Value {
    let mut out = json!({
        "from": inbound.sender,
        "id": inbound.id_or("wamid.INBOUND"),
        "timestamp": inbound.at.unwrap_or_default().to_string(),
    });
    match &inbound.payload {
        Some(payload) => {
            out["type"] = json!("button");
            out["button"] = json!({"payload": payload, "text": inbound.text});
        }
        None => {
            out["type"] = json!("text");
            out["text"] = json!({"body": inbound.text});
        }
    }
    if let Some(answered) = &inbound.answers {
        out["context"] = json!({"from": options.number, "id": answered});
    }
    out
}

/// JSON in the spelling that is signed: characters beyond ASCII as `\u00e9`,
/// and `/` as `\/`.
pub fn escaped(value: &Value) -> String {
    let mut out = String::new();
    for character in value.to_string().chars() {
        match character {
            '/' => out.push_str("\\/"),
            character if character.is_ascii() => out.push(character),
            character => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out
}
