//! What messaging and the desk write.

use super::{Table, column, nullable};
use crate::domain::row::Entity;
use crate::store::sql::Kind::{Json, Number, Text, Time, Truth, Uuid};

pub static CONVERSATIONS: Table = Table {
    name: "conversations",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Conversations),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("contact_id", Uuid),
        nullable("deal_id", Uuid),
        nullable("agent_id", Number),
        nullable("agent_type", Text),
        nullable("source", Text),
        nullable("channel", Text),
        column("status", Text),
        column("created_at", Time),
        column("updated_at", Time),
        nullable("first_message_at", Time),
        nullable("answered_at", Time),
        nullable("last_message_at", Time),
        nullable("no_response_at", Time),
        nullable("transferred_at", Time),
        nullable("appointment_at", Time),
        nullable("closed_at", Time),
        column("props", Json),
        nullable("messaged_at", Time),
        column("transfer", Truth),
        nullable("respond_by", Time),
        nullable("close_by", Time),
    ],
};

pub static MESSAGES: Table = Table {
    name: "messages",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Messages),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("conversation_id", Uuid),
        column("contact_id", Uuid),
        nullable("agent_id", Number),
        column("created_at", Time),
        column("actor", Text),
        column("kind", Text),
        nullable("content", Text),
        column("metadata", Json),
        column("state", Text),
        nullable("delivered_at", Time),
        nullable("read_at", Time),
    ],
};

pub static SENDS: Table = Table {
    name: "sends",
    key: &["message_id"],
    leads_with_workspace: true,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("message_id", Uuid),
        column("conversation_id", Uuid),
        column("contact_id", Uuid),
        column("connection_id", Text),
        column("recipient", Text),
        column("payload", Json),
        column("attempts", Number),
        column("until_at", Time),
    ],
};

pub static CHANNEL_REFS: Table = Table {
    name: "channel_refs",
    key: &["connection_id", "external_id"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("external_id", Text),
        nullable("message_id", Uuid),
        nullable("progress", Json),
        nullable("recipient_id", Text),
        nullable("until_at", Time),
    ],
};

pub static HOLDS: Table = Table {
    name: "holds",
    key: &["connection_id", "contact_id"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("contact_id", Uuid),
        column("until_at", Time),
    ],
};

pub static MESSAGE_ERRORS: Table = Table {
    name: "message_errors",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::MessageErrors),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("conversation_id", Uuid),
        nullable("deal_id", Uuid),
        nullable("agent_id", Number),
        nullable("message_id", Uuid),
        nullable("external_id", Text),
        nullable("recipient_id", Text),
        column("code", Text),
        nullable("title", Text),
        nullable("description", Text),
        nullable("details", Text),
        nullable("template_name", Text),
        nullable("channel", Text),
        column("occurred_at", Time),
    ],
};

pub static TEMPLATE_LISTS: Table = Table {
    name: "template_lists",
    key: &["connection_id"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("connection_id", Text),
        column("synced_at", Time),
        nullable("error", Text),
        column("unlisted", Truth),
        column("templates", Json),
    ],
};

pub static IDEMPOTENCY: Table = Table {
    name: "idempotency",
    key: &["partner_id", "route", "key"],
    leads_with_workspace: false,
    feed: None,
    columns: &[
        column("workspace_id", Uuid),
        column("partner_id", Uuid),
        column("route", Text),
        column("key", Text),
        column("fingerprint", Text),
        nullable("message_id", Uuid),
        nullable("answer", Json),
        column("until_at", Time),
    ],
};

pub static TICKETS: Table = Table {
    name: "tickets",
    key: &["id"],
    leads_with_workspace: false,
    feed: Some(Entity::Tickets),
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        nullable("conversation_id", Uuid),
        nullable("deal_id", Uuid),
        column("contact_id", Uuid),
        nullable("agent_id", Number),
        nullable("agent_type", Text),
        nullable("source", Text),
        nullable("owner_id", Uuid),
        column("status", Text),
        nullable("special_instructions", Text),
        column("opened_at", Time),
        nullable("answered_at", Time),
        nullable("resolved_at", Time),
        column("updated_at", Time),
    ],
};
