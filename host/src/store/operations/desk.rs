//! Tickets as the desk shows them, newest first.

use uuid::Uuid;

use crate::domain::ticket::TicketView;
use crate::store::database::Database;
use crate::store::postgres::VisibleRows;
use crate::store::row::desk::view;
use crate::store::sql::{Sql, args, sql, steps};
use crate::store::{Scope, StoreError, TicketFilter};

// Selects the tickets first and joins related rows afterwards, for only as many rows as are asked
// for.
macro_rules! tickets_where {
    ($lead:literal) => {
        sql(concat!(
            "
select page.id, page.status, page.conversation_id, page.deal_id, c.id as person_id, c.name as person_name,
  c.email as person_email, c.phone_number, page.agent_id, o.id as owner_id, o.name as owner_name,
  o.email as owner_email, page.special_instructions, page.opened_at, page.answered_at, page.resolved_at,
  page.updated_at
from (
  select *
  from tickets
  where ",
            $lead,
            "
  and (:ticket::uuid is null or id = :ticket)
  and (:status::text is null or status = :status)
  and id < :before
  order by id desc
  limit :limit
) as page
join contacts as c
  on c.workspace_id = page.workspace_id
  and c.id = page.contact_id
left join owners as o
  on o.id = page.owner_id
order by page.id desc"
        ))
    };
}

static ALL: Sql = tickets_where!("workspace_id = :workspace");
static BY_ID: Sql = tickets_where!("(workspace_id = :workspace) is true\n  and id = :ticket");
static BY_STATUS: Sql = tickets_where!("workspace_id = :workspace\n  and status = :status");

/// Returns the tickets of the scope's workspace that match every given filter, newest first: at
/// most the filter's `limit`.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn find(
    database: &Database,
    scope: &Scope,
    filter: TicketFilter,
) -> Result<Vec<TicketView>, StoreError> {
    let workspace = scope.workspace();
    let sql = match (filter.ticket, filter.status) {
        (Some(_), _) => &BY_ID,
        (None, Some(_)) => &BY_STATUS,
        (None, None) => &ALL,
    };
    database
        .read(
            VisibleRows::Of(&[workspace]),
            steps!(|tx| {
                let args = args! {
                    workspace,
                    ticket: filter.ticket,
                    status: filter.status.map(|status| status.as_str()),
                    // Without a given id, up to the greatest one, so that the index is walked as a
                    // range.
                    before: filter.before.map_or(Uuid::max(), |id| id.0),
                    limit: filter.limit,
                };
                tx.rows(sql, &args, |row| view(row)).await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[&ALL, &BY_ID, &BY_STATUS];
