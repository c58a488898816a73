//! Tables of messaging and the desk, with the records that a batch decides on.

use super::described::table;
use super::table::Ends;
use crate::decide::{ReferenceKey, SendState};
use crate::prelude::*;
use crate::sql::{Json, json};
use crate::{IdempotencyKey, StoredAnswer, TemplateList};
use leadhost_domain::message::MessageProgress;

// The due time and the lease of a send are stored in the queue.
table! {
    pub static SENDS: "sends" {
        key: &["message_id"],
        keyed_with_workspace: true,
        ends: &[Ends::With("message_id")],
    }

    /// A message that is not out yet or whose outcome is unknown.
    #[derive(Clone, Debug)]
    pub struct SendRecord |self, row, id: MessageId| {
        workspace_id => workspace: WorkspaceId,
        message_id: MessageId = id,
        conversation_id => conversation: ConversationId [fixed],
        contact_id => contact: ContactId [fixed],
        connection_id => connection: ConnectionId [fixed],
        recipient: String [fixed],
        payload: Json [fixed],
        attempts: u32,
        until_at => until: Micros,
        ;
        state: SendState = row.get("state")?,
        /// When a waiting send is due, or when the lease of a running send ends.
        due_at: Option<Micros> = row.get("due_at")?,
        lease: i64 = row.get("lease")?,
        /// The end of its lease, which may have passed.
        lease_until: Option<Micros> = row.get("lease_until_at")?,
        change: RowChange = RowChange::None,
    }
}

// Of hosts of the former release, which may still run: this one writes none, and removes them.
table! {
    pub static KEPT_SENDS: "kept_sends" {
        key: &["message_id"],
        ends: &[Ends::With("message_id"), Ends::At("until_at")],
    }

    {
        workspace_id: Uuid, message_id: Uuid, conversation_id: Uuid, connection_id: String,
        sent_at: Micros, until_at: Micros, digest: String, outcome: String, recipient: String,
        payload: Json, response_head: Option<Json>, response_body: Option<Vec<u8>>,
    }
}

table! {
    pub static CHANNEL_REFS: "channel_refs" {
        key: &["connection_id", "external_id"],
        ends: &[Ends::With("message_id"), Ends::At("until_at")],
    }

    /// The message of a channel's id, or what was reported about an id whose message is not
    /// known.
    #[derive(Clone, Debug)]
    pub struct Reference |self, row, key: &'a ReferenceKey| {
        workspace_id => workspace: WorkspaceId,
        connection_id: ConnectionId = &key.0,
        external_id: String = &key.1,
        message_id => message: Option<MessageId>,
        progress: Option<MessageProgress> [read] = match self.progress.is_empty() {
            true => None,
            false => Some(json(&self.progress)?),
        },
        recipient_id: Option<String>,
        /// Removed at this time, unless the message is known by then.
        until_at => until: Option<Micros>,
        ;
        /// Collected while the message is not known.
        progress: MessageProgress = row.get::<Option<_>>("progress")?.unwrap_or_default(),
        change: RowChange = RowChange::None,
    }
}

table! {
    pub static HOLDS: "holds" {
        key: &["connection_id", "contact_id"],
        ends: &[Ends::With("contact_id"), Ends::At("until_at")],
    }

    { workspace_id: Uuid, connection_id: String, contact_id: Uuid, until_at: Micros }
}

table! {
    pub static TEMPLATE_LISTS: "template_lists" { key: &["connection_id"] }

    impl TemplateList |row| {
        workspace_id: Uuid, connection_id: String, synced_at: Micros, error, unlisted => is_unlisted,
        templates,
        ;
        synced_at = row.get("synced_at")?,
    }
}

table! {
    pub static IDEMPOTENCY: "idempotency" {
        key: &["partner_id", "route", "key"],
        ends: &[Ends::At("until_at")],
    }

    /// A request with an idempotency key.
    #[derive(Clone, Debug)]
    pub struct IdempotencyRecord |self, row, key: &'a IdempotencyKey| {
        workspace_id: WorkspaceId = key.workspace,
        partner_id: PartnerId = key.partner,
        route: String = &key.route,
        key: String = &key.key,
        fingerprint: String,
        message_id => message: Option<MessageId>,
        /// None while it is running.
        answer: Option<StoredAnswer>,
        /// Removed at this time.
        until_at => until: Micros,
        ;
        change: RowChange = RowChange::None,
    }
}
