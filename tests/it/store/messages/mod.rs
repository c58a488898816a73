//! The promises of every store about messages, in one file for each part of
//! their life, one function for each clause. This file has the helpers of the
//! clauses. The store does not look at the kind of a connection: `site` is the
//! line of the first agent, `portal` that of the second.

pub mod greeting;
pub mod notifying;
pub mod receiving;
pub mod reports;
pub mod sending;
pub mod statuses;
pub mod timeouts;

use std::time::Duration;

use leadhost_domain::channel::{Category, ChannelError};
use leadhost_domain::contact;
use leadhost_domain::id::{ContactId, ConversationId, MessageId, PartnerId};
use leadhost_domain::message::{MessageProgress, MessageState, TemplateName};
use leadhost_domain::phone::{self, Phone};
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;
use leadhost_domain::workspace::AgentKind;
use leadhost_store::*;
use serde_json::{Value, json};

use super::world::*;

pub const PHONE: &str = "+5511987654321";

/// The instance that sends the messages.
pub fn line(world: &World) -> Channel {
    Channel {
        workspace: world.workspace,
        connection: world.site.clone(),
        agent: world.first_agent,
        agent_kind: AgentKind::Ai,
        channel: "whatsapp".to_owned(),
        unanswered_after: Duration::from_hours(24),
        idle_after: Duration::from_hours(30 * 24),
    }
}

pub fn other_line(world: &World) -> Channel {
    Channel {
        connection: world.portal.clone(),
        agent: world.second_agent,
        agent_kind: AgentKind::Human,
        ..line(world)
    }
}

pub fn number(text: &str) -> Phone {
    phone::normalise(text, "BR")
}

pub fn message(world: &World) -> NewMessage {
    NewMessage {
        id: MessageId::new(world.now()),
        template: TemplateName {
            name: "welcome".to_owned(),
            language: "pt_BR".to_owned(),
            components: Vec::new(),
        },
        payload: r#"{"name":"welcome","language":{"code":"pt_BR"}}"#.to_owned(),
        content: Some("Hello, Rita".to_owned()),
        until: world.now().plus(Duration::from_hours(24)),
    }
}

/// A notification that the worker sends.
pub fn notification(world: &World, to: &str) -> Notification {
    let phone = number(to);
    Notification {
        by: PartnerId(uuid::Uuid::nil()),
        channel: line(world),
        message: message(world),
        details: NotificationDetails {
            name: "Rita".to_owned(),
            email: None,
            source: Some("crm".to_owned()),
            transfer: true,
            special_instructions: None,
        },
        contact_keys: contact::keys(std::slice::from_ref(&phone), &[]),
        phone,
        deal: None,
        idempotency: None,
        lease_until: None,
    }
}

/// A notification that its caller sends at once.
pub fn urgent(world: &World, to: &str) -> Notification {
    Notification {
        lease_until: Some(world.now().plus(Duration::from_mins(1))),
        ..notification(world, to)
    }
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub conversation: ConversationId,
    pub contact: ContactId,
    pub message: MessageId,
    pub recipient: String,
    pub state: MessageState,
}

pub fn notified(written: WriteOutcome) -> Notified {
    match written {
        WriteOutcome::Notified(notified) => notified,
        other => panic!("no notification: {other:?}"),
    }
}

pub fn stored(notified: Notified) -> Stored {
    match notified {
        Notified::Stored {
            conversation,
            contact,
            message,
            recipient,
            state,
        } => Stored {
            conversation,
            contact,
            message,
            recipient,
            state,
        },
        other => panic!("not stored: {other:?}"),
    }
}

pub async fn notify(world: &World, new: Notification) -> Notified {
    let write = Write::Notify(Box::new(new));
    notified(world.commit(&[write]).await.remove(0))
}

pub async fn store(world: &World, new: Notification) -> Stored {
    stored(notify(world, new).await)
}

/// Claims the send that must be the only one due.
pub async fn claim_send(world: &World) -> HeldSend {
    let mut jobs = world.claim(10).await;
    match (jobs.pop(), jobs.len()) {
        (Some(Job::Send(held)), 0) => *held,
        other => panic!("not one send was due: {other:?}"),
    }
}

pub fn sent(channel: Channel, message: MessageId, lease: i64, outcome: SendOutcome) -> Write {
    Write::Sent(Box::new(SendSettlement {
        channel,
        message,
        lease: Lease(lease),
        outcome,
        further_keys: Vec::new(),
        ran: None,
        holds: Vec::new(),
        pause: None,
        answer: None,
    }))
}

pub async fn settle_send(
    world: &World,
    message: MessageId,
    lease: i64,
    outcome: SendOutcome,
) -> WriteOutcome {
    let write = sent(line(world), message, lease, outcome);
    world.commit(&[write]).await.remove(0)
}

pub async fn begin(world: &World, held: &HeldSend) -> WriteOutcome {
    let write = Write::Begin(SendStart {
        workspace: world.workspace,
        message: held.message,
        lease: held.lease,
    });
    world.commit(&[write]).await.remove(0)
}

