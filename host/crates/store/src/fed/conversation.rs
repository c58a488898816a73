//! Conversations between a contact and an instance.

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;

// The instance and the source of a conversation never change. A repair may give it another contact.
table! {
    pub static CONVERSATIONS: "conversations" {
        key: &["id"],
        feed: Some(Entity::Conversations),
    }

    /// Its status is derived from its times.
    #[derive(Clone, Debug)]
    pub struct ConversationRecord |self, row, id: ConversationId, cursor_us: i64, at: Micros| {
        workspace_id => workspace: WorkspaceId [exported],
        cursor_us: i64 [exported_as("cursor_at")] = cursor_us,
        id: ConversationId [exported] = id,
        contact_id => contact: ContactId [exported],
        deal_id => deal: Option<DealId> [exported],
        agent_id => agent: Option<AgentId> [exported, fixed],
        agent_type: Option<String> [exported, fixed],
        source: Option<String> [exported, fixed],
        channel: Option<String> [exported, fixed],
        status: String [exported] = self.status().as_str(),
        created_at: Micros [exported, fixed] = at,
        updated_at: Micros [exported] = at,
        first_message_at: Option<Micros> [exported],
        answered_at: Option<Micros> [exported],
        last_message_at: Option<Micros> [exported],
        no_response_at: Option<Micros> [exported],
        transferred_at: Option<Micros> [exported],
        appointment_at: Option<Micros> [exported],
        closed_at: Option<Micros> [exported],
        props: Map<String, Value> [exported],
        /// When the first message of the instance was stored, if there is one. A later incoming message
        /// answers it.
        messaged_at: Option<Micros>,
        /// Whether it is transferred to people if it is not answered in time.
        transfer: bool,
        /// If it is unanswered at this time, it becomes `no_response`. `None` once that is settled.
        respond_by: Option<Micros>,
        /// If it is idle until this time, it closes. `None` if it is closed.
        close_by: Option<Micros>,
        /// What the notifications of each partner said of the person, by the partner's id.
        said: Map<String, Value>,
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(ConversationRecord: ConversationId in CONVERSATIONS of Conversations, may_meet: true, is_over: |_row| false);
