//! Deals as the gateway shows them, newest first, and the history of one.
//!
//! Filters are combined with AND. One filter that an index supports leads each query. The others,
//! if given, are applied to what it found.

use crate::domain::contact::email_key;
use crate::domain::id::{DealId, WorkspaceId};
use crate::store::database::Database;
use crate::store::postgres::VisibleRows;
use crate::store::row::RowColumns as _;
use crate::store::row::deals::{Looked, change, log, phone_key_of, view};
use crate::store::sql::{Sql, args, sql, steps};
use crate::store::{DealFilter, DealPage, DealPast, Scope, StoreError};

/// Selects the contacts that have a key: the first owner and those that share it.
macro_rules! having {
    ($key:literal) => {
        concat!(
            "
  select contact_id from contact_keys where workspace_id = :workspace and key = ",
            $key,
            "
  union
  select contact_id from shared_keys where workspace_id = :workspace and key = ",
            $key
        )
    };
}

// Selects the deals first and joins related rows afterwards, for only as many rows as are asked
// for. `offset 0` is a fence if the index of the leading filter has another order: otherwise
// reading the index in order to its end looks cheap while there are few deals.
macro_rules! deals_where {
    (having, $key:literal) => {
        deals_where!(@ concat!(
            "
    select own.*
    from (",
            having!($key),
            "
    ) as found
    cross join lateral (                         -- postgres
      select *                                   -- postgres
      from deals                                 -- postgres
      where workspace_id = :workspace            -- postgres
      and person_id = found.contact_id           -- postgres
      offset 0                                   -- postgres
    ) as own                                     -- postgres
    cross join deals as own                      -- sqlite
      on own.person_id = found.contact_id        -- sqlite
      and own.workspace_id = :workspace          -- sqlite
"
        ))
    };
    ($lead:literal) => {
        deals_where!($lead, "")
    };
    ($lead:literal, $fence:literal) => {
        deals_where!(@ concat!(
            "
    select *
    from deals
    where workspace_id = :workspace
    and ",
            $lead,
            "
    ",
            $fence
        ))
    };
    (@ $led:expr) => {
        sql(concat!(
            "
select page.id, page.status, page.created_at, page.updated_at, page.owner_id, page.props, page.external_id,
  o.name as owner_name, o.email as owner_email,
  c.id as person_id, c.name as person_name, c.email as person_email, c.phone_number,
  p.id as product_id, p.name as product_name, p.external_id as product_external_id,
  a.id as agent_id, a.name as agent_name, a.number as agent_number
from (
  select *
  from (",
            $led,
            "
  ) as led
  where (:deal::uuid is null or id = :deal)
  and (:phone::text is null or person_id in (",
            having!(":phone"),
            "))
  and (:email::text is null or person_id in (",
            having!(":email"),
            "))
  and (:external_id::text is null or external_id = :external_id)
  and (:partner::uuid is null or :partner = coalesce(partner_id, (
    select s.partner_id from connections as s where s.id = connection_id)))
  and (:before::uuid is null or id < :before)
  order by id desc
  limit :limit
) as page
join contacts as c on c.workspace_id = page.workspace_id and c.id = page.person_id
left join owners as o on o.id = page.owner_id
left join products as p on p.id = page.product_id
left join agents as a on a.id = page.agent_id
order by page.id desc"
        ))
    };
}

static BY_ID: Sql = deals_where!("id = :deal");
static BY_PHONE: Sql = deals_where!(having, ":phone");
static BY_EMAIL: Sql = deals_where!(having, ":email");
static BY_EXTERNAL_ID: Sql = deals_where!("external_id = :external_id", "offset 0 -- postgres");
static ALL: Sql = deals_where!("true");

/// Returns the deals of the scope's workspace that match every given filter, newest first: at
/// most `limit`, and fewer if they exceed the bytes of a page.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn find(
    database: &Database,
    scope: &Scope,
    filter: DealFilter,
    limit: u32,
) -> Result<DealPage, StoreError> {
    let workspace = scope.workspace();
    let sql = if filter.deal.is_some() {
        &BY_ID
    } else if filter.phone_key.is_some() {
        &BY_PHONE
    } else if filter.email.is_some() {
        &BY_EMAIL
    } else if filter.external_id.is_some() {
        &BY_EXTERNAL_ID
    } else {
        &ALL
    };
    database
        .read(
            VisibleRows::Of(&[workspace]),
            steps!(|tx| {
                let args = args! {
                    workspace,
                    deal: filter.deal,
                    phone: filter.phone_key.as_deref().map(phone_key_of),
                    email: filter.email.as_deref().map(email_key),
                    external_id: filter.external_id.as_deref(),
                    partner: filter.partner,
                    before: filter.before,
                    limit: i64::from(limit) + 1,
                };
                let mut found = Looked::new(limit);
                tx.rows_while(sql, &args, |row| Ok(found.add(view(row)?)))
                    .await?;
                Ok(found.page)
            }),
        )
        .await
}

static MADE: Sql = sql("
select created_at, delivery_id
from deals
where workspace_id = :workspace
and id = :deal");

static HISTORY: Sql = sql("
select at as changed_at, who, changes
from deal_history
where deal_id = :deal
order by number desc
limit :limit");

static LOGS: Sql = sql("
select id, created_at, partner_id, key_id, kind, subject, description, metadata
from deal_logs
where deal_id = :deal
order by id desc
limit :limit");

/// Returns the history and the notes of a deal, newest first, at most `limit` of each. Returns
/// `None` if the workspace has no such deal.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn past(
    database: &Database,
    workspace: WorkspaceId,
    deal: DealId,
    limit: u32,
) -> Result<Option<DealPast>, StoreError> {
    database
        .read(
            VisibleRows::Of(&[workspace]),
            steps!(|tx| {
                let made = tx
                    .row(&MADE, &args! { workspace, deal }, |row| {
                        Ok((row.time("created_at")?, row.id_if("delivery_id")?))
                    })
                    .await?;
                let Some((created_at, delivery_id)) = made else {
                    return Ok(None);
                };
                let args = args! { deal, limit };
                Ok(Some(DealPast {
                    created_at,
                    delivery_id,
                    history: tx.rows(&HISTORY, &args, |row| change(row)).await?,
                    logs: tx.rows(&LOGS, &args, |row| log(row)).await?,
                }))
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[
    &BY_ID,
    &BY_PHONE,
    &BY_EMAIL,
    &BY_EXTERNAL_ID,
    &ALL,
    &MADE,
    &HISTORY,
    &LOGS,
];
/// Without a leading filter, it reads a workspace's deals from the newest on.
#[cfg(test)]
pub const WHOLE: &[&Sql] = &[&ALL];
