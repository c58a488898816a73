//! Tickets as the desk shows them, newest first.

use super::db::Db;
use crate::domain::ticket::TicketView;
use crate::store::row::desk::view;
use crate::store::{Scope, StoreError, TicketFilter};

macro_rules! tickets_where {
    ($lead:literal) => {
        concat!(
            "
select t.id, t.status, t.conversation_id, t.deal_id, c.id as person_id, c.name as person_name,
  c.email as person_email, c.phone_number, t.agent_id, o.id as owner_id, o.name as owner_name,
  o.email as owner_email, t.special_instructions, t.opened_us as opened_at,
  t.answered_us as answered_at, t.resolved_us as resolved_at, t.updated_us as updated_at
from tickets as t
join contacts as c on c.id = t.contact_id
left join owners as o on o.id = t.owner_id
where t.workspace_id = ?1
and (?2 is null or t.id = ?2)
and (?3 is null or t.status = ?3)
-- Past every id when none is given: a range that the index walks.
and t.id < coalesce(?4, 'g')
",
            $lead,
            "
order by t.id desc
limit ?5"
        )
    };
}

const ALL: &str = tickets_where!("");
const BY_ID: &str = tickets_where!("and t.id = ?2");
const BY_STATUS: &str = tickets_where!("and t.status = ?3");

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
    sqlx::query(sql)
        .bind(scope.workspace().to_string())
        .bind(filter.ticket.map(|id| id.to_string()))
        .bind(filter.status.map(|status| status.as_str()))
        .bind(filter.before.map(|id| id.to_string()))
        .bind(i64::from(filter.limit))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(view)
        .collect()
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[ALL, BY_ID, BY_STATUS];
