//! The promises of every store about messages, in one file for each part of their life, one function for each
//! clause. This file has the helpers of the clauses. The store does not look at the kind of a connection:
//! `site` is the line of the first agent, `portal` the second's.

pub mod greeting;
pub mod notifying;
pub mod receiving;
pub mod reports;
pub mod sending;
pub mod statuses;
pub mod timeouts;

use leadhost_domain::channel::ChannelError;
use leadhost_domain::message::TemplateName;
use leadhost_domain::phone::{self, Phone};
use leadhost_domain::workspace::AgentKind;

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
        lease_until: Some(world.in_a_minute()),
        ..notification(world, to)
    }
}

pub fn notify_write(new: Notification) -> Write {
    Write::Notify(Box::new(new))
}

pub struct Stored {
    pub conversation: ConversationId,
    pub contact: ContactId,
    pub message: MessageId,
    pub recipient: String,
    pub state: MessageState,
}

#[track_caller]
pub fn stored(written: WriteOutcome) -> Stored {
    match outcome!(written, Notified) {
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
    outcome!(world.write(notify_write(new)).await, Notified)
}

pub async fn store(world: &World, new: Notification) -> Stored {
    stored(world.write(notify_write(new)).await)
}

/// Stores a message to this number that its caller sends at once.
pub async fn send(world: &World, to: &str) -> Stored {
    store(world, urgent(world, to)).await
}

/// Stores a message to this number that the worker sends.
pub async fn post(world: &World, to: &str) -> Stored {
    store(world, notification(world, to)).await
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
    settle_with(world, message, lease, outcome, |_| ()).await
}

/// The same with a change to the settlement.
pub async fn settle_with(
    world: &World,
    message: MessageId,
    lease: i64,
    outcome: SendOutcome,
    change: impl FnOnce(&mut SendSettlement),
) -> WriteOutcome {
    let mut write = sent(line(world), message, lease, outcome);
    if let Write::Sent(settlement) = &mut write {
        change(settlement);
    }
    world.write(write).await
}

/// A hold of the line's messages, to all or to this contact.
pub fn hold(world: &World, contact: Option<ContactId>, until: Micros) -> SendHold {
    let connection = world.site.clone();
    SendHold {
        connection,
        contact,
        until,
    }
}

pub fn begin_write(world: &World, held: &HeldSend) -> Write {
    Write::Begin(SendStart {
        workspace: world.workspace,
        message: held.message,
        lease: held.lease,
    })
}

pub async fn begin(world: &World, held: &HeldSend) -> WriteOutcome {
    world.write(begin_write(world, held)).await
}

pub fn state_of(written: &WriteOutcome) -> MessageState {
    outcome!(written, Message).state
}

/// Accepted under these ids at this time; with the channel's name of the recipient.
pub fn accepted_at(ids: &[&str], recipient: Option<&str>, time: Micros) -> SendOutcome {
    SendOutcome::Accepted {
        external_ids: ids.iter().map(|&id| id.to_owned()).collect(),
        recipient_id: recipient.map(str::to_owned),
        progress: at(MessageState::Accepted, time),
        word: None,
    }
}

pub fn accepted(world: &World, external_id: &str) -> SendOutcome {
    accepted_at(&[external_id], Some(&PHONE[1..]), world.now())
}

/// Accepts a message that its caller sends.
pub async fn accept_send(world: &World, new: &Stored, external_id: &str) {
    let written = settle_send(world, new.message, 0, accepted(world, external_id)).await;
    assert_eq!(state_of(&written), MessageState::Accepted);
}

/// Stores a message that was sent at once and accepted under this id.
pub async fn out(world: &World, external_id: &str) -> Stored {
    let new = send(world, PHONE).await;
    accept_send(world, &new, external_id).await;
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

#[track_caller]
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
        recipient_id: Some(PHONE[1..].to_owned()),
        at: at.into_iter().flatten().min().unwrap_or(world.now()),
        progress,
    };
    event(line(world), status)
}

/// The channel reports this state of the message, now.
pub async fn said(world: &World, external_id: &str, state: MessageState) -> ItemOutcome {
    world
        .item(status(world, external_id, at(state, world.now())))
        .await
}

pub fn failed(world: &World, code: &str, category: Category) -> MessageProgress {
    MessageProgress::failed(world.now(), error(code, category))
}

pub fn inbound(world: &World, external_id: &str) -> NewInboundMessage {
    inbound_from(world, external_id, PHONE)
}

/// A message from the person with this number.
pub fn inbound_from(world: &World, external_id: &str, phone: &str) -> NewInboundMessage {
    let sender_id = phone.trim_start_matches('+').to_owned();
    NewInboundMessage {
        external_id: external_id.to_owned(),
        name: Some("Rita".to_owned()),
        phone: Some(number(phone)),
        contact_keys: contact::channel_keys("whatsapp", &sender_id),
        sender_id,
        kind: "text",
        channel_type: None,
        content: Some("yes, please".to_owned()),
        at: world.now(),
        reply_to: None,
        attributes: Default::default(),
    }
}

pub fn inbound_event(world: &World, new: NewInboundMessage) -> ItemResult {
    event(line(world), Event::Inbound(Box::new(new)))
}

pub async fn receive(world: &World, new: NewInboundMessage) -> ItemOutcome {
    world.item(inbound_event(world, new)).await
}

/// The person with this number opts out, or in again.
pub fn consent(world: &World, phone: &str, opt_out: bool, at: Micros) -> ItemResult {
    let wish = Event::Consent {
        contact_keys: notification(world, phone).contact_keys,
        opt_out,
        at,
    };
    event(line(world), wish)
}

pub async fn message_row(world: &World, id: MessageId) -> Value {
    world.row(Entity::Messages, id).await
}

pub async fn metadata(world: &World, id: MessageId) -> Value {
    message_row(world, id).await["metadata"].clone()
}

pub async fn conversation_row(world: &World, id: ConversationId) -> Value {
    world.row(Entity::Conversations, id).await
}

/// Removes fields from a row.
pub fn without(mut row: Value, fields: &[&str]) -> Value {
    let object = row.as_object_mut().expect("an object");
    object.retain(|name, _| !fields.contains(&name.as_str()));
    row
}

/// Removes the stamp and the time of change from a row.
pub fn without_stamp(row: Value) -> Value {
    without(row, &["cursor_at", "updated_at"])
}

pub async fn errors(world: &World) -> Vec<Value> {
    errors_with(world, MessageErrorFilter::default()).await
}

pub async fn errors_with(world: &World, filter: MessageErrorFilter) -> Vec<Value> {
    let page = world.message_errors(&world.scope, &filter, 0, None, 1_000);
    json_of(&page.await.expect("it reports"))
}

pub fn elapse_write(world: &World, conversation: ConversationId) -> Write {
    let workspace = world.workspace;
    Write::Elapse(Elapse {
        workspace,
        conversation,
    })
}

pub async fn elapse(world: &World, conversation: ConversationId) -> bool {
    let written = world.write(elapse_write(world, conversation)).await;
    outcome!(written, Elapsed)
}

pub async fn due(world: &World) -> Vec<ConversationId> {
    let due = world.conversations_due(world.now(), 100).await.unwrap();
    due.into_iter().map(|elapse| elapse.conversation).collect()
}
