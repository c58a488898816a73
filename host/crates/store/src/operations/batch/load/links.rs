//! The rows that a batch leads to beyond those that its writes name.

use crate::IdempotencyKey;
use crate::decide::ReferenceKey;
use crate::operations::prelude::*;

/// The rows that the batch leads to, found without a lock. Rows that did not exist then are not
/// looked for again: if another host creates one in the meantime, this batch meets it when it saves
/// its own.
#[derive(Default)]
pub struct Links {
    pub requests: BTreeSet<IdempotencyKey>,
    pub references: BTreeSet<ReferenceKey>,
    /// Includes messages that do not exist.
    pub wanted: BTreeSet<(WorkspaceId, MessageId)>,
    pub messages: BTreeSet<(WorkspaceId, MessageId)>,
    pub sends: BTreeSet<MessageId>,
    pub conversations: BTreeSet<(WorkspaceId, ConversationId)>,
    pub contacts: BTreeSet<(WorkspaceId, ContactId)>,
    pub tickets: BTreeSet<(WorkspaceId, TicketId)>,
    pub handed: BTreeSet<(WorkspaceId, ConversationId)>,
    /// The deals of those tickets that have no conversation.
    pub deals: BTreeSet<(WorkspaceId, DealId)>,
}
