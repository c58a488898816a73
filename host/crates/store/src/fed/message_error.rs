//! Failures that channels report.

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;

table! {
    pub static MESSAGE_ERRORS: "message_errors" {
        key: &["id"],
        feed: Some(Entity::MessageErrors),
        exported_first: &["id", "workspace_id", "cursor_us", "recipient_id", "deal_id"],
    }

    #[derive(Clone, Debug)]
    pub struct MessageErrorRecord |self, row, id: MessageErrorId, cursor_us: i64, _at: Micros| {
        workspace_id => workspace: WorkspaceId [exported],
        cursor_us: i64 [exported_as("cursor_at")] = cursor_us,
        id: MessageErrorId [exported] = id,
        conversation_id => conversation: Option<ConversationId> [exported],
        deal_id => deal: Option<DealId> [exported],
        agent_id => agent: Option<AgentId> [exported],
        message_id => message: Option<MessageId> [exported],
        external_id: Option<String> [exported],
        recipient_id: Option<String> [exported],
        code: String [exported_as("error_code")],
        title: Option<String> [exported_as("error_title")],
        description: Option<String> [exported_as("error_description")],
        details: Option<String> [exported_as("error_details")],
        template_name: Option<String> [exported],
        channel: Option<String> [exported],
        occurred_at: Micros [exported],
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(MessageErrorRecord: MessageErrorId in MESSAGE_ERRORS of MessageErrors, may_meet: true, is_over: |_row| false);
