//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row. A row leaves
//! letter by letter as any other store would give it.

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::db::{Db, Rows};
use crate::domain::row::{Entity, ExportRow};
use crate::store::row::export;
use crate::store::{ExportPage, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = $1
and entity = $2";

// Columns are read by place: their order is that of `row::export`.
const CONTACTS: &str = "
select id, workspace_id, cursor_us, name, email, phone_number, banned_at, props
from contacts
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const DEALS: &str = "
select id, workspace_id, cursor_us, person_id, agent_id, owner_id, status, title, props,
  created_at, updated_at, stage_code, product_id, external_id
from deals
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const MESSAGES: &str = "
select id, workspace_id, cursor_us, conversation_id, created_at, actor, kind, content, metadata,
  delivered_at, read_at
from messages
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

const CONVERSATIONS: &str = "
select id, workspace_id, cursor_us, contact_id, deal_id, agent_id, agent_type, source, channel,
  status, created_at, updated_at, first_message_at, answered_at, last_message_at, no_response_at,
  transferred_at, appointment_at, closed_at, props
from conversations
where workspace_id = $1
and cursor_us > $2
and cursor_us <= $3
order by cursor_us
limit $4";

/// How a row of one entity leaves.
type RowOf = fn(&PgRow) -> Result<ExportRow, StoreError>;

pub async fn page(
    db: &Db,
    scope: &Scope,
    entity: Entity,
    after: i64,
    upper: Option<i64>,
    limit: u32,
) -> Result<ExportPage, StoreError> {
    let (sql, row_of): (_, RowOf) = match entity {
        Entity::Contacts => (CONTACTS, export::contact),
        Entity::Deals => (DEALS, export::deal),
        Entity::Messages => (MESSAGES, export::message),
        Entity::Conversations => (CONVERSATIONS, export::conversation),
    };
    let workspace = scope.workspace();
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let clock = clock(&mut snapshot, workspace.0, entity).await?;
    let upper = upper.unwrap_or(clock);
    // One more than asked for tells whether rows remain.
    let found = sqlx::query(sql)
        .bind(workspace.0)
        .bind(after)
        .bind(upper)
        .bind(i64::from(limit) + 1)
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
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

async fn clock(
    connection: &mut PgConnection,
    workspace: Uuid,
    entity: Entity,
) -> Result<i64, StoreError> {
    Ok(sqlx::query(CLOCK)
        .bind(workspace)
        .bind(i16::from(entity.code()))
        .fetch_one(connection)
        .await?
        .try_get(0)?)
}

pub(super) const SQL: &[&str] = &[CLOCK, CONTACTS, DEALS, MESSAGES, CONVERSATIONS];
