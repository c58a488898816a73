//! Test data for the decisions: an instance, a notification, statuses of its message, and
//! a deal of a partner. Nothing is loaded: each batch works on what the previous ones
//! decided. [`saved`] ends a batch.

use super::all;
use crate::decide::prelude::*;
use crate::{
    ByPartner, CreatedDeal, DealCreated, DealPatch, DealPatched, Elapse, Event, IdempotencyClaim,
    IdempotencyKey, Lease, NewDeal, NewEvent, NewMessage, Notification, NotificationDetails,
    Notified, SendOutcome, SendSettlement, StoredAnswer, TicketPatch, TicketPatched, Write,
};
use leadhost_domain::channel::{Category, ChannelError};
use leadhost_domain::message::TemplateName;
use leadhost_domain::phone::Phone;
use leadhost_domain::workspace::AgentKind;

pub const NOW: Micros = Micros(1_750_000_000_000_000);

pub fn time(seconds: i64) -> Micros {
    NOW.plus_seconds(seconds)
}

pub fn working_set() -> WorkingSet {
    WorkingSet {
        now: NOW,
        ..WorkingSet::default()
    }
}

/// Returns the instance that all of these belong to.
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
        by: by().partner,
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
            source: Some("crm".to_owned()),
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

pub fn decide(set: &mut WorkingSet, write: Write) -> WriteOutcome {
    let written = all(set, std::slice::from_ref(&write));
    written.expect("it can be decided").remove(0)
}

pub fn notify(set: &mut WorkingSet, new: Notification) -> MessageId {
    match decide(set, Write::Notify(Box::new(new))) {
        WriteOutcome::Notified(Notified::Stored { message, .. }) => message,
        other => panic!("not stored: {other:?}"),
    }
}

/// Settles a send. Returns the state of the message, or `None` if the lease is not held.
pub fn settle(
    set: &mut WorkingSet,
    message: MessageId,
    lease: i64,
    outcome: SendOutcome,
) -> Option<MessageState> {
    let write = Write::Sent(Box::new(SendSettlement {
        channel: channel(),
        message,
        lease: Lease(lease),
        outcome,
        further_keys: Vec::new(),
        ran: None,
        holds: Vec::new(),
        pause: None,
        answer: None,
    }));
    match decide(set, write) {
        WriteOutcome::Message(outcome) => Some(outcome.state),
        WriteOutcome::Stale => None,
        other => panic!("no message: {other:?}"),
    }
}

