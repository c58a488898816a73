//! Conversations, messages and rows of the report. What is new here may have been
//! made by another host under the same clock just before: then it is not made
//! twice, and is missed in the count.

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;

use super::{Saved, Stamped};
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::{Conversation, Message, MessageError};
use crate::store::postgres::columns::{at, json, text};
use crate::store::postgres::save::{all_made, each};

type Statement<'a> = Query<'a, sqlx::Postgres, PgArguments>;

/// One that closes before the next one of its two opens.
pub(super) async fn conversations(
    connection: &mut PgConnection,
    now: Micros,
    rows: &Saved<'_, Conversation>,
) -> Result<(), StoreError> {
    if !rows.changed.is_empty() {
        changed_conversations(now, &rows.changed)?
            .execute(&mut *connection)
            .await?;
    }
    if !rows.new.is_empty() {
        let made = new_conversations(now, &rows.new)?
            .execute(connection)
            .await?;
        all_made(rows.new.len(), made.rows_affected())?;
    }
    Ok(())
}

const NEW_CONVERSATIONS: &str = "
insert into conversations (workspace_id, cursor_us, id, contact_id, deal_id, agent_id, agent_type,
  source, channel, status, created_at, updated_at, first_message_at, answered_at, last_message_at,
  no_response_at, transferred_at, appointment_at, closed_at, props, messaged_at, transfer,
  respond_by, close_by)
select n.workspace_id, n.cursor_us, n.id, n.contact_id, n.deal_id, n.agent_id, n.agent_type,
  n.source, n.channel, n.status, least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval), n.first_message_at, n.answered_at, n.last_message_at,
  n.no_response_at, n.transferred_at, n.appointment_at, n.closed_at, n.props::json, n.messaged_at,
  n.transfer, n.respond_by, n.close_by
from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], $6::uuid[], $7::bigint[], $8::text[],
  $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[],
  $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[],
  $18::timestamptz[], $19::text[], $20::timestamptz[], $21::boolean[], $22::timestamptz[],
  $23::timestamptz[])
  as n (workspace_id, cursor_us, id, contact_id, deal_id, agent_id, agent_type, source, channel,
    status, first_message_at, answered_at, last_message_at, no_response_at, transferred_at,
    appointment_at, closed_at, props, messaged_at, transfer, respond_by, close_by)
on conflict do nothing";

fn new_conversations<'a>(
    now: Micros,
    rows: &'a [Stamped<'a, Conversation>],
) -> Result<Statement<'a>, StoreError> {
    let statement = sqlx::query(NEW_CONVERSATIONS)
        .bind(at(now))
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.contact.0))
        .bind(each(rows, |new| new.row.deal.map(|id| id.0)))
        .bind(each(rows, |new| new.row.agent.map(|agent| agent.0)))
        .bind(each(rows, |new| new.row.agent_type.as_deref().map(text)))
        .bind(each(rows, |new| new.row.source.as_deref().map(text)))
        .bind(each(rows, |new| new.row.channel.as_deref().map(text)));
    with_course(statement, rows)
}

// Whose conversation it is, with which instance and where from, stays.
const CHANGED_CONVERSATIONS: &str = "
update conversations as c
set cursor_us = n.cursor_us, deal_id = n.deal_id, status = n.status, updated_at = least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval),
  first_message_at = n.first_message_at, answered_at = n.answered_at,
  last_message_at = n.last_message_at, no_response_at = n.no_response_at,
  transferred_at = n.transferred_at, appointment_at = n.appointment_at, closed_at = n.closed_at,
  props = n.props::json, messaged_at = n.messaged_at, transfer = n.transfer,
  respond_by = n.respond_by, close_by = n.close_by
from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], $6::text[], $7::timestamptz[],
  $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[],
  $12::timestamptz[], $13::timestamptz[], $14::text[], $15::timestamptz[], $16::boolean[],
  $17::timestamptz[], $18::timestamptz[])
  as n (workspace_id, cursor_us, id, deal_id, status, first_message_at, answered_at,
    last_message_at, no_response_at, transferred_at, appointment_at, closed_at, props, messaged_at,
    transfer, respond_by, close_by)
