//! What is kept of deals beside their rows: who changed what, and what partners
//! noted. Whoever adds to it has the deal, so a deal's rows are in the order in which
//! they were decided.

use sqlx::postgres::PgConnection;

use super::rows::each;
use crate::store::StoreError;
use crate::store::decide::Known;
use crate::store::postgres::columns::{at, json, text};

/// What nobody had before.
pub async fn new(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    history(connection, known).await?;
    logs(connection, known).await
}

const HISTORY: &str = "
insert into deal_history (workspace_id, deal_id, at, who, changes)
select n.workspace_id, n.deal_id, $1, n.who::json, n.changes::json
from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[])
  with ordinality as n (workspace_id, deal_id, who, changes, place)
order by n.place";

async fn history(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let rows = &known.new_history;
    if rows.is_empty() {
        return Ok(());
    }
    let who: Vec<String> = rows
        .iter()
        .map(|row| json(&row.by))
        .collect::<Result<_, _>>()?;
    let changes: Vec<String> = rows
        .iter()
        .map(|row| json(&row.changes))
        .collect::<Result<_, _>>()?;
    sqlx::query(HISTORY)
        .bind(at(known.now))
        .bind(each(rows, |row| row.workspace.0))
        .bind(each(rows, |row| row.deal.0))
        .bind(who)
        .bind(changes)
        .execute(connection)
        .await?;
    Ok(())
}

const LOGS: &str = "
insert into deal_logs (workspace_id, id, deal_id, created_at, partner_id, key_id, kind, subject,
  description, metadata)
select n.workspace_id, n.id, n.deal_id, $1, n.partner_id, n.key_id, n.kind, n.subject,
  n.description, n.metadata::json
from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::text[],
  $9::text[], $10::text[])
  as n (workspace_id, id, deal_id, partner_id, key_id, kind, subject, description, metadata)";

async fn logs(connection: &mut PgConnection, known: &Known) -> Result<(), StoreError> {
    let rows = &known.new_logs;
    if rows.is_empty() {
        return Ok(());
    }
    let metadata: Vec<String> = rows
        .iter()
        .map(|row| json(&row.metadata))
        .collect::<Result<_, _>>()?;
    sqlx::query(LOGS)
        .bind(at(known.now))
        .bind(each(rows, |row| row.by.workspace.0))
        .bind(each(rows, |row| row.id.0))
        .bind(each(rows, |row| row.deal.0))
        .bind(each(rows, |row| row.by.partner.0))
        .bind(each(rows, |row| row.by.key.0))
        .bind(each(rows, |row| text(&row.kind)))
        .bind(each(rows, |row| text(&row.subject)))
        .bind(each(rows, |row| row.description.as_deref().map(text)))
        .bind(metadata)
        .execute(connection)
        .await?;
    Ok(())
}

pub const SQL: &[&str] = &[HISTORY, LOGS];
