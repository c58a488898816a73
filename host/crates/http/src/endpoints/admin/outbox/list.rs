use super::parse_id;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::{contacts, instances};
use leadhost_admin_api::outbox::{MessageView, Messages};
use leadhost_domain::message::MessageState;
use leadhost_store::{OutboxFilter, OutboxMessage};

describe!(list, |operation| operation
    .id("listMessages")
    .summary("Lists messages to and from contacts, newest first")
    .query(
        "instance",
        word(),
        "Only messages of this instance: its number, its name, or `workspace/name`."
    )
    .query(
        "state",
        one_of(&MessageState::ALL.map(MessageState::as_str), ""),
        "Only messages in this state."
    )
    .query(
        "conversation",
        json!({"type": "string", "format": "uuid"}),
        "Only messages of this conversation."
    )
    .query(
        "contact",
        word(),
        "Only messages to and from this person: a phone, an e-mail address, or the id of a contact."
    )
    .paged("messages")
    .answers::<Messages>(200, "A page of messages.")
    .refuses(&[400, 404, 409]));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let filter = filter(call).await?;
    let messages = call.http.core.store.outbox(&filter).await?;
    let next = last_of_full(&messages, filter.limit).map(|message| message.id);
    let messages = messages.into_iter().map(to_view).collect();
    reply::ok(&Messages { messages, next })
}

fn to_view(message: OutboxMessage) -> MessageView {
    view! { MessageView from message: id, workspace_id, conversation_id, contact_id, contact_name,
    phone_number, instance_id, created_at, actor, kind, content, metadata, delivered_at,
    read_at, ran, next_attempt_at }
}

async fn filter(call: &Call<'_>) -> ApiResult<OutboxFilter> {
    let query = call.query();
    let mut filter = OutboxFilter {
        limit: page_limit(&query)?,
        ..OutboxFilter::default()
    };
    filter.state = query.word("state", "a state", &MessageState::ALL, MessageState::as_str)?;
    if let Some(text) = query.filled(&["instance"]) {
        let agent = instances::find(&call.http.core.store, text).await?.agent;
        filter.workspace = Some(agent.workspace);
        filter.agent = Some(agent.id);
    }
    if let Some(text) = query.filled(&["conversation"]) {
        let conversation = text.parse().map_err(|_| {
            ApiError::BadRequest(format!(
                "`conversation={text}` is not the id of a conversation."
            ))
        })?;
        filter.conversation = Some(conversation);
    }
    if let Some(text) = query.filled(&["contact"]) {
        filter.contacts = Some(contacts_of(call, &filter, text.trim()).await?);
    }
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    Ok(filter)
}

/// Returns the contacts that a phone or an e-mail address names, in the workspace of the instance or in
/// all.
async fn contacts_of(
    call: &Call<'_>,
    filter: &OutboxFilter,
    text: &str,
) -> ApiResult<Vec<ContactId>> {
    if let Ok(id) = text.parse() {
        return Ok(vec![id]);
    }
    let store = &call.http.core.store;
    let mut among = store.workspaces().await?;
    among.retain(|one| filter.workspace.is_none_or(|wanted| wanted == one.id));
    if among.len() > limits::SEARCHED_WORKSPACES {
        return Err(ApiError::BadRequest(format!(
            "A search looks in at most {} workspaces: choose an instance.",
            limits::SEARCHED_WORKSPACES
        )));
    }
    let mut found = Vec::new();
    for workspace in among {
        found.extend(contacts::named(store, &workspace, text).await?);
    }
    Ok(found)
}