where c.id = n.id
and (c.workspace_id = n.workspace_id) is true";

fn changed_conversations<'a>(
    now: Micros,
    rows: &'a [Stamped<'a, Conversation>],
) -> Result<Statement<'a>, StoreError> {
    let statement = sqlx::query(CHANGED_CONVERSATIONS)
        .bind(at(now))
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.deal.map(|id| id.0)));
    with_course(statement, rows)
}

/// How a conversation goes: the last columns of both statements.
fn with_course<'a>(
    statement: Statement<'a>,
    rows: &'a [Stamped<'a, Conversation>],
) -> Result<Statement<'a>, StoreError> {
    let props: Vec<String> = rows
        .iter()
        .map(|new| json(&new.row.props))
        .collect::<Result<_, _>>()?;
    Ok(statement
        .bind(each(rows, |new| new.row.status().as_str()))
        .bind(each(rows, |new| new.row.first_message_at.map(at)))
        .bind(each(rows, |new| new.row.answered_at.map(at)))
        .bind(each(rows, |new| new.row.last_message_at.map(at)))
        .bind(each(rows, |new| new.row.no_response_at.map(at)))
        .bind(each(rows, |new| new.row.transferred_at.map(at)))
        .bind(each(rows, |new| new.row.appointment_at.map(at)))
        .bind(each(rows, |new| new.row.closed_at.map(at)))
        .bind(props)
        .bind(each(rows, |new| new.row.messaged_at.map(at)))
        .bind(each(rows, |new| new.row.transfer))
        .bind(each(rows, |new| new.row.respond_by.map(at)))
        .bind(each(rows, |new| new.row.close_by.map(at))))
}

pub(super) async fn messages(
    connection: &mut PgConnection,
    rows: &Saved<'_, Message>,
) -> Result<(), StoreError> {
    if !rows.new.is_empty() {
        new_messages(&rows.new)?.execute(&mut *connection).await?;
    }
    if !rows.changed.is_empty() {
        changed_messages(&rows.changed)?.execute(connection).await?;
    }
    Ok(())
}

const NEW_MESSAGES: &str = "
insert into messages (workspace_id, cursor_us, id, conversation_id, contact_id, agent_id, created_at,
  actor, kind, content, metadata, state, delivered_at, read_at)
select n.workspace_id, n.cursor_us, n.id, n.conversation_id, n.contact_id, n.agent_id, n.created_at,
  n.actor, n.kind, n.content, n.metadata::json, n.state, n.delivered_at, n.read_at
from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::uuid[], $6::bigint[],
  $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
  $13::timestamptz[], $14::timestamptz[])
  as n (workspace_id, cursor_us, id, conversation_id, contact_id, agent_id, created_at, actor, kind,
    content, metadata, state, delivered_at, read_at)";

fn new_messages<'a>(rows: &'a [Stamped<'a, Message>]) -> Result<Statement<'a>, StoreError> {
    Ok(sqlx::query(NEW_MESSAGES)
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.conversation.0))
        .bind(each(rows, |new| new.row.contact.0))
        .bind(each(rows, |new| new.row.agent.map(|agent| agent.0)))
        .bind(each(rows, |new| at(new.row.created_at)))
        .bind(each(rows, |new| new.row.actor.as_str()))
        .bind(each(rows, |new| text(&new.row.kind)))
        .bind(each(rows, |new| new.row.content.as_deref().map(text)))
        .bind(metadata(rows)?)
        .bind(each(rows, |new| text(&new.row.metadata.status)))
        .bind(each(rows, |new| new.row.delivered_at.map(at)))
        .bind(each(rows, |new| new.row.read_at.map(at))))
}

// What was said stays; how far it is changes.
const CHANGED_MESSAGES: &str = "
update messages as m
set cursor_us = n.cursor_us, metadata = n.metadata::json, state = n.state,
  delivered_at = n.delivered_at, read_at = n.read_at
