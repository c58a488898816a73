//! Test data for the decisions: an instance, a notification, statuses of its message, and
//! a deal of a partner. Nothing is loaded: each batch works on what the previous ones
//! decided. [`saved`] ends a batch.

use std::time::Duration;

use serde_json::json;

use super::known::{Change, Known};
use super::{Conversation, Ticket, all};
use super::{Deal, Message};
use crate::domain::channel::{Category, ChannelError};
use crate::domain::contact;
use crate::domain::id::{
    AgentId, ConnectionId, ConversationId, DealId, KeyId, MessageId, OwnerId, PartnerId, ProductId,
    TicketId, WorkspaceId,
};
use crate::domain::message::{Progress, State, TemplateName};
use crate::domain::phone::Phone;
use crate::domain::time::Micros;
use crate::domain::workspace::AgentKind;
use crate::store::{
    ByPartner, Channel, CreatedDeal, DealCreated, DealPatch, DealPatched, Elapse, Event,
    IdempotencyClaim, IdempotencyKey, Lease, NewDeal, NewEvent, NewMessage, Notification,
    NotificationDetails, Notified, SendOutcome, SendSettlement, StoredAnswer, TicketPatch,
    TicketPatched, Write, Written,
};

pub const NOW: Micros = Micros(1_750_000_000_000_000);

pub fn time(seconds: i64) -> Micros {
    NOW.plus_seconds(seconds)
}

pub fn known() -> Known {
    Known {
        now: NOW,
        ..Known::default()
    }
}

pub fn channel() -> Channel {
    let connection = "0123456789012345678901".parse::<ConnectionId>();
    Channel {
        workspace: WorkspaceId(uuid::Uuid::from_u128(1)),
        connection: connection.expect("22 characters"),
        agent: AgentId(1),
        agent_kind: AgentKind::Ai,
        channel: "whatsapp".to_owned(),
        unanswered_after: Duration::from_hours(24),
        idle_after: Duration::from_hours(30 * 24),
    }
}

pub fn phone(e164: &str) -> Phone {
    Phone {
        raw: e164.to_owned(),
        e164: Some(e164.to_owned()),
        match_key: Some(e164.to_owned()),
    }
}

/// A notification that its caller sends at once.
pub fn notification() -> Notification {
    let phone = phone("+5511987654321");
    Notification {
        channel: channel(),
        message: NewMessage {
            id: MessageId::new(NOW),
            template: TemplateName {
                name: "welcome".to_owned(),
                language: "pt_BR".to_owned(),
                components: Vec::new(),
            },
            payload: "{}".to_owned(),
            content: None,
            until: time(86_400),
        },
        details: NotificationDetails {
            name: "Rita".to_owned(),
            email: None,
            source: "crm".to_owned(),
            transfer: true,
            special_instructions: None,
        },
        contact_keys: contact::keys(std::slice::from_ref(&phone), &[]),
        phone,
        deal: None,
        idempotency: None,
        lease_until: Some(time(60)),
    }
}

pub fn decide(known: &mut Known, write: Write) -> Written {
    let written = all(known, std::slice::from_ref(&write));
    written.expect("it can be decided").remove(0)
}

pub fn notify(known: &mut Known, new: Notification) -> MessageId {
    match decide(known, Write::Notify(Box::new(new))) {
        Written::Notified(Notified::Stored { message, .. }) => message,
        other => panic!("not stored: {other:?}"),
    }
}

pub fn settle(
    known: &mut Known,
    message: MessageId,
    lease: i64,
    outcome: SendOutcome,
) -> Option<State> {
    let write = Write::Sent(Box::new(SendSettlement {
        channel: channel(),
        message,
        lease: Lease(lease),
        outcome,
        holds: Vec::new(),
        pause: None,
        answer: None,
    }));
    match decide(known, write) {
        Written::Message(outcome) => Some(outcome.state),
        Written::Stale => None,
        other => panic!("no message: {other:?}"),
    }
}

pub fn accepted(external_id: &str, seconds: i64) -> SendOutcome {
    SendOutcome::Accepted {
        external_ids: vec![external_id.to_owned()],
        recipient_id: Some("5511987654321".to_owned()),
        progress: Progress {
            accepted_at: Some(time(seconds)),
            ..Progress::default()
        },
        word: None,
    }
}

pub fn error(code: &str, details: &str) -> ChannelError {
    ChannelError {
        code: code.to_owned(),
        title: "Undeliverable".to_owned(),
        description: String::new(),
        details: details.to_owned(),
        category: Category::Recipient,
    }
}

pub fn status(
    external_id: &str,
    message: Option<MessageId>,
    progress: Progress,
    seconds: i64,
) -> NewEvent {
    NewEvent {
        channel: channel(),
        event: Event::Status {
            external_id: external_id.to_owned(),
            message,
            progress,
            word: "word".to_owned(),
            recipient_id: Some("5511987654321".to_owned()),
            at: time(seconds),
        },
    }
}

pub fn message(known: &Known, id: MessageId) -> &Message {
    &known.dialogue.messages[&id]
}

pub fn conversation(known: &Known, id: MessageId) -> &Conversation {
    &known.dialogue.conversations[&message(known, id).conversation]
}

