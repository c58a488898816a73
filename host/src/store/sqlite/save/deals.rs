//! The past of deals: who changed what, and what partners noted.

use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::super::json;
use super::write;
use crate::store::StoreError;
use crate::store::decide::Known;

#[derive(Serialize)]
struct HistoryRow {
    workspace: String,
    deal: String,
    at: i64,
    who: String,
    changes: String,
}

const HISTORY: &str = "
insert into deal_history (workspace_id, deal_id, at, who, changes)
select value ->> 'workspace', value ->> 'deal', value ->> 'at', value ->> 'who',
  value ->> 'changes'
from jsonb_each(?1)";

pub(super) async fn history(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows = known
        .new_history
        .iter()
        .map(|new| {
            Ok(HistoryRow {
                workspace: new.workspace.to_string(),
                deal: new.deal.to_string(),
                at: known.now.0,
                who: json(&new.by)?,
                changes: json(&new.changes)?,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, HISTORY, &rows).await
}

#[derive(Serialize)]
struct LogRow<'a> {
    workspace: String,
    id: String,
    deal: String,
    created: i64,
    partner: String,
    by_key: String,
    kind: &'a str,
    subject: &'a str,
    description: Option<&'a str>,
    metadata: String,
}

const LOGS: &str = "
insert into deal_logs (workspace_id, id, deal_id, created_at, partner_id, key_id, kind, subject,
  description, metadata)
select value ->> 'workspace', value ->> 'id', value ->> 'deal', value ->> 'created',
  value ->> 'partner', value ->> 'by_key', value ->> 'kind', value ->> 'subject',
  value ->> 'description', value ->> 'metadata'
from jsonb_each(?1)";

pub(super) async fn logs(
    connection: &mut SqliteConnection,
    known: &Known,
) -> Result<(), StoreError> {
    let rows = known
        .new_logs
        .iter()
        .map(|new| {
            Ok(LogRow {
                workspace: new.by.workspace.to_string(),
                id: new.id.to_string(),
                deal: new.deal.to_string(),
                created: known.now.0,
                partner: new.by.partner.to_string(),
                by_key: new.by.key.to_string(),
                kind: &new.kind,
                subject: &new.subject,
                description: new.description.as_deref(),
                metadata: json(&new.metadata)?,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    write(connection, LOGS, &rows).await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[HISTORY, LOGS];
