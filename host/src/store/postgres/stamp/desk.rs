//! Tickets. Of what a ticket is about at most one is live, and one that is
//! resolved makes room for the next in the same batch: these come first. A live one
//! that another host has made all the same is missed in the count.

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;

use super::{Saved, Stamped};
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::Ticket;
use crate::store::postgres::columns::{at, text};
use crate::store::postgres::save::{all_made, each};

type Statement<'a> = Query<'a, sqlx::Postgres, PgArguments>;

pub(super) async fn tickets(
    connection: &mut PgConnection,
    now: Micros,
    rows: Saved<'_, Ticket>,
) -> Result<(), StoreError> {
    let resolved = |ticket: &Stamped<'_, Ticket>| ticket.row.resolved_at.is_some();
    let (over, live): (Vec<_>, Vec<_>) = rows.changed.into_iter().partition(resolved);
    for some in [over, live].iter().filter(|some| !some.is_empty()) {
        changed(now, some).execute(&mut *connection).await?;
    }
    if !rows.new.is_empty() {
        let made = new(now, &rows.new).execute(connection).await?;
        all_made(rows.new.len(), made.rows_affected())?;
    }
    Ok(())
}

const NEW: &str = "
insert into tickets (workspace_id, cursor_us, id, conversation_id, deal_id, contact_id, agent_id,
  owner_id, status, special_instructions, opened_at, answered_at, resolved_at, updated_at,
  agent_type, source)
select n.workspace_id, n.cursor_us, n.id, n.conversation_id, n.deal_id, n.contact_id, n.agent_id,
  n.owner_id, n.status, n.special_instructions, n.opened_at, n.answered_at, n.resolved_at,
  least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval),
  n.agent_type, n.source
from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::bigint[],
  $9::uuid[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[],
  $14::timestamptz[], $15::text[], $16::text[])
  as n (workspace_id, cursor_us, id, conversation_id, deal_id, contact_id, agent_id, owner_id,
    status, special_instructions, opened_at, answered_at, resolved_at, agent_type, source)
on conflict do nothing";

fn new<'a>(now: Micros, rows: &'a [Stamped<'a, Ticket>]) -> Statement<'a> {
    sqlx::query(NEW)
        .bind(at(now))
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.conversation.map(|id| id.0)))
        .bind(each(rows, |new| new.row.deal.map(|id| id.0)))
        .bind(each(rows, |new| new.row.contact.0))
        .bind(each(rows, |new| new.row.agent.map(|agent| agent.0)))
        .bind(each(rows, |new| new.row.owner.map(|id| id.0)))
        .bind(each(rows, |new| new.row.status.as_str()))
        .bind(each(rows, |new| {
            new.row.special_instructions.as_deref().map(text)
        }))
        .bind(each(rows, |new| at(new.row.opened_at)))
        .bind(each(rows, |new| new.row.answered_at.map(at)))
        .bind(each(rows, |new| new.row.resolved_at.map(at)))
        .bind(each(rows, |new| new.row.agent_type.as_deref().map(text)))
        .bind(each(rows, |new| new.row.source.as_deref().map(text)))
}

// What is in people's hands stays; how far they are changes.
const CHANGED: &str = "
update tickets as t
set cursor_us = n.cursor_us, owner_id = n.owner_id, status = n.status,
  answered_at = n.answered_at, resolved_at = n.resolved_at, updated_at = least($1, 'epoch'::timestamptz + n.cursor_us * '1 microsecond'::interval)
from unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::uuid[], $6::text[], $7::timestamptz[],
  $8::timestamptz[])
  as n (workspace_id, cursor_us, id, owner_id, status, answered_at, resolved_at)
where t.id = n.id
and (t.workspace_id = n.workspace_id) is true";

fn changed<'a>(now: Micros, rows: &'a [Stamped<'a, Ticket>]) -> Statement<'a> {
    sqlx::query(CHANGED)
        .bind(at(now))
        .bind(each(rows, |new| new.row.workspace.0))
        .bind(each(rows, |new| new.stamp))
        .bind(each(rows, |new| new.id))
        .bind(each(rows, |new| new.row.owner.map(|id| id.0)))
        .bind(each(rows, |new| new.row.status.as_str()))
        .bind(each(rows, |new| new.row.answered_at.map(at)))
        .bind(each(rows, |new| new.row.resolved_at.map(at)))
}

pub const SQL: &[&str] = &[NEW, CHANGED];