/// Ends the batch: the next one finds all rows unchanged.
pub fn saved(known: &mut Known) {
    let dialogue = &mut known.dialogue;
    known
        .deals
        .values_mut()
        .for_each(|row| row.change = Change::None);
    known
        .contacts
        .values_mut()
        .for_each(|row| row.change = Change::None);
    let conversations = dialogue.conversations.values_mut();
    conversations.for_each(|row| row.change = Change::None);
    dialogue
        .tickets
        .values_mut()
        .for_each(|row| row.change = Change::None);
    known.changed_deals.clear();
    known.changed_contacts.clear();
    known.new_history.clear();
    known.new_logs.clear();
    dialogue.changed_conversations.clear();
    dialogue.changed_messages.clear();
    dialogue.changed_tickets.clear();
}

pub fn by() -> ByPartner {
    ByPartner {
        workspace: channel().workspace,
        partner: PartnerId(uuid::Uuid::from_u128(2)),
        key: KeyId(uuid::Uuid::from_u128(3)),
    }
}

pub fn claim(route: &str, fingerprint: &str) -> IdempotencyClaim {
    IdempotencyClaim {
        key: IdempotencyKey {
            workspace: by().workspace,
            partner: by().partner,
            route: route.to_owned(),
            key: "k-1".to_owned(),
        },
        fingerprint: fingerprint.to_owned(),
        kept: Duration::from_hours(72),
    }
}

/// A deal for the recipient of [`notification`].
pub fn new_deal() -> NewDeal {
    let phone = notification().phone;
    NewDeal {
        by: by(),
        id: DealId::new(NOW),
        name: "Rita".to_owned(),
        contact_keys: contact::keys(std::slice::from_ref(&phone), &[]),
        phone: Some(phone),
        email: None,
        product: None,
        bypass_product_check: false,
        agent: None,
        external_id: None,
        props: serde_json::Map::new(),
        message: None,
        idempotency: None,
        answer: deal_answer,
    }
}

/// An answer that shows what it was made of.
pub fn deal_answer(created: &CreatedDeal) -> StoredAnswer {
    let begun = created
        .begun
        .map(|(conversation, message)| json!([conversation, message]));
    StoredAnswer {
        status: 201,
        headers: Vec::new(),
        body: json!({"id": created.id, "begun": begun}).to_string(),
    }
}

pub fn make(known: &mut Known, new: NewDeal) -> DealCreated {
    match decide(known, Write::CreateDeal(Box::new(new))) {
        Written::DealCreated(created) => created,
        other => panic!("no deal: {other:?}"),
    }
}

/// A stored deal, in a workspace with the product `P-1` and the owner Olga.
pub fn stored_deal(known: &mut Known) -> DealId {
    let workspace = by().workspace;
    let (product, owner) = (product(), owner());
    known
        .products
        .insert((workspace, "P-1".to_owned()), product);
    known
        .product_ids
        .insert((workspace, product), "P-1".to_owned());
    known.owners.insert((workspace, OLGA.to_owned()), owner);
    let new = new_deal();
    let id = new.id;
    assert!(matches!(make(known, new), DealCreated::Done(_)));
    saved(known);
    id
}

pub const OLGA: &str = "olga@example.com";

pub fn owner() -> OwnerId {
    OwnerId(uuid::Uuid::from_u128(4))
}

pub fn product() -> ProductId {
    ProductId(uuid::Uuid::from_u128(5))
}

/// A patch without changes.
pub fn wish(deal: DealId) -> DealPatch {
    DealPatch {
        by: by(),
        deal,
        status: None,
        stage: None,
        product: None,
        owner_email: None,
    }
}

pub fn change(known: &mut Known, patch: DealPatch) -> DealPatched {
    match decide(known, Write::PatchDeal(Box::new(patch))) {
        Written::DealPatched(patched) => patched,
        other => panic!("no patch: {other:?}"),
    }
}

pub fn deal(known: &Known, id: DealId) -> &Deal {
    &known.deals[&id]
}

/// Begins a conversation about the deal that awaits an answer, and saves it.
pub fn talk_about(known: &mut Known, deal: DealId, notification: Notification) -> ConversationId {
    let new = Notification {
        deal: Some(deal),
        ..notification
    };
    let message_id = notify(known, new);
    settle(known, message_id, 0, accepted("w1", 0));
    saved(known);
    message(known, message_id).conversation
}

pub fn talk(known: &Known, id: ConversationId) -> &Conversation {
    &known.dialogue.conversations[&id]
}

pub fn elapse(known: &mut Known, conversation: ConversationId) -> bool {
    let elapse = Elapse {
        workspace: channel().workspace,
        conversation,
    };
    match decide(known, Write::Elapse(elapse)) {
        Written::Elapsed(changed) => changed,
        other => panic!("no time passed: {other:?}"),
    }
}

/// Returns the only ticket.
pub fn ticket(known: &Known) -> (TicketId, &Ticket) {
    let tickets = &known.dialogue.tickets;
    assert_eq!(tickets.len(), 1, "{tickets:?}");
    let (id, ticket) = tickets.iter().next().expect("one");
    (*id, ticket)
}

/// A patch without changes.
pub fn ticket_wish(ticket: TicketId) -> TicketPatch {
    TicketPatch {
        workspace: channel().workspace,
        ticket,
        status: None,
        owner_email: None,
    }
}

pub fn patch_ticket(known: &mut Known, patch: TicketPatch) -> TicketPatched {
    match decide(known, Write::PatchTicket(Box::new(patch))) {
        Written::TicketPatched(patched) => patched,
        other => panic!("no patch: {other:?}"),
    }
}
