//! The rules that an adapter's answers must follow. Ids are keys of the store, so they must
//! be complete and of a length that fits there. A message about something too large names
//! the allowed size.

use super::size::{self, at_most};
use leadhost_domain::channel::{AcceptedSend, EventBody, Template};
use leadhost_domain::limits;

pub fn accepted(accepted: &AcceptedSend) -> Result<(), String> {
    let count = accepted.external_ids.len();
    if count > limits::EXTERNAL_IDS_PER_MESSAGE {
        return Err(format!(
            "{count} ids of one message; at most {} are kept",
            limits::EXTERNAL_IDS_PER_MESSAGE
        ));
    }
    for id in &accepted.external_ids {
        external_id("an id of the message", id)?;
    }
    match &accepted.recipient_id {
        Some(id) => external_id("a recipient's id", id),
        None => Ok(()),
    }
}

pub fn route(route: &[(String, String)]) -> Result<(), String> {
    size::route(route)?;
    route.iter().try_for_each(|(name, value)| {
        external_id("a route's name", name)?;
        external_id("a route's value", value)
    })
}

pub fn event(body: &EventBody) -> Result<(), (String, &'static str)> {
    let given = |what: &str, id: &str, field: &'static str| {
        external_id(what, id).map_err(|what| (what, field))
    };
    let maybe = |what: &str, id: &Option<String>, field: &'static str| match id {
        Some(id) => given(what, id, field),
        None => Ok(()),
    };
    match body {
        EventBody::Status(status) => {
            given(
                "an id of a message",
                &status.external_id,
                "status.external-id",
            )?;
            maybe(
                "a recipient's id",
                &status.recipient_id,
                "status.recipient-id",
            )
        }
        EventBody::Inbound(message) => {
            given(
                "an id of a message",
                &message.external_id,
                "inbound.external-id",
            )?;
            given("a sender's id", &message.sender_id, "inbound.sender-id")?;
            maybe("an id of a message", &message.reply_to, "inbound.reply-to")
        }
        EventBody::Template(change) => at_most(
            "a template's name",
            change.name.len(),
            limits::EXTERNAL_ID_BYTES,
        )
        .map_err(|what| (what, "template.name")),
        EventBody::Contact(change) => {
            given("a sender's id", &change.sender_id, "contact.sender-id")?;
            at_most("a value", change.value.len(), limits::EXTERNAL_ID_BYTES)
                .map_err(|what| (what, "contact.value"))
        }
        EventBody::Other(_) | EventBody::Invalid(_) => Ok(()),
    }
}

/// Checks the size of a template, before its components are parsed: parsed JSON takes a
/// hundred times as much memory as its text.
pub fn template_size(name: &str, text: &str, components: &str) -> Result<(), String> {
    external_id("a template's name", name)?;
    let bytes = text.len() + components.len();
    at_most("text and components", bytes, limits::TEMPLATE_BYTES)
        .map_err(|what| format!("the template `{name}` with {what}"))
}

pub fn template(template: &Template) -> Result<(), String> {
    template_size(&template.name, &template.text, &template.components)?;
    let named = |what: String| format!("the template `{}` with {what}", template.name);
    if template.placeholders.len() > limits::PLACEHOLDERS_PER_TEMPLATE {
        return Err(named(format!(
            "{} placeholders; at most {} are kept",
            template.placeholders.len(),
            limits::PLACEHOLDERS_PER_TEMPLATE
        )));
    }
    template.placeholders.iter().try_for_each(|placeholder| {
        at_most(
            "a placeholder's name",
            placeholder.name.len(),
            limits::EXTERNAL_ID_BYTES,
        )
        .map_err(named)
    })
}

fn external_id(what: &str, id: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err(format!("{what} that is empty"));
    }
    at_most(what, id.len(), limits::EXTERNAL_ID_BYTES)
}
