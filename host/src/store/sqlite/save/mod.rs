//! Saves what a batch changed: one statement a table. Rows travel as one JSON
//! array; JSON columns travel as text within it, so that they are stored letter by
//! letter as they were.

mod deals;
mod deliveries;
mod dialogue;
mod feeds;

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::{json, sweep};
use crate::store::decide::{Change, Known};
use crate::store::{StoreError, Write};

pub use feeds::stamped;

/// Everything that carries no stamp.
pub async fn rows(
    connection: &mut SqliteConnection,
    known: &Known,
    writes: &[Write],
) -> Result<(), StoreError> {
    evicted(connection, known).await?;
    deliveries::new_deliveries(connection, known, writes).await?;
    deliveries::changed_deliveries(connection, known).await?;
    deliveries::items(connection, known).await?;
    deliveries::fetches(connection, known).await?;
    deliveries::answers(connection, known).await?;
    claims(connection, known).await?;
    contact_keys(connection, known).await?;
    shared_keys(connection, known).await?;
    pauses(connection, known).await?;
    dialogue::sends(connection, known).await?;
    dialogue::references(connection, known).await?;
    dialogue::idempotency(connection, known).await?;
    dialogue::holds(connection, known).await?;
    dialogue::templates(connection, known).await?;
    deals::history(connection, known).await?;
    deals::logs(connection, known).await
}

async fn evicted(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let ids: Vec<_> = known.evicted.iter().map(|(_, id)| *id).collect();
    sweep::remove(connection, &ids).await
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    connection: &'a str,
    key: &'a str,
    workspace: String,
    delivery: String,
    item: u32,
    until: Option<i64>,
    deal: Option<String>,
    contact: Option<String>,
}

const CLAIMS: &str = "
insert or replace into dedupe (connection_id, key, workspace_id, delivery_id, item, until_at,
  deal_id, contact_id)
select value ->> 'connection', value ->> 'key', value ->> 'workspace', value ->> 'delivery',
  value ->> 'item', value ->> 'until', value ->> 'deal', value ->> 'contact'
from jsonb_each(?1)";

const REMOVED_CLAIMS: &str = "
delete from dedupe
where (connection_id, key) in (
  select value ->> 0, value ->> 1 from jsonb_each(?1)
)";

async fn claims(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    let mut removed = Vec::new();
    for ((owner, key), claim) in &known.claims {
        match claim.change {
            Change::None => {}
            Change::Removed => removed.push((owner.as_str(), key.as_str())),
            Change::New | Change::Changed => rows.push(ClaimRow {
                connection: owner.as_str(),
                key,
                workspace: claim.workspace.to_string(),
                delivery: claim.delivery.to_string(),
                item: claim.item,
                until: claim.until.map(|until| until.0),
                deal: claim.deal.map(|id| id.to_string()),
                contact: claim.contact.map(|id| id.to_string()),
            }),
        }
    }
    write(connection, REMOVED_CLAIMS, &removed).await?;
    write(connection, CLAIMS, &rows).await
}

const CONTACT_KEYS: &str = "
insert into contact_keys (workspace_id, key, contact_id)
select value ->> 0, value ->> 1, value ->> 2
from jsonb_each(?1)";

async fn contact_keys(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    write(connection, CONTACT_KEYS, &known.new_contact_keys).await
}

const SHARED_KEYS: &str = "
insert into shared_keys (workspace_id, key, contact_id)
select value ->> 0, value ->> 1, value ->> 2
from jsonb_each(?1)
where true
on conflict do nothing";

async fn shared_keys(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let rows: Vec<_> = known.shared_keys.iter().collect();
    write(connection, SHARED_KEYS, &rows).await
}

// What paused it first is what a person has to look into.
const PAUSES: &str = "
update connections
set paused_at = value ->> 1, paused_reason = value ->> 2
from jsonb_each(?1)
where connections.id = value ->> 0
and connections.paused_at is null";

async fn pauses(connection: &mut SqliteConnection, known: &Known) -> Result<(), StoreError> {
    let rows: Vec<_> = known
        .pauses
        .iter()
        .map(|(id, pause)| (id, pause.since.0, &pause.reason))
        .collect();
    write(connection, PAUSES, &rows).await
}

async fn write<T: Serialize>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    rows: &[T],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(sql)
        .bind(json(rows)?)
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
pub(super) fn sql() -> Vec<&'static str> {
    let own: &[&str] = &[CLAIMS, REMOVED_CLAIMS, CONTACT_KEYS, SHARED_KEYS, PAUSES];
    [own, deals::SQL, deliveries::SQL, dialogue::SQL, feeds::SQL].concat()
}
