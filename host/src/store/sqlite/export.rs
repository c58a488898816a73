//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection as _, Row as _};

use super::db::Db;
use crate::domain::row::{Entity, ExportRow};
use crate::store::row::export;
use crate::store::{ExportPage, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = ?1
and entity = ?2";

// Columns are read by place: their order is that of `row::export`.
const CONTACTS: &str = "
select id, workspace_id, cursor_us, name, email, phone_number, banned_us, props
from contacts
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const DEALS: &str = "
select id, workspace_id, cursor_us, person_id, agent_id, owner_id, status, title, props,
  created_us, updated_us, stage_code, product_id, external_id
from deals
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const MESSAGES: &str = "
select id, workspace_id, cursor_us, conversation_id, created_us, actor, kind, content, metadata,
  delivered_us, read_us
from messages
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

const CONVERSATIONS: &str = "
select id, workspace_id, cursor_us, contact_id, deal_id, agent_id, agent_type, source, channel,
  status, created_us, updated_us, first_message_us, answered_us, last_message_us, no_response_us,
  transferred_us, appointment_us, closed_us, props
from conversations
where workspace_id = ?1
and cursor_us > ?2
and cursor_us <= ?3
order by cursor_us
limit ?4";

/// How a row of one entity leaves.
type RowOf = fn(&SqliteRow) -> Result<ExportRow, StoreError>;

pub async fn page(
    db: &Db,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let mut connection = db.readers().acquire().await?;
    let mut snapshot = connection.begin().await?;
    let page = read(&mut snapshot, scope, entity, after, upper, limit).await?;
    snapshot.rollback().await?;
    Ok(page)
}

async fn read(
    connection: &mut SqliteConnection,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let workspace = scope.workspace().to_string();
    let clock: i64 = sqlx::query(CLOCK)
        .bind(&workspace)
        .bind(i64::from(entity.code()))
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    let upper = upper.unwrap_or(clock);
    let (sql, row_of): (_, RowOf) = match entity {
        Entity::Contacts => (CONTACTS, export::contact),
        Entity::Deals => (DEALS, export::deal),
        Entity::Messages => (MESSAGES, export::message),
        Entity::Conversations => (CONVERSATIONS, export::conversation),
    };
    // One more than asked for tells whether rows remain.
    let found = sqlx::query(sql)
        .bind(&workspace)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .fetch_all(connection)
        .await?;
    let asked = usize::try_from(limit).unwrap_or(usize::MAX);
    let rows = found
        .iter()
        .take(asked)
        .map(row_of)
        .collect::<Result<_, _>>()?;
    Ok(ExportPage {
        rows,
        more: found.len() > asked,
        upper,
        clock,
    })
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[CLOCK, CONTACTS, DEALS, MESSAGES, CONVERSATIONS];
