//! An inbound message of a contact.
//!
//! A sender may have no phone: WhatsApp then names it by an id, as `whatsapp:`
//! and the id in `From` and `ExternalUserId`.

use leadhost_sdk::{
    Event, InboundMessage, parse_json,
    serde_json::{Map, Value, json},
};

use crate::{address, form::Form};

/// Returns the event of a message of a contact.
pub fn event(form: &Form, id: &str, sender: &str) -> Event {
    let media = media(form);
    let kind = kind(form, &media);
    let mut message = InboundMessage::new(id, sender, &kind)
        .sender_phone(phone(form, sender))
        .sender_name(
            form.get(&["ProfileName", "ProfileUsername"])
                .map(str::to_owned),
        )
        .content(content(form, &kind))
        .reply_to(form.text("OriginalRepliedMessageSid"));
    for (name, value) in attributes(form, &media, sender) {
        message = message.attribute(name, &value);
    }
    message.into()
}

/// Returns the sender's phone; `None` if WhatsApp does not send it.
pub fn phone(form: &Form, sender: &str) -> Option<String> {
    let wa_id = form.get(&["WaId"]);
    [Some(sender), wa_id]
        .into_iter()
        .flatten()
        .find(|text| address::is_phone(text))
        .map(str::to_owned)
}

/// Returns the id by which WhatsApp names the user to this business, if it is not the sender's.
fn user_id<'a>(form: &'a Form, sender: &str) -> Option<&'a str> {
    let ids = [&["ExternalUserId"], &["From"]];
    let mut ids = ids.into_iter().filter_map(|name| form.get(name));
    ids.find_map(|id| {
        let id = address::bare(id);
        (id != sender && !address::is_phone(id)).then_some(id)
    })
}

/// Adds the user's id to an event about the sender.
pub fn with_user_id(event: Event, form: &Form, sender: &str) -> Event {
    match user_id(form, sender) {
        Some(id) => event.attribute("user-id", &json!(id)),
        None => event,
    }
}

/// Returns the files of a message: address and type.
fn media(form: &Form) -> Vec<(String, String)> {
    // Some channels leave out the count; then the fields that exist count.
    (0..MAX_MEDIA)
        .map_while(|number| {
            let url = form.text(&format!("MediaUrl{number}"))?;
            let kind = form.text(&format!("MediaContentType{number}"));
            Some((url, kind.unwrap_or_default().to_ascii_lowercase()))
        })
        .collect()
}

fn kind(form: &Form, media: &[(String, String)]) -> String {
    let has = |names: &[&str]| form.get(names).is_some();
    let said = form
        .get(&["MessageType"])
        .unwrap_or_default()
        .to_ascii_lowercase();
    if has(&["ButtonText", "ButtonPayload"]) {
        return "button".into();
    }
    if has(&["ListId", "ListTitle", "FlowData", "InteractiveData"]) {
        return "interactive".into();
    }
    if has(&["Latitude"]) && has(&["Longitude"]) {
        return "location".into();
    }
    match said.as_str() {
        "" | "text" | "media" => match media.first() {
            Some((_, kind)) => media_kind(kind).into(),
            None => "text".into(),
        },
        "voice" => "audio".into(),
        _ => said,
    }
}

fn media_kind(content_type: &str) -> &'static str {
    match content_type.split(['/', ';']).next() {
        Some("image") if content_type.starts_with("image/webp") => "sticker",
        Some("image") => "image",
        Some("video") => "video",
        Some("audio") => "audio",
        Some("text") if content_type.contains("vcard") => "contacts",
        _ => "document",
    }
}

/// Returns the readable content.
fn content(form: &Form, kind: &str) -> Option<String> {
    let said = match kind {
        "button" => form.get(&["ButtonText", "Body", "ButtonPayload"]),
        "interactive" => form.get(&["ListTitle", "Body", "ListId"]),
        _ => form.get(&["Body"]),
    };
    if kind != "location" || said.is_some() {
        return said.map(str::to_owned);
    }
    let named: Vec<&str> = ["Label", "Address"]
        .into_iter()
        .filter_map(|name| form.get(&[name]))
        .collect();
    Some(if named.is_empty() {
        format!(
            "{}, {}",
            form.get(&["Latitude"])?,
            form.get(&["Longitude"])?
        )
    } else {
        named.join(", ")
    })
}

fn attributes(form: &Form, media: &[(String, String)], sender: &str) -> Vec<(&'static str, Value)> {
    let files: Vec<Value> = media
        .iter()
        .map(|(url, kind)| json!({"url": url, "contentType": kind}))
        .collect();
    let mut out = vec![
        ("media", Value::Array(files)),
        ("button", object(form.below("Button"))),
        ("list", object(form.below("List"))),
        (
            "referral",
            // Every message has the count.
            object(
                form.below("Referral")
                    .filter(|field| *field != ("NumMedia", "0")),
            ),
        ),
        (
            "location",
            object(
                ["Latitude", "Longitude", "Address", "Label"]
                    .into_iter()
                    .filter_map(|name| Some((name, form.get(&[name])?))),
            ),
        ),
    ];
    for (name, field) in [
        ("interactive", "InteractiveData"),
        ("flow", "FlowData"),
        ("channel-metadata", "ChannelMetadata"),
    ] {
        if let Some(text) = form.get(&[field]) {
            out.push((name, parse_json(text).unwrap_or_else(|_| json!(text))));
        }
    }
    for (name, text) in [
        ("wa-id", form.get(&["WaId"])),
        ("user-id", user_id(form, sender)),
        ("username", form.get(&["ProfileUsername"])),
        ("forwarded", form.get(&["Forwarded", "FrequentlyForwarded"])),
    ] {
        out.push((name, text.map_or(Value::Null, |text| json!(text))));
    }
    out.retain(|(_, value)| !leadhost_sdk::is_absent(value));
    out
}

/// Returns fields as an object, with the first letter of their names in lower case.
fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let fields: Map<String, Value> = fields
        .map(|(name, value)| {
            let mut letters = name.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            (first.into_iter().chain(letters).collect(), json!(value))
        })
        .collect();
    Value::Object(fields)
}

/// Twilio accepts ten files per message.
const MAX_MEDIA: usize = 10;
