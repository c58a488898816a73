//! The conversations and messages that a batch is decided on: loaded under the write
//! lock, changed in memory, saved by the store. Stamped rows are saved in the order in
//! which they first changed: for example, a conversation that closes comes before the
//! next one of the same contact and instance that opens.
//!
//! The methods of [`ReadSet`](super::ReadSet) that are named beside each field say which rows
//! a store loads into it.

use super::{IdempotencyRecord, MessageErrorRecord, Reference, SendRecord};
use crate::IdempotencyKey;
use crate::decide::prelude::*;
use leadhost_domain::channel::Template;
use leadhost_domain::word::words;

/// A channel's id of a message, within its instance's connection.
pub type ReferenceKey = (ConnectionId, String);

/// Marks a row as changed. It gets a stamp after those that changed before it.
macro_rules! touch {
    ($rows:expr, $changed:expr, $id:ident) => {
        if let Some(row) = $rows.get_mut(&$id) {
            if row.change == RowChange::None {
                $changed.push($id);
            }
            row.change.touch();
        }
    };
}

pub(super) use touch;

#[derive(Debug, Default)]
pub struct Dialogue {
    /// `ReadSet::conversations_of`, `ReadSet::contact_conversations_of`, and the open conversations of
    /// `ReadSet::deal_conversations`, added by [`Dialogue::know_conversation`].
    pub conversations: HashMap<ConversationId, ConversationRecord>,
    /// The open conversation of a contact and an instance, if there is one.
    pub open: HashMap<(ContactId, AgentId), ConversationId>,
    pub messages: HashMap<MessageId, MessageRecord>,
    pub sends: HashMap<MessageId, SendRecord>,
    pub references: HashMap<ReferenceKey, Reference>,
    pub errors: HashMap<MessageErrorId, MessageErrorRecord>,
    pub idempotency: HashMap<IdempotencyKey, IdempotencyRecord>,
    /// The ends of holds on a contact or on the whole number: `ReadSet::holds_of`. Some may
    /// have passed.
    pub holds: HashMap<(ConnectionId, Option<ContactId>), Micros>,
    /// The newest open deal of a contact, if there is one, for the contacts of
    /// `ReadSet::contact_conversations_of`.
    pub newest_deals: HashMap<ContactId, DealId>,
    /// `ReadSet::tickets`, and the live tickets of `ReadSet::handed_of` and
    /// `ReadSet::handed_deals_of`, added by [`Dialogue::know_ticket`].
    pub tickets: HashMap<TicketId, TicketRecord>,
    /// The unresolved ticket of a conversation, if there is one.
    pub live_tickets: HashMap<ConversationId, TicketId>,
    /// The unresolved ticket of a deal, without a conversation.
    pub live_deal_tickets: HashMap<DealId, TicketId>,

    // The results, besides the rows above.
    pub changed_conversations: Vec<ConversationId>,
    pub changed_messages: Vec<MessageId>,
    pub changed_errors: Vec<MessageErrorId>,
    pub changed_tickets: Vec<TicketId>,
    /// New holds, or new ends of known ones. The later end is kept.
    pub new_holds: Vec<NewHold>,
    /// Applied to the stored lists in this order: [`TemplateState::change`].
    pub template_changes: Vec<TemplateState>,
}

#[derive(Clone, Debug)]
pub struct NewHold {
    pub workspace: WorkspaceId,
    pub connection: ConnectionId,
    /// None: the whole number.
    pub contact: Option<ContactId>,
    pub until: Micros,
}

words! {
    SendState: "the state of a send" {
        Waiting = "waiting",
        Sending = "sending",
        Unknown = "unknown",
    }
}

#[derive(Clone, Debug)]
pub struct TemplateState {
    pub connection: ConnectionId,
    pub name: String,
    pub language: String,
    pub status: String,
    pub reason: String,
}

impl TemplateState {
    /// Changes the template in a stored list. Returns whether the list changed.
    pub fn change(&self, templates: &mut [Template]) -> bool {
        let mut changed = false;
        for template in templates {
            let is_meant = template.name == self.name
                && (self.language.is_empty() || template.language == self.language);
            if is_meant && (template.status != self.status || template.reason != self.reason) {
                template.status.clone_from(&self.status);
                template.reason.clone_from(&self.reason);
                changed = true;
            }
        }
        changed
    }
}

impl MessageRecord {
    pub fn state(&self) -> MessageState {
        MessageState::from_text(&self.metadata.status).unwrap_or(MessageState::Unknown)
    }

    /// Returns whether it came in: such a message has no statuses.
    pub fn is_incoming(&self) -> bool {
        self.state() == MessageState::Received
    }

