//! Tickets as the desk shows them, newest first.

use uuid::Uuid;

use super::db::{Db, Rows};
use crate::domain::ticket::TicketView;
use crate::store::row::desk::view;
use crate::store::{Scope, StoreError, TicketFilter};

// The tickets first and what hangs on them after: so many rows as are asked for.
macro_rules! tickets_where {
    ($lead:literal) => {
        concat!(
            "
select t.id, t.status, t.conversation_id, t.deal_id, c.id as person_id, c.name as person_name,
  c.email as person_email, c.phone_number, t.agent_id, o.id as owner_id, o.name as owner_name,
  o.email as owner_email, t.special_instructions, t.opened_at, t.answered_at, t.resolved_at,
  t.updated_at
from (
  select *
  from tickets
  where ",
            $lead,
            "
  and ($2::uuid is null or id = $2)
  and ($3::text is null or status = $3)
  and id < $4
  order by id desc
  limit $5
) as t
join contacts as c
  on c.workspace_id = t.workspace_id
  and c.id = t.contact_id
left join owners as o
  on o.id = t.owner_id
order by t.id desc"
        )
    };
}

const ALL: &str = tickets_where!("workspace_id = $1");
const BY_ID: &str = tickets_where!("(workspace_id = $1) is true\n  and id = $2");
const BY_STATUS: &str = tickets_where!("workspace_id = $1\n  and status = $3");

pub async fn find(
    db: &Db,
    scope: &Scope,
    filter: &TicketFilter,
) -> Result<Vec<TicketView>, StoreError> {
    let sql = match (filter.ticket, filter.status) {
        (Some(_), _) => BY_ID,
        (None, Some(_)) => BY_STATUS,
        (None, None) => ALL,
    };
    let mut snapshot = db.snapshot(Rows::Of(&[scope.workspace()])).await?;
    let rows = sqlx::query(sql)
        .bind(scope.workspace().0)
        .bind(filter.ticket.map(|id| id.0))
        .bind(filter.status.map(|status| status.as_str()))
        .bind(filter.before.map_or(Uuid::max(), |id| id.0))
        .bind(i64::from(filter.limit))
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(view).collect()
}

pub(super) const SQL: &[&str] = &[ALL, BY_ID, BY_STATUS];
