//! Messages of conversations, and their progress.

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;
use crate::schema::table::Ends;
use leadhost_domain::message::{Actor, Metadata};

// The content of a message never changes; its progress does.
table! {
    pub static MESSAGES: "messages" {
        key: &["id"],
        feed: Some(Entity::Messages),
        ends: &[Ends::With("conversation_id")],
    }

    #[derive(Clone, Debug)]
    pub struct MessageRecord |self, row, id: MessageId, cursor_us: i64, _at: Micros| {
        workspace_id => workspace: WorkspaceId [exported],
        cursor_us: i64 [exported_as("cursor_at")] = cursor_us,
        id: MessageId [exported] = id,
        conversation_id => conversation: ConversationId [exported, fixed],
        contact_id => contact: ContactId [fixed],
        agent_id => agent: Option<AgentId> [fixed],
        created_at: Micros [exported, fixed],
        actor: Actor [exported, fixed],
        /// One of `domain::message::KINDS`.
        kind: String [exported_as("type"), fixed],
        content: Option<String> [exported, fixed],
        metadata: Metadata [exported],
        state: String = &self.metadata.status,
        delivered_at: Option<Micros> [exported],
        read_at: Option<Micros> [exported],
        /// The version that sent it last, or that read it. `None` if none was called.
        ran: Option<RanWith> [jsonb],
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(MessageRecord: MessageId in MESSAGES of Messages, may_meet: false, is_over: |_row| false);