pub fn state_of(written: &WriteOutcome) -> MessageState {
    match written {
        WriteOutcome::Message(outcome) => outcome.state,
        other => panic!("no message: {other:?}"),
    }
}

pub fn accepted(world: &World, external_id: &str) -> SendOutcome {
    SendOutcome::Accepted {
        external_ids: vec![external_id.to_owned()],
        recipient_id: Some("5511987654321".to_owned()),
        progress: at(MessageState::Accepted, world.now()),
        word: None,
    }
}

/// Stores a message that was sent at once and accepted under this id.
pub async fn out(world: &World, external_id: &str) -> Stored {
    let new = store(world, urgent(world, PHONE)).await;
    let written = settle_send(world, new.message, 0, accepted(world, external_id)).await;
    assert_eq!(state_of(&written), MessageState::Accepted);
    new
}

pub fn error(code: &str, category: Category) -> ChannelError {
    ChannelError {
        code: code.to_owned(),
        title: format!("title of {code}"),
        description: format!("description of {code}"),
        details: String::new(),
        category,
    }
}

pub fn at(state: MessageState, at: Micros) -> MessageProgress {
    let mut progress = MessageProgress::default();
    let field = match state {
        MessageState::Accepted => &mut progress.accepted_at,
        MessageState::Sent => &mut progress.sent_at,
        MessageState::Delivered => &mut progress.delivered_at,
        MessageState::Read => &mut progress.read_at,
        other => panic!("no status tells of {other:?}"),
    };
    *field = Some(at);
    progress
}

pub fn event(channel: Channel, event: Event) -> ItemResult {
    ItemResult::Event(Box::new(NewEvent {
        channel,
        event,
        further_keys: Vec::new(),
    }))
}

/// A status by the channel's id of the message, with the times of this progress.
pub fn status(world: &World, external_id: &str, progress: MessageProgress) -> ItemResult {
    status_of(world, external_id, None, progress)
}

pub fn status_of(
    world: &World,
    external_id: &str,
    message: Option<MessageId>,
    progress: MessageProgress,
) -> ItemResult {
    let at = [
        progress.accepted_at,
        progress.sent_at,
        progress.delivered_at,
        progress.read_at,
        progress.failed_at,
    ];
    let status = Event::Status {
        external_id: external_id.to_owned(),
        message,
        word: "word".to_owned(),
        recipient_id: Some("5511987654321".to_owned()),
        at: at.into_iter().flatten().min().unwrap_or(world.now()),
        progress,
    };
    event(line(world), status)
}

pub fn inbound(world: &World, external_id: &str) -> NewInboundMessage {
    let keys = contact::channel_keys("whatsapp", "5511987654321");
    NewInboundMessage {
        external_id: external_id.to_owned(),
        sender_id: "5511987654321".to_owned(),
        name: Some("Rita".to_owned()),
        phone: Some(number(PHONE)),
        contact_keys: keys,
        kind: "text",
        channel_type: None,
        content: Some("yes, please".to_owned()),
        at: world.now(),
        reply_to: None,
        attributes: Default::default(),
    }
}

pub async fn receive(world: &World, new: NewInboundMessage) -> ItemOutcome {
    let event = event(line(world), Event::Inbound(Box::new(new)));
    world.item(event).await
}

pub async fn row(world: &World, entity: Entity, id: impl ToString) -> Value {
    let id = id.to_string();
    let rows = world.all(entity).await;
    let row = rows.into_iter().find(|row| row["id"] == json!(id));
    row.unwrap_or_else(|| panic!("{id} is not among {}", entity.as_str()))
}

pub async fn message_row(world: &World, id: MessageId) -> Value {
    row(world, Entity::Messages, id).await
}

pub async fn conversation_row(world: &World, id: ConversationId) -> Value {
    row(world, Entity::Conversations, id).await
}

/// Removes the stamp and the time of change from a row.
pub fn without_stamp(mut row: Value) -> Value {
    for key in ["cursor_at", "updated_at"] {
        if let Some(fields) = row.as_object_mut() {
            fields.remove(key);
        }
    }
    row
}

pub async fn errors(world: &World) -> Vec<Value> {
    errors_with(world, MessageErrorFilter::default()).await
}

pub async fn errors_with(world: &World, filter: MessageErrorFilter) -> Vec<Value> {
    let page = world
        .message_errors(&world.scope, &filter, 0, None, 1_000)
        .await
        .expect("it reports");
    json_of(&page)
}

pub async fn elapse(world: &World, conversation: ConversationId) -> bool {
    let write = Write::Elapse(Elapse {
        workspace: world.workspace,
        conversation,
    });
    match world.commit(&[write]).await.remove(0) {
        WriteOutcome::Elapsed(changed) => changed,
        other => panic!("no time passed: {other:?}"),
    }
}

pub async fn due(world: &World) -> Vec<ConversationId> {
    let due = world.conversations_due(world.now(), 100).await.unwrap();
    due.into_iter().map(|elapse| elapse.conversation).collect()
}
