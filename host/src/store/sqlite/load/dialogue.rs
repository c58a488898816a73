//! Loads the dialogue that a batch touches, following from one row to the next as
//! `decide` says (`Needs::messages_of` and its like).

use std::collections::BTreeSet;

use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::rows;
use crate::domain::id::{
    AgentId, ContactId, ConversationId, DealId, MessageId, PartnerId, TicketId, WorkspaceId,
};
use crate::store::decide::{Known, Needs};
use crate::store::row::{Columns as _, known};
use crate::store::{IdempotencyKey, StoreError};

/// Comes after the contacts that keys found.
pub async fn all(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    references(connection, known, needs).await?;
    idempotency(connection, known, needs).await?;
    tickets(connection, known, &needs.tickets).await?;
    messages(connection, known, &needs.messages_of(known)).await?;
    conversations(connection, known, &needs.conversations_of(known)).await?;
    of_deals(connection, known, OPEN_OF_DEALS, &needs.deal_talks).await?;
    let trials = needs.trials_of(known);
    of_deals(connection, known, OF_DEALS, &trials).await?;
    let talks = needs.talks_of(known);
    open(connection, known, &talks).await?;
    live_tickets(connection, known, needs).await?;
    know_tickets(known, &rows(connection, TICKETS_OF_DEALS, &trials).await?)?;
    let people = talks.iter().map(|(_, contact, _)| *contact).collect();
    newest_deals(connection, known, &people).await?;
    holds(connection, known, needs).await?;
    contacts(connection, known, &needs.contacts_of(known)).await?;
    errors(connection, known, needs).await
}

const REFERENCES: &str = "
select r.connection_id, r.external_id, r.workspace_id, r.message_id, r.progress, r.recipient_id,
  r.until_at
from json_each(?1) as wanted
cross join channel_refs as r
  on r.connection_id = wanted.value ->> 0
  and r.external_id = wanted.value ->> 1";

async fn references(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    for row in rows(connection, REFERENCES, &needs.references).await? {
        let key = (row.text_id("connection_id")?, row.text("external_id")?);
        let reference = known::reference(&row)?;
        known.dialogue.references.insert(key, reference);
    }
    Ok(())
}

const IDEMPOTENCY: &str = "
select i.partner_id, i.route, i.key, i.workspace_id, i.fingerprint, i.message_id, i.answer,
  i.until_at
from json_each(?1) as wanted
cross join idempotency as i
  on i.partner_id = wanted.value ->> 0
  and i.route = wanted.value ->> 1
  and i.key = wanted.value ->> 2";

async fn idempotency(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let wanted: BTreeSet<(PartnerId, &str, &str)> = needs
        .idempotency
        .iter()
        .map(|key| (key.partner, key.route.as_str(), key.key.as_str()))
        .collect();
    for row in rows(connection, IDEMPOTENCY, &wanted).await? {
        let key = IdempotencyKey {
            workspace: row.id("workspace_id")?,
            partner: row.id("partner_id")?,
            route: row.text("route")?,
            key: row.text("key")?,
        };
        let remembered = known::remembered(&row)?;
        known.dialogue.idempotency.insert(key, remembered);
    }
    Ok(())
}

const MESSAGES: &str = "
select m.id, m.workspace_id, m.conversation_id, m.contact_id, m.agent_id,
  m.created_at, m.actor, m.kind, m.content, m.metadata,
  m.delivered_at, m.read_at
from json_each(?1) as wanted
cross join messages as m
  on m.id = wanted.value ->> 1
  and m.workspace_id = wanted.value ->> 0";

const SENDS: &str = "
select s.message_id, s.workspace_id, s.conversation_id, s.contact_id, s.connection_id, s.recipient,
  s.payload, s.state, s.attempts, s.due_at, s.until_at, s.lease,
  s.lease_until_at
from json_each(?1) as wanted
cross join sends as s
  on s.message_id = wanted.value ->> 1
  and s.workspace_id = wanted.value ->> 0";

async fn messages(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, MessageId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, MESSAGES, wanted).await? {
        let message = known::message(&row)?;
        known.dialogue.messages.insert(row.id("id")?, message);
    }
    for row in rows(connection, SENDS, wanted).await? {
        let send = known::send(&row)?;
        known.dialogue.sends.insert(row.id("message_id")?, send);
    }
    Ok(())
}

macro_rules! conversations_of {
    ($on:literal) => {
        concat!(
            "
select c.id, c.workspace_id, c.contact_id, c.deal_id, c.agent_id, c.agent_type, c.source, c.channel,
  c.first_message_at, c.answered_at,
  c.last_message_at, c.no_response_at,
  c.transferred_at, c.appointment_at,
  c.closed_at, c.props, c.messaged_at, c.transfer,
  c.respond_by, c.close_by
from json_each(?1) as wanted
cross join conversations as c
",
            $on
        )
    };
}

const CONVERSATIONS: &str = conversations_of!(
    "  on c.id = wanted.value ->> 1
  and c.workspace_id = wanted.value ->> 0"
);

async fn conversations(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, ConversationId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, CONVERSATIONS, wanted).await? {
        let conversation = known::conversation(&row)?;
        let dialogue = &mut known.dialogue;
        dialogue.know_conversation(row.id("id")?, conversation);
    }
    Ok(())
}

const OPEN_OF_DEALS: &str = conversations_of!(
    "  on c.deal_id = wanted.value ->> 1
  and c.workspace_id = wanted.value ->> 0
  and c.closed_at is null"
);

const OF_DEALS: &str = conversations_of!(
    "  on c.deal_id = wanted.value ->> 1
  and c.workspace_id = wanted.value ->> 0"
);

