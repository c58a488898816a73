//! An inbound message of a contact.
//!
//! A sender may have no phone: WhatsApp then names it by an id of the business.
//! Names are in `contacts`, which may be missing. Every message that is not text
//! keeps Meta's own object as an attribute under its type's name.

use std::collections::HashMap;

use leadhost_sdk::{
    ContactChange, Event, InboundMessage, is_absent,
    serde_json::{Value, json},
    text_at, text_of,
};

use crate::{phone, status, user_id};

/// The `contacts` of a change, indexed by each of their ids.
pub struct Senders<'a> {
    by_id: HashMap<&'a str, &'a Value>,
    only: Option<&'a Value>,
}

impl<'a> Senders<'a> {
    /// Reads the `contacts` of a change.
    pub fn from_contacts(contacts: Option<&'a Value>) -> Self {
        let contacts = contacts
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let mut by_id = HashMap::new();
        for contact in contacts {
            for name in ["wa_id", "user_id", "parent_user_id"] {
                if let Some(id) = contact.get(name).and_then(Value::as_str) {
                    by_id.insert(id, contact);
                }
            }
        }
        let only = match contacts {
            [contact] => Some(contact),
            _ => None,
        };
        Self { by_id, only }
    }

    /// Returns the contact with one of these ids.
    pub fn find_contact(&self, ids: &[Option<&str>]) -> Option<&'a Value> {
        ids.iter()
            .flatten()
            .find_map(|id| self.by_id.get(id).copied())
    }
}

/// The sender of a message.
struct Sender {
    id: String,
    phone: Option<String>,
    user_id: Option<String>,
    parent_user_id: Option<String>,
    username: Option<String>,
    name: Option<String>,
}

impl Sender {
    fn from_message(message: &Value, senders: &Senders<'_>) -> Option<Self> {
        let from = text_at(message, &["from"]);
        let from_user = text_at(message, &["from_user_id"]);
        let known = senders.find_contact(&[from.as_deref(), from_user.as_deref()]);
        // A lone contact is the sender of a message that names no sender. If the
        // message names another id, only the contact's name is used.
        let lone = senders.only.unwrap_or(&Value::Null);
        let unnamed = from.is_none() && from_user.is_none();
        let contact = known.unwrap_or(if unnamed { lone } else { &Value::Null });
        let named = known.unwrap_or(lone);
        let wa_id = user_id::at(contact, &["wa_id"]);
        // The phone is the id, whatever the message calls the sender beside it.
        let is_phone = |id: &String| phone::is_phone(id);
        let phone = from.clone().filter(is_phone);
        let phone = phone.or_else(|| wa_id.clone().filter(is_phone));
        let user_id = from_user
            .or_else(|| user_id::at(contact, &["user_id"]))
            .or_else(|| from.clone());
        let id = phone
            .clone()
            .or(from)
            .or(wa_id)
            .or_else(|| user_id.clone())?;
        let username = text_at(named, &["profile.username", "username"]).map(short);
        Some(Self {
            phone,
            user_id: user_id.filter(|user_id| *user_id != id),
            parent_user_id: text_at(message, &["from_parent_user_id"])
                .or_else(|| user_id::at(contact, &["parent_user_id"])),
            name: text_at(named, &["profile.name"])
                .map(short)
                .or_else(|| username.clone()),
            username,
            id,
        })
    }
}

/// Shortens a name, which is repeated in each message of its contact.
pub fn short(name: String) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => name[..end].to_owned(),
        None => name,
    }
}

/// Returns the event of one message. `errors` are the errors of the change, which
/// accompany a message that Meta could not pass on completely.
///
/// # Errors
///
/// A text that says what the message lacks.
pub fn event(
    message: &Value,
    senders: &Senders<'_>,
    errors: Option<&Value>,
) -> Result<Event, &'static str> {
    if !message.is_object() {
        return Err("a message must be an object");
    }
    let kind = kind(message);
    if kind == "system"
        && let Some(change) = change_of_number(message)
    {
        return Ok(change);
    }
    let id = text_at(message, &["id"]).ok_or("the message has no `id`")?;
    let sender = Sender::from_message(message, senders).ok_or("the message has no sender")?;
    // An edit carries the message in its current form.
    let inner = message.get("edit").and_then(|edit| edit.get("message"));
    let read = inner.filter(|inner| inner.is_object()).unwrap_or(message);

    let mut inbound = InboundMessage::new(id, sender.id, &kind)
        .sender_phone(sender.phone)
        .sender_name(sender.name)
        .content(content(read))
        .occurred_at(status::time(message.get("timestamp")))
        .reply_to(reply_to(message));
    if kind != "text"
        && let Some(own) = message.get(&kind).filter(|own| !is_absent(own))
    {
        inbound = inbound.attribute(&kind, own);
    }
    for (name, text) in [
        ("user-id", sender.user_id),
        ("parent-user-id", sender.parent_user_id),
        ("username", sender.username),
        ("group-id", text_at(message, &["group_id"])),
    ] {
        if let Some(text) = text {
            inbound = inbound.attribute(name, &json!(text));
        }
    }
    for name in ["referral", "identity"] {
        if let Some(value) = message.get(name).filter(|value| !is_absent(value)) {
            inbound = inbound.attribute(name, value);
        }
    }
    if let Some(context) = message.get("context").filter(|context| says_more(context)) {
        inbound = inbound.attribute("context", context);
    }
    let errors = message
        .get("errors")
        .filter(|own| !is_absent(own))
        .or(errors);
    if let Some(errors) = errors {
        inbound = inbound.attribute("errors", errors);
    }
    Ok(inbound.into())
}

