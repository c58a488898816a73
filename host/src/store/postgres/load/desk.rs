//! Tickets: those that are named, those that are live beside what changes, and those
//! of deals that turn out to be tests.
//!
//! What a ticket is about stays, so that what is found without a lock still holds
//! when it is locked.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;

use super::dialogue::Links;
use super::{rows, two_columns};
use crate::domain::id::{TicketId, WorkspaceId};
use crate::store::StoreError;
use crate::store::decide::{Known, Needs};
use crate::store::row::{Columns as _, known};

macro_rules! tickets_of {
    ($wanted:literal) => {
        concat!(
            "
select t.id, t.workspace_id, t.conversation_id, t.deal_id, t.contact_id, t.agent_id,
  t.agent_type, t.source, t.owner_id, t.status, t.special_instructions, t.opened_at, t.answered_at, t.resolved_at
from ",
            $wanted,
            "
join tickets as t
  on t.id = wanted.id
  and (t.workspace_id = wanted.workspace_id) is true"
        )
    };
}

const FIND: &str = tickets_of!("unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)");

/// Which of the tickets that are named are there: without a lock, for what they lead to.
pub async fn follow(
    connection: &mut PgConnection,
    draft: &mut Known,
    needs: &Needs,
) -> Result<BTreeSet<(WorkspaceId, TicketId)>, StoreError> {
    let mut found = BTreeSet::new();
    for row in &rows(connection, FIND, &needs.tickets).await? {
        let id = row.id("id")?;
        let ticket = known::ticket(row)?;
        found.insert((ticket.workspace, id));
        draft.dialogue.know_ticket(id, ticket);
    }
    Ok(found)
}

const LOCK: &str = concat!(
    tickets_of!(
        "(
  select named.workspace_id, named.id
  from unnest($1::uuid[], $2::uuid[]) as named (workspace_id, id)
  union
  select handed.workspace_id, live.id
  from unnest($3::uuid[], $4::uuid[]) as handed (workspace_id, conversation_id)
  cross join lateral (
    select id
    from tickets
    where conversation_id = handed.conversation_id
    and resolved_at is null
    offset 0
  ) as live
  union
  select handed.workspace_id, live.id
  from unnest($5::uuid[], $6::uuid[]) as handed (workspace_id, deal_id)
  cross join lateral (
    select id
    from tickets
    where deal_id = handed.deal_id
    and conversation_id is null
    and resolved_at is null
    offset 0
  ) as live
  union
  select trial.workspace_id, any_of.id
  from unnest($7::uuid[], $8::uuid[]) as trial (workspace_id, deal_id)
  cross join lateral (
    select id
    from tickets
    where deal_id = trial.deal_id
    offset 0
  ) as any_of
) as wanted"
    ),
    "
order by t.id
for update of t"
);

/// Tickets, once the conversations and the deals that they are about are locked.
pub async fn tickets(
    connection: &mut PgConnection,
    known: &mut Known,
    links: &Links,
    needs: &Needs,
) -> Result<(), StoreError> {
    let mut conversations = needs.handed_of(known);
    conversations.extend(&links.handed);
    let mut deals = needs.deal_talks.clone();
    deals.extend(&links.deals);
    let trials = needs.trials_of(known);
    let is_wanted = !links.tickets.is_empty()
        || !conversations.is_empty()
        || !deals.is_empty()
        || !trials.is_empty();
    if !is_wanted {
        return Ok(());
    }
    let (named_of, named) = two_columns(&links.tickets);
    let (conversations_of, conversations) = two_columns(&conversations);
    let (deals_of, deals) = two_columns(&deals);
    let (trials_of, trials) = two_columns(&trials);
    let rows = sqlx::query(LOCK)
        .bind(named_of)
        .bind(named)
        .bind(conversations_of)
        .bind(conversations)
        .bind(deals_of)
        .bind(deals)
        .bind(trials_of)
        .bind(trials)
        .fetch_all(connection)
        .await?;
    for row in &rows {
        let ticket = known::ticket(row)?;
        known.dialogue.know_ticket(row.id("id")?, ticket);
    }
    Ok(())
}

pub const SQL: &[&str] = &[FIND, LOCK];
