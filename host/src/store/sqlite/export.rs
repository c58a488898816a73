//! A page of a feed: rows and clock from one snapshot, in stamp order. A page
//! costs the same at any depth: the index leads to its first row.

use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection as _, Row as _};

use super::db::Db;
use crate::domain::row::{ContactRow, ConversationRow, DealRow, Entity, ExportRow, MessageRow};
use crate::domain::time::Micros;
use crate::store::error::odd;
use crate::store::{ExportPage, Scope, StoreError};

const CLOCK: &str = "
select coalesce(max(last_us), 0)
from feed_clock
where workspace_id = ?1
and entity = ?2";

// Columns are read by place: their order is that of the functions below.
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
        Entity::Contacts => (CONTACTS, contact),
        Entity::Deals => (DEALS, deal),
        Entity::Messages => (MESSAGES, message),
        Entity::Conversations => (CONVERSATIONS, conversation),
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

fn contact(row: &SqliteRow) -> Result<ExportRow, StoreError> {
    let id: String = row.try_get(0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &ContactRow {
            id,
            workspace_id: row.try_get(1)?,
            cursor_at: Micros(stamp),
            name: row.try_get(3)?,
            email: row.try_get(4)?,
            phone_number: row.try_get(5)?,
            banned_at: time(row, 6)?,
            props: object(row, 7)?,
        },
    )
}

fn deal(row: &SqliteRow) -> Result<ExportRow, StoreError> {
    let id: String = row.try_get(0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &DealRow {
            id,
            workspace_id: row.try_get(1)?,
            cursor_at: Micros(stamp),
            person_id: row.try_get(3)?,
            agent_id: row.try_get(4)?,
            owner_id: row.try_get(5)?,
            status: row.try_get(6)?,
            title: row.try_get(7)?,
            props: object(row, 8)?,
            created_at: Micros(row.try_get(9)?),
            updated_at: Micros(row.try_get(10)?),
            stage_code: row.try_get(11)?,
            product_id: row.try_get(12)?,
            external_id: row.try_get(13)?,
        },
    )
}

fn message(row: &SqliteRow) -> Result<ExportRow, StoreError> {
    let id: String = row.try_get(0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &MessageRow {
            id,
            workspace_id: row.try_get(1)?,
            cursor_at: Micros(stamp),
            conversation_id: row.try_get(3)?,
            created_at: Micros(row.try_get(4)?),
            actor: row.try_get(5)?,
            kind: row.try_get(6)?,
            content: row.try_get(7)?,
            metadata: object(row, 8)?,
            delivered_at: time(row, 9)?,
            read_at: time(row, 10)?,
        },
    )
}

fn conversation(row: &SqliteRow) -> Result<ExportRow, StoreError> {
    let id: String = row.try_get(0)?;
    let stamp = row.try_get(2)?;
    exported(
        stamp,
        id.clone(),
        &ConversationRow {
            id,
            workspace_id: row.try_get(1)?,
            cursor_at: Micros(stamp),
            contact_id: row.try_get(3)?,
            deal_id: row.try_get(4)?,
            agent_id: row.try_get(5)?,
            agent_type: row.try_get(6)?,
            source: row.try_get(7)?,
            channel: row.try_get(8)?,
            status: row.try_get(9)?,
            created_at: Micros(row.try_get(10)?),
            updated_at: Micros(row.try_get(11)?),
            first_message_at: time(row, 12)?,
            answered_at: time(row, 13)?,
            last_message_at: time(row, 14)?,
            no_response_at: time(row, 15)?,
            transferred_at: time(row, 16)?,
            appointment_at: time(row, 17)?,
            closed_at: time(row, 18)?,
            props: object(row, 19)?,
        },
    )
}

fn exported<T: Serialize>(stamp: i64, id: String, row: &T) -> Result<ExportRow, StoreError> {
    let json = super::json(row)?;
    Ok(ExportRow { stamp, id, json })
}

fn time(row: &SqliteRow, at: usize) -> Result<Option<Micros>, StoreError> {
    let time: Option<i64> = row.try_get(at)?;
    Ok(time.map(Micros))
}

fn object(row: &SqliteRow, at: usize) -> Result<Box<RawValue>, StoreError> {
    let text: String = row.try_get(at)?;
    RawValue::from_string(text).map_err(|error| odd("export", "props", error))
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[CLOCK, CONTACTS, DEALS, MESSAGES, CONVERSATIONS];