async fn of_deals(
    connection: &mut SqliteConnection,
    known: &mut Known,
    sql: &'static str,
    wanted: &BTreeSet<(WorkspaceId, DealId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, sql, wanted).await? {
        let conversation = known::conversation(&row)?;
        let dialogue = &mut known.dialogue;
        dialogue.know_conversation(row.id("id")?, conversation);
    }
    Ok(())
}

macro_rules! tickets_of {
    ($on:literal) => {
        concat!(
            "
select t.id, t.workspace_id, t.conversation_id, t.deal_id, t.contact_id, t.agent_id,
  t.agent_type, t.source, t.owner_id, t.status, t.special_instructions, t.opened_at, t.answered_at,
  t.resolved_at
from json_each(?1) as wanted
cross join tickets as t
",
            $on
        )
    };
}

const TICKETS: &str = tickets_of!(
    "  on t.id = wanted.value ->> 1
  and t.workspace_id = wanted.value ->> 0"
);

async fn tickets(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, TicketId)>,
) -> Result<(), StoreError> {
    know_tickets(known, &rows(connection, TICKETS, wanted).await?)
}

const LIVE_TICKETS: &str = tickets_of!(
    "  on t.conversation_id = wanted.value ->> 1
  and t.workspace_id = wanted.value ->> 0
  and t.resolved_at is null"
);

const LIVE_DEAL_TICKETS: &str = tickets_of!(
    "  on t.deal_id = wanted.value ->> 1
  and t.workspace_id = wanted.value ->> 0
  and t.conversation_id is null
  and t.resolved_at is null"
);

const TICKETS_OF_DEALS: &str = tickets_of!(
    "  on t.deal_id = wanted.value ->> 1
  and t.workspace_id = wanted.value ->> 0"
);

/// Of conversations and of deals.
async fn live_tickets(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    let handed = needs.handed_of(known);
    know_tickets(known, &rows(connection, LIVE_TICKETS, &handed).await?)?;
    let handed = needs.handed_deals_of(known);
    know_tickets(known, &rows(connection, LIVE_DEAL_TICKETS, &handed).await?)
}

fn know_tickets(known: &mut Known, rows: &[SqliteRow]) -> Result<(), StoreError> {
    for row in rows {
        let ticket = known::ticket(row)?;
        known.dialogue.know_ticket(row.id("id")?, ticket);
    }
    Ok(())
}

const OPEN: &str = conversations_of!(
    "  on c.contact_id = wanted.value ->> 1
  and c.agent_id = wanted.value ->> 2
  and c.closed_at is null"
);

async fn open(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, ContactId, AgentId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, OPEN, wanted).await? {
        let conversation = known::conversation(&row)?;
        let dialogue = &mut known.dialogue;
        dialogue.know_conversation(row.id("id")?, conversation);
    }
    Ok(())
}

const NEWEST_DEALS: &str = "
select d.person_id, max(d.id) as id
from json_each(?1) as wanted
cross join deals as d on d.person_id = wanted.value
where d.status = 'open'
group by d.person_id";

async fn newest_deals(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<ContactId>,
) -> Result<(), StoreError> {
    for row in rows(connection, NEWEST_DEALS, wanted).await? {
        let deals = &mut known.dialogue.newest_deals;
        deals.insert(row.id("person_id")?, row.id("id")?);
    }
    Ok(())
}

const HOLDS: &str = "
select h.connection_id, nullif(h.contact_id, '') as contact_id, h.until_at
from json_each(?1) as wanted
cross join holds as h
  on h.connection_id = wanted.value ->> 0
  and h.contact_id = coalesce(wanted.value ->> 1, '')";

async fn holds(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    for row in rows(connection, HOLDS, &needs.holds_of(known)).await? {
        let key = (row.text_id("connection_id")?, row.id_if("contact_id")?);
        known.dialogue.holds.insert(key, row.time("until_at")?);
    }
    Ok(())
}

const CONTACTS: &str = "
select c.id, c.workspace_id, c.name, c.email, c.phone_number, c.banned_at, c.props,
  c.edited
from json_each(?1) as wanted
cross join contacts as c
  on c.id = wanted.value ->> 1
  and c.workspace_id = wanted.value ->> 0";

async fn contacts(
    connection: &mut SqliteConnection,
    known: &mut Known,
    wanted: &BTreeSet<(WorkspaceId, ContactId)>,
) -> Result<(), StoreError> {
    for row in rows(connection, CONTACTS, wanted).await? {
        let contact = known::contact(&row, "props", "edited")?;
        known.contacts.entry(row.id("id")?).or_insert(contact);
    }
    Ok(())
}

const ERRORS: &str = "
select e.id, e.workspace_id, e.conversation_id, e.deal_id, e.agent_id, e.message_id, e.external_id,
  e.recipient_id, e.code, e.title, e.description, e.details, e.template_name, e.channel,
  e.occurred_at
from json_each(?1) as wanted
cross join message_errors as e
  on e.id = wanted.value ->> 1
  and e.workspace_id = wanted.value ->> 0";

async fn errors(
    connection: &mut SqliteConnection,
    known: &mut Known,
    needs: &Needs,
) -> Result<(), StoreError> {
    for row in rows(connection, ERRORS, &needs.errors_of(known)).await? {
        let error = known::message_error(&row)?;
        known.dialogue.errors.insert(row.id("id")?, error);
    }
    Ok(())
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    REFERENCES,
    IDEMPOTENCY,
    MESSAGES,
    SENDS,
    CONVERSATIONS,
    OPEN_OF_DEALS,
    OF_DEALS,
    TICKETS,
    LIVE_TICKETS,
    LIVE_DEAL_TICKETS,
    TICKETS_OF_DEALS,
    OPEN,
    NEWEST_DEALS,
    HOLDS,
    CONTACTS,
    ERRORS,
];
