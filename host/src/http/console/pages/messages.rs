//! Messages: sent, waiting, of unknown outcome, and received.

use askama::Template;

use super::super::api::ApiRefusal;
use super::super::form::{Form, encoded};
use super::super::frame::Frame;
use super::super::{FormOutcome, Visit};
use super::Filters;
use crate::admin_api::instances::{InstanceView, Instances};
use crate::admin_api::outbox::{
    MessageView, Messages, Played, ReplyRequest, ResolveRequest, Resolved, Verdict,
};
use crate::domain::message::MessageState;

#[derive(Template)]
#[template(path = "console/messages.html")]
pub struct MessagesPage {
    frame: Frame,
    filters: Filters,
    states: [MessageState; MessageState::ALL.len()],
    instances: Vec<InstanceView>,
    messages: Vec<MessageView>,
    next: Option<String>,
}

/// Returns the list.
///
/// # Errors
///
/// [`ApiRefusal`] if a filter is invalid, or the store cannot be read.
pub async fn list(visit: &Visit<'_>) -> Result<MessagesPage, ApiRefusal> {
    let filters = Filters::read(visit, &["state", "instance", "before"]);
    let api = visit.api();
    let instances: Instances = api.get("/instances").await?;
    let list: Messages = api.get(&format!("/outbox{}", filters.query())).await?;
    let next = filters.next_page("/messages", list.next);
    Ok(MessagesPage {
        frame: visit.frame("messages", "Messages"),
        filters,
        states: MessageState::ALL,
        instances: instances.instances,
        messages: list.messages,
        next,
    })
}

/// Plays a contact of the sandbox, who writes.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn reply(visit: &Visit<'_>, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let request = ReplyRequest {
        to: form.get("to").to_owned(),
        text: form.get("text").to_owned(),
        instance: form.filled("instance"),
    };
    let played: Played = visit.api().post("/outbox/reply", &request).await?;
    let notice = format!("The contact has written: {}.", played.status.as_str());
    let newest: Messages = visit.api().get("/outbox?limit=50").await?;
    // Back to the conversation, if the answer was written there.
    let mut newest = newest.messages.into_iter();
    let answered = newest.find(|message| message.id.to_string() == request.to);
    let to = answered.map_or_else(
        || "/messages".to_owned(),
        |message| format!("/conversations/{}", message.conversation_id),
    );
    Ok(FormOutcome::done(to, notice))
}

/// Decides about a message of which it is unknown whether it was sent.
///
/// # Errors
///
/// [`ApiRefusal`] of the operation.
pub async fn resolve(visit: &Visit<'_>, id: &str, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let verdict = if form.get("verdict") == "send-again" {
        Verdict::SendAgain
    } else {
        Verdict::GiveUp
    };
    let path = format!("/outbox/{}/resolve", encoded(id));
    let resolved: Resolved = visit.api().post(&path, &ResolveRequest { verdict }).await?;
    let notice = format!("The message is settled: {}.", resolved.state.as_str());
    Ok(FormOutcome::done("/messages?state=unknown", notice))
}