/// Returns the outcome of a send that the provider accepted at this time.
pub fn accepted(external_id: &str, seconds: i64) -> SendOutcome {
    SendOutcome::Accepted {
        external_ids: vec![external_id.to_owned()],
        recipient_id: Some("5511987654321".to_owned()),
        progress: MessageProgress {
            accepted_at: Some(time(seconds)),
            ..MessageProgress::default()
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

/// Returns a status that the provider reports of a message at this time.
pub fn status(
    external_id: &str,
    message: Option<MessageId>,
    progress: MessageProgress,
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
        further_keys: Vec::new(),
    }
}

pub fn message(set: &WorkingSet, id: MessageId) -> &MessageRecord {
    &set.dialogue.messages[&id]
}

pub fn conversation(set: &WorkingSet, id: MessageId) -> &ConversationRecord {
    &set.dialogue.conversations[&message(set, id).conversation]
}

/// Ends the batch: the next one finds all rows unchanged.
pub fn saved(set: &mut WorkingSet) {
    let dialogue = &mut set.dialogue;
    set.deals
        .values_mut()
        .for_each(|row| row.change = RowChange::None);
    set.contacts
        .values_mut()
        .for_each(|row| row.change = RowChange::None);
    let conversations = dialogue.conversations.values_mut();
    conversations.for_each(|row| row.change = RowChange::None);
    dialogue
        .tickets
        .values_mut()
        .for_each(|row| row.change = RowChange::None);
    set.changed_deals.clear();
    set.changed_contacts.clear();
    set.new_history.clear();
    set.new_logs.clear();
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

/// Returns the claim of the idempotency key `k-1` for a request with this fingerprint.
pub fn claim(route: &str, fingerprint: &str) -> IdempotencyClaim {
    IdempotencyClaim {
        key: IdempotencyKey {
            workspace: by().workspace,
            partner: by().partner,
            route: route.to_owned(),
            key: "k-1".to_owned(),
        },
        fingerprint: fingerprint.to_owned(),
        retention: Duration::from_hours(72),
    }
}

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

/// An answer that contains its inputs, so that a test can compare them.
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

pub fn make(set: &mut WorkingSet, new: NewDeal) -> DealCreated {
    match decide(set, Write::CreateDeal(Box::new(new))) {
        WriteOutcome::DealCreated(created) => created,
        other => panic!("no deal: {other:?}"),
    }
}

/// A stored deal, in a workspace with the product `P-1` and the owner Olga.
pub fn stored_deal(set: &mut WorkingSet) -> DealId {
    let workspace = by().workspace;
    let (product, owner) = (product(), owner());
    set.products.insert((workspace, "P-1".to_owned()), product);
    set.product_ids
        .insert((workspace, product), "P-1".to_owned());
    set.owners.insert((workspace, OLGA.to_owned()), owner);
    let new = new_deal();
    let id = new.id;
    assert!(matches!(make(set, new), DealCreated::Done(_)));
    saved(set);
    id
}

pub const OLGA: &str = "olga@example.com";

pub fn owner() -> OwnerId {
    OwnerId(uuid::Uuid::from_u128(4))
}

pub fn product() -> ProductId {
    ProductId(uuid::Uuid::from_u128(5))
}

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

pub fn change(set: &mut WorkingSet, patch: DealPatch) -> DealPatched {
    match decide(set, Write::PatchDeal(Box::new(patch))) {
        WriteOutcome::DealPatched(patched) => patched,
        other => panic!("no patch: {other:?}"),
    }
}

pub fn deal(set: &WorkingSet, id: DealId) -> &DealRecord {
    &set.deals[&id]
}

/// Begins a conversation about the deal that awaits an answer, and saves it.
pub fn conversation_about(
    set: &mut WorkingSet,
    deal: DealId,
    notification: Notification,
) -> ConversationId {
    let new = Notification {
        deal: Some(deal),
        ..notification
    };
    let message_id = notify(set, new);
    settle(set, message_id, 0, accepted("w1", 0));
    saved(set);
    message(set, message_id).conversation
}

pub fn conversation_by_id(set: &WorkingSet, id: ConversationId) -> &ConversationRecord {
    &set.dialogue.conversations[&id]
}

pub fn elapse(set: &mut WorkingSet, conversation: ConversationId) -> bool {
    let elapse = Elapse {
        workspace: channel().workspace,
        conversation,
    };
    match decide(set, Write::Elapse(elapse)) {
        WriteOutcome::Elapsed(changed) => changed,
        other => panic!("no time passed: {other:?}"),
    }
}

pub fn ticket(set: &WorkingSet) -> (TicketId, &TicketRecord) {
    let tickets = &set.dialogue.tickets;
    assert_eq!(tickets.len(), 1, "{tickets:?}");
    let (id, ticket) = tickets.iter().next().expect("one");
    (*id, ticket)
}

pub fn ticket_wish(ticket: TicketId) -> TicketPatch {
    TicketPatch {
        workspace: channel().workspace,
        ticket,
        status: None,
        owner_email: None,
    }
}

pub fn patch_ticket(set: &mut WorkingSet, patch: TicketPatch) -> TicketPatched {
    match decide(set, Write::PatchTicket(Box::new(patch))) {
        WriteOutcome::TicketPatched(patched) => patched,
        other => panic!("no patch: {other:?}"),
    }
}
