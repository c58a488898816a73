//! Deals as the gateway shows them, newest first, and the past of one.
//!
//! Filters are combined with AND. Each query is led by one filter that an index
//! answers; the others, when given, are checked on what it found.

use futures_util::TryStreamExt as _;

use super::db::Db;
use crate::domain::contact::email_key;
use crate::domain::id::{DealId, WorkspaceId};
use crate::store::row::Columns as _;
use crate::store::row::deals::{Looked, change, log, phone_key_of, view};
use crate::store::{DealFilter, DealPage, DealPast, Scope, StoreError};

/// The contacts that have a key: the one that was the first to have it, and others.
macro_rules! having {
    ($key:literal) => {
        concat!(
            "
  select contact_id from contact_keys where workspace_id = ?1 and key = ",
            $key,
            "
  union all
  select contact_id from shared_keys where workspace_id = ?1 and key = ",
            $key
        )
    };
}

macro_rules! deals_where {
    (having, $key:literal) => {
        deals_where!(@ concat!("d.person_id in (", having!($key), ")"))
    };
    ($lead:literal) => {
        deals_where!(@ $lead)
    };
    (@ $lead:expr) => {
        concat!(
            "
select d.id, d.status, d.created_us as created_at, d.updated_us as updated_at, d.owner_id, d.props,
  d.external_id, o.name as owner_name, o.email as owner_email, c.id as person_id,
  c.name as person_name, c.email as person_email, c.phone_number, p.id as product_id,
  p.name as product_name, p.external_id as product_external_id, a.id as agent_id,
  a.name as agent_name, a.number as agent_number
from deals as d
join contacts as c on c.id = d.person_id
left join owners as o on o.id = d.owner_id
left join products as p on p.id = d.product_id
left join agents as a on a.id = d.agent_id
where d.workspace_id = ?1
and (?2 is null or d.id = ?2)
and (?3 is null or d.person_id in (",
            having!("?3"),
            "))
and (?4 is null or d.person_id in (",
            having!("?4"),
            "))
and (?5 is null or d.external_id = ?5)
and (?7 is null or ?7 = coalesce(d.partner_id, (
  select s.partner_id from connections as s where s.id = d.connection_id)))
and (?8 is null or d.id < ?8)
and ",
            $lead,
            "
order by d.id desc
limit ?6"
        )
    };
}

const BY_ID: &str = deals_where!("d.id = ?2");
const BY_PHONE: &str = deals_where!(having, "?3");
const BY_EMAIL: &str = deals_where!(having, "?4");
const BY_EXTERNAL_ID: &str = deals_where!("d.external_id = ?5");
const ALL: &str = deals_where!("true");

pub async fn find(
    db: &Db,
    scope: &Scope,
    filter: &DealFilter,
    limit: u32,
) -> Result<DealPage, StoreError> {
    let sql = if filter.deal.is_some() {
        BY_ID
    } else if filter.phone_key.is_some() {
        BY_PHONE
    } else if filter.email.is_some() {
        BY_EMAIL
    } else if filter.external_id.is_some() {
        BY_EXTERNAL_ID
    } else {
        ALL
    };
    let mut rows = sqlx::query(sql)
        .bind(scope.workspace().to_string())
        .bind(filter.deal.map(|id| id.to_string()))
        .bind(filter.phone_key.as_deref().map(phone_key_of))
        .bind(filter.email.as_deref().map(email_key))
        .bind(filter.external_id.as_deref())
        .bind(i64::from(limit) + 1)
        .bind(filter.partner.map(|id| id.to_string()))
        .bind(filter.before.map(|id| id.to_string()))
        .fetch(db.readers());
    let mut found = Looked::new(limit);
    while let Some(row) = rows.try_next().await? {
        if !found.add(view(&row)?) {
            break;
        }
    }
    Ok(found.page)
}

const MADE: &str = "
select created_us as created_at, delivery_id
from deals
where id = ?2
and workspace_id = ?1";

const HISTORY: &str = "
select at_us as changed_at, who, changes
from deal_history
where deal_id = ?1
order by number desc
limit ?2";

const LOGS: &str = "
select id, created_us as created_at, partner_id, key_id, kind, subject, description, metadata
from deal_logs
where deal_id = ?1
order by id desc
limit ?2";

pub async fn past(
    db: &Db,
    workspace: WorkspaceId,
    deal: DealId,
    limit: u32,
) -> Result<Option<DealPast>, StoreError> {
    let mut snapshot = db.readers().begin().await?;
    let found = sqlx::query(MADE)
        .bind(workspace.to_string())
        .bind(deal.to_string())
        .fetch_optional(&mut *snapshot)
        .await?;
    let Some(made) = found else {
        return Ok(None);
    };
    let history = sqlx::query(HISTORY)
        .bind(deal.to_string())
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    let logs = sqlx::query(LOGS)
        .bind(deal.to_string())
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    Ok(Some(DealPast {
        created_at: made.time("created_at")?,
        delivery_id: made.id_if("delivery_id")?,
        history: history.iter().map(change).collect::<Result<_, _>>()?,
        logs: logs.iter().map(log).collect::<Result<_, _>>()?,
    }))
}

#[cfg(test)]
pub(super) const BY_A_FILTER: &[&str] = &[
    BY_ID,
    BY_PHONE,
    BY_EMAIL,
    BY_EXTERNAL_ID,
    MADE,
    HISTORY,
    LOGS,
];
#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    BY_ID,
    BY_PHONE,
    BY_EMAIL,
    BY_EXTERNAL_ID,
    ALL,
    MADE,
    HISTORY,
    LOGS,
];
