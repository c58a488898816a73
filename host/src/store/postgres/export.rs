//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row. A row leaves
//! letter by letter as any other store would give it.

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::types::Json;
use sqlx::types::chrono::{DateTime, Utc};
use uuid::Uuid;

use super::columns;
use super::db::{Db, Rows};
use crate::domain::row::{ContactRow, ConversationRow, DealRow, Entity, ExportRow, MessageRow};
use crate::domain::time::Micros;
use crate::store::{ExportPage, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = $1
and entity = $2";

// Columns are read by place: their order is that of the functions below.
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
        Entity::Contacts => (CONTACTS, contact),
        Entity::Deals => (DEALS, deal),
        Entity::Messages => (MESSAGES, message),
        Entity::Conversations => (CONVERSATIONS, conversation),
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

fn contact(row: &PgRow) -> Result<ExportRow, StoreError> {
    let id = id(row, 0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &ContactRow {
            id,
            workspace_id: self::id(row, 1)?,
            cursor_at: Micros(stamp),
            name: row.try_get(3)?,
            email: row.try_get(4)?,
            phone_number: row.try_get(5)?,
            banned_at: time_if(row, 6)?,
            props: object(row, 7)?,
        },
    )
}

fn deal(row: &PgRow) -> Result<ExportRow, StoreError> {
    let id = id(row, 0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &DealRow {
            id,
            workspace_id: self::id(row, 1)?,
            cursor_at: Micros(stamp),
            person_id: self::id(row, 3)?,
            agent_id: row.try_get(4)?,
            owner_id: id_if(row, 5)?,
            status: row.try_get(6)?,
            title: row.try_get(7)?,
            props: object(row, 8)?,
            created_at: time(row, 9)?,
            updated_at: time(row, 10)?,
            stage_code: row.try_get(11)?,
            product_id: id_if(row, 12)?,
            external_id: row.try_get(13)?,
        },
    )
}

fn message(row: &PgRow) -> Result<ExportRow, StoreError> {
    let id = id(row, 0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &MessageRow {
            id,
            workspace_id: self::id(row, 1)?,
            cursor_at: Micros(stamp),
            conversation_id: self::id(row, 3)?,
            created_at: time(row, 4)?,
            actor: row.try_get(5)?,
            kind: row.try_get(6)?,
            content: row.try_get(7)?,
            metadata: object(row, 8)?,
            delivered_at: time_if(row, 9)?,
            read_at: time_if(row, 10)?,
        },
    )
}

fn conversation(row: &PgRow) -> Result<ExportRow, StoreError> {
    let id = id(row, 0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &ConversationRow {
            id,
            workspace_id: self::id(row, 1)?,
            cursor_at: Micros(stamp),
            contact_id: self::id(row, 3)?,
            deal_id: id_if(row, 4)?,
            agent_id: row.try_get(5)?,
            agent_type: row.try_get(6)?,
            source: row.try_get(7)?,
            channel: row.try_get(8)?,
            status: row.try_get(9)?,
            created_at: time(row, 10)?,
            updated_at: time(row, 11)?,
            first_message_at: time_if(row, 12)?,
            answered_at: time_if(row, 13)?,
            last_message_at: time_if(row, 14)?,
            no_response_at: time_if(row, 15)?,
            transferred_at: time_if(row, 16)?,
            appointment_at: time_if(row, 17)?,
            closed_at: time_if(row, 18)?,
            props: object(row, 19)?,
        },
    )
}

fn exported<T: Serialize>(stamp: i64, id: String, row: &T) -> Result<ExportRow, StoreError> {
    let json = columns::json(row)?;
    Ok(ExportRow { stamp, id, json })
}

fn id(row: &PgRow, at: usize) -> Result<String, StoreError> {
    Ok(row.try_get::<Uuid, _>(at)?.to_string())
}

fn id_if(row: &PgRow, at: usize) -> Result<Option<String>, StoreError> {
    let id: Option<Uuid> = row.try_get(at)?;
    Ok(id.map(|id| id.to_string()))
}

fn time(row: &PgRow, at: usize) -> Result<Micros, StoreError> {
    Ok(columns::micros(row.try_get::<DateTime<Utc>, _>(at)?))
}

fn time_if(row: &PgRow, at: usize) -> Result<Option<Micros>, StoreError> {
    let time: Option<DateTime<Utc>> = row.try_get(at)?;
    Ok(time.map(columns::micros))
}

/// As it is stored: no number loses a digit, no key its place.
fn object(row: &PgRow, at: usize) -> Result<Box<RawValue>, StoreError> {
    let Json(text) = row.try_get(at)?;
    Ok(text)
}

pub(super) const SQL: &[&str] = &[CLOCK, CONTACTS, DEALS, MESSAGES, CONVERSATIONS];