fn kind(message: &Value) -> String {
    match text_at(message, &["type"]).as_deref() {
        Some("voice") => "audio".into(),
        Some(kind) => kind.to_ascii_lowercase(),
        None => KINDS
            .iter()
            .find(|kind| message.get(**kind).is_some())
            .copied()
            .unwrap_or("unsupported")
            .into(),
    }
}

/// Returns the change of a contact's phone, or of its id if it has no phone.
fn change_of_number(message: &Value) -> Option<Event> {
    let system = message.get("system")?;
    let kind = text_at(system, &["type"])?;
    if !matches!(
        kind.as_str(),
        "user_changed_number" | "customer_changed_number" | "user_changed_user_id"
    ) {
        return None;
    }
    let new = text_at(system, &["wa_id", "new_wa_id", "user_id"])?;
    let old = text_at(message, &["from"])
        .or_else(|| text_at(system, &["customer", "previous_user_id"]))
        .or_else(|| text_at(message, &["from_user_id"]))?;
    let phone = Some(old.clone()).filter(|old| phone::is_phone(old));
    let ids = [
        user_id::at(message, &["from_user_id"]),
        user_id::at(message, &["from_parent_user_id"]),
        user_id::at(system, &["previous_user_id"]),
        user_id::at(system, &["user_id"]),
        user_id::at(system, &["parent_user_id"]),
    ]
    .map(|id| id.filter(|id| *id != new));
    let change = ContactChange::number(&old, new)
        .sender_phone(phone)
        .occurred_at(status::time(message.get("timestamp")));
    Some(user_id::further(change.into(), Some(&old), ids))
}

/// Returns the readable content.
fn content(message: &Value) -> Option<String> {
    let at = |paths: &[&str]| text_at(message, paths);
    match kind(message).as_str() {
        // With the original spaces and line ends.
        "text" => message
            .get("text")
            .and_then(|text| text.get("body").or(Some(text)))
            .and_then(Value::as_str)
            .map(str::to_owned),
        "button" => at(&["button.text", "button.payload"]),
        "interactive" => at(&[
            "interactive.button_reply.title",
            "interactive.list_reply.title",
            "interactive.nfm_reply.body",
            "interactive.button_reply.id",
            "interactive.list_reply.id",
            "interactive.call_permission_reply.response",
        ]),
        "document" => at(&["document.caption", "document.filename"]),
        "reaction" => at(&["reaction.emoji"]),
        "location" => {
            let name = [at(&["location.name"]), at(&["location.address"])];
            let name: Vec<String> = name.into_iter().flatten().collect();
            if !name.is_empty() {
                return Some(name.join(", "));
            }
            let latitude = at(&["location.latitude"])?;
            Some(format!("{latitude}, {}", at(&["location.longitude"])?))
        }
        "contacts" => joined(message, "contacts", |card| {
            text_at(
                card,
                &["name.formatted_name", "name.first_name", "phones[0].phone"],
            )
        }),
        "order" => at(&["order.text"]).or_else(|| {
            joined(message.get("order")?, "product_items", |item| {
                let product = text_at(item, &["product_retailer_id"])?;
                Some(match text_at(item, &["quantity"]) {
                    Some(quantity) => format!("{quantity} x {product}"),
                    None => product,
                })
            })
        }),
        "system" => at(&["system.body"]),
        // Image, video and other types that have a caption or a text.
        kind => {
            let own = message.get(kind)?;
            text_at(own, &["caption", "body", "text"])
        }
    }
}

fn joined(value: &Value, list: &str, words: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let found: Vec<String> = value
        .get(list)?
        .as_array()?
        .iter()
        .filter_map(words)
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

fn reply_to(message: &Value) -> Option<String> {
    text_at(
        message,
        &[
            "context.id",
            "reaction.message_id",
            "edit.original_message_id",
            "revoke.original_message_id",
        ],
    )
}

/// Whether a context says more than which message is answered.
fn says_more(context: &Value) -> bool {
    let Value::Object(fields) = context else {
        return text_of(context).is_some();
    };
    fields
        .keys()
        .any(|name| !matches!(name.as_str(), "id" | "from" | "from_user_id"))
}

/// The keys that reveal the type of a message that does not name it.
const KINDS: [&str; 12] = [
    "text",
    "button",
    "interactive",
    "image",
    "video",
    "audio",
    "document",
    "sticker",
    "location",
    "contacts",
    "reaction",
    "order",
];

/// Maximum characters of a name: WhatsApp's own have 25.
const MAX_NAME: usize = 255;