from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[],
  $7::timestamptz[])
  as n (workspace_id, cursor_us, id, metadata, state, delivered_at, read_at)
where m.id = n.id
and (m.workspace_id = n.workspace_id) is true";

fn changed_messages<'a>(rows: &'a [Stamped<'a, Message>]) -> Result<Statement<'a>, StoreError> {
    Ok(sqlx::query(CHANGED_MESSAGES)
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(metadata(rows)?)
        .bind(each(rows, |new| text(&new.row.metadata.status)))
        .bind(each(rows, |new| new.row.delivered_at.map(at)))
        .bind(each(rows, |new| new.row.read_at.map(at))))
}

fn metadata(rows: &[Stamped<'_, Message>]) -> Result<Vec<String>, StoreError> {
    rows.iter().map(|new| json(&new.row.metadata)).collect()
}

pub(super) async fn errors(
    connection: &mut PgConnection,
    rows: &Saved<'_, MessageError>,
) -> Result<(), StoreError> {
    if !rows.new.is_empty() {
        let made = bind_errors(NEW_ERRORS, &rows.new)
            .execute(&mut *connection)
            .await?;
        all_made(rows.new.len(), made.rows_affected())?;
    }
    if !rows.changed.is_empty() {
        bind_errors(CHANGED_ERRORS, &rows.changed)
            .execute(connection)
            .await?;
    }
    Ok(())
}

const NEW_ERRORS: &str = "
insert into message_errors (workspace_id, cursor_us, id, conversation_id, deal_id, agent_id,
  message_id, external_id, recipient_id, code, title, description, details, template_name, channel,
  occurred_at)
select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::uuid[], $6::bigint[],
  $7::uuid[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
  $14::text[], $15::text[], $16::timestamptz[])
on conflict do nothing";

const CHANGED_ERRORS: &str = "
update message_errors as e
set cursor_us = n.cursor_us, conversation_id = n.conversation_id, deal_id = n.deal_id,
  agent_id = n.agent_id, message_id = n.message_id, external_id = n.external_id,
  recipient_id = n.recipient_id, code = n.code, title = n.title, description = n.description,
  details = n.details, template_name = n.template_name, channel = n.channel,
  occurred_at = n.occurred_at
from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::uuid[], $6::bigint[],
  $7::uuid[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
  $14::text[], $15::text[], $16::timestamptz[])
  as n (workspace_id, cursor_us, id, conversation_id, deal_id, agent_id, message_id, external_id,
    recipient_id, code, title, description, details, template_name, channel, occurred_at)
where e.id = n.id
and (e.workspace_id = n.workspace_id) is true";

fn bind_errors<'a>(sql: &'static str, rows: &'a [Stamped<'a, MessageError>]) -> Statement<'a> {
    sqlx::query(sql)
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.conversation.map(|id| id.0)))
        .bind(each(rows, |new| new.row.deal.map(|id| id.0)))
        .bind(each(rows, |new| new.row.agent.map(|agent| agent.0)))
        .bind(each(rows, |new| new.row.message.map(|id| id.0)))
        .bind(each(rows, |new| new.row.external_id.as_deref().map(text)))
        .bind(each(rows, |new| new.row.recipient_id.as_deref().map(text)))
        .bind(each(rows, |new| text(&new.row.code)))
        .bind(each(rows, |new| new.row.title.as_deref().map(text)))
        .bind(each(rows, |new| new.row.description.as_deref().map(text)))
        .bind(each(rows, |new| new.row.details.as_deref().map(text)))
        .bind(each(rows, |new| new.row.template_name.as_deref().map(text)))
        .bind(each(rows, |new| new.row.channel.as_deref().map(text)))
        .bind(each(rows, |new| at(new.row.occurred_at)))
}

pub const SQL: &[&str] = &[
    NEW_CONVERSATIONS,
    CHANGED_CONVERSATIONS,
    NEW_MESSAGES,
    CHANGED_MESSAGES,
    NEW_ERRORS,
    CHANGED_ERRORS,
];