    pub fn progress(&self) -> MessageProgress {
        MessageProgress {
            accepted_at: self.metadata.accepted_at,
            sent_at: self.metadata.sent_at,
            delivered_at: self.delivered_at,
            read_at: self.read_at,
            failed_at: self.metadata.failed_at,
            errors: self.metadata.errors.clone(),
        }
    }

    /// Adds what a status reports, and updates the state. Returns whether it was new.
    pub fn absorb(&mut self, said: &MessageProgress) -> bool {
        let mut progress = self.progress();
        if !progress.merge(said) {
            return false;
        }
        if let Some(state) = progress.state() {
            state.as_str().clone_into(&mut self.metadata.status);
        }
        self.metadata.accepted_at = progress.accepted_at;
        self.metadata.sent_at = progress.sent_at;
        self.metadata.failed_at = progress.failed_at;
        self.metadata.errors = progress.errors;
        self.metadata.reason = None;
        self.delivered_at = progress.delivered_at;
        self.read_at = progress.read_at;
        true
    }
}

impl Dialogue {
    pub fn live_send(&self, id: MessageId) -> Option<&SendRecord> {
        self.sends
            .get(&id)
            .filter(|send| send.change != RowChange::Removed)
    }

    pub fn know_conversation(&mut self, id: ConversationId, conversation: ConversationRecord) {
        if let (Some(agent), None) = (conversation.agent, conversation.closed_at) {
            self.open.insert((conversation.contact, agent), id);
        }
        self.conversations.insert(id, conversation);
    }

    /// Returns the open conversations of a deal, oldest first, including those that are
    /// about it since this batch.
    pub fn open_conversations(&self, deal: DealId) -> Vec<ConversationId> {
        let is_open = |conversation: &&ConversationRecord| {
            conversation.deal == Some(deal) && conversation.closed_at.is_none()
        };
        let mut conversations: Vec<_> = self
            .conversations
            .iter()
            .filter(|(_, conversation)| is_open(conversation))
            .map(|(id, _)| *id)
            .collect();
        conversations.sort_unstable();
        conversations
    }

    pub fn touch_conversation(&mut self, id: ConversationId) {
        touch!(self.conversations, self.changed_conversations, id);
    }

    /// Marks what analytics counts of a deal as changed: its conversations and its
    /// tickets. The order is the same on every store.
    pub fn touch_counted_of(&mut self, deal: DealId) {
        let conversations = self.conversations.iter();
        let conversations =
            conversations.filter(|(_, conversation)| conversation.deal == Some(deal));
        let conversations: BTreeSet<_> = conversations.map(|(id, _)| *id).collect();
        for id in conversations {
            self.touch_conversation(id);
        }
        let tickets = self.tickets.iter();
        let tickets = tickets.filter(|(_, ticket)| ticket.deal == Some(deal));
        let tickets: BTreeSet<_> = tickets.map(|(id, _)| *id).collect();
        for id in tickets {
            self.touch_ticket(id);
        }
    }

    pub fn touch_message(&mut self, id: MessageId) {
        touch!(self.messages, self.changed_messages, id);
    }

    pub fn touch_error(&mut self, id: MessageErrorId) {
        touch!(self.errors, self.changed_errors, id);
    }

    pub fn add_conversation(&mut self, id: ConversationId, conversation: ConversationRecord) {
        self.know_conversation(id, conversation);
        self.changed_conversations.push(id);
    }

    pub fn add_message(&mut self, id: MessageId, message: MessageRecord) {
        self.messages.insert(id, message);
        self.changed_messages.push(id);
    }

    /// Adds a ticket as it is stored, or a new one.
    pub fn know_ticket(&mut self, id: TicketId, ticket: TicketRecord) {
        if ticket.resolved_at.is_none() {
            match (ticket.conversation, ticket.deal) {
                (Some(conversation), _) => {
                    self.live_tickets.insert(conversation, id);
                }
                (None, Some(deal)) => {
                    self.live_deal_tickets.insert(deal, id);
                }
                (None, None) => {}
            }
        }
        self.tickets.insert(id, ticket);
    }

    /// Adds a new ticket, which gets a stamp. If it is not resolved, it becomes the live
    /// ticket of its conversation, or of its deal if it has no conversation.
    pub fn add_ticket(&mut self, id: TicketId, ticket: TicketRecord) {
        self.know_ticket(id, ticket);
        self.changed_tickets.push(id);
    }

    pub fn touch_ticket(&mut self, id: TicketId) {
        touch!(self.tickets, self.changed_tickets, id);
    }

    pub fn add_error(&mut self, id: MessageErrorId, error: MessageErrorRecord) {
        self.errors.insert(id, error);
        self.changed_errors.push(id);
    }
}
