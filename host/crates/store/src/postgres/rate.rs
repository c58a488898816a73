//! The debts of workspaces for their requests, over all hosts: one statement and one
//! round trip, on an unlogged table.

use std::time::Duration;

use sqlx::Row as _;

use super::db::Db;
use crate::{Debt, Price, StoreError};
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::time::micros;

// The arithmetic of `Price::pay`, under the row's lock. The row to insert carries the
// time at which the statement began, so that all parts of the statement use the same
// time. A refused request writes the row unchanged, so that the answer can return the
// debt. A host that was refused asks again only when it can succeed.
const PAY: &str = "
insert into rates as r (workspace_id, due_us, refused)
values ($1, feed_now() + $2, false)
on conflict (workspace_id) do update
set refused = greatest(r.due_us, excluded.due_us - $2) + $2 > excluded.due_us - $2 + $3,
  due_us = case
    when greatest(r.due_us, excluded.due_us - $2) + $2 > excluded.due_us - $2 + $3
      then least(r.due_us, excluded.due_us - $2 + $3)
    else greatest(r.due_us, excluded.due_us - $2) + $2
  end
returning due_us - feed_now() as owed, refused";

pub async fn pay(db: &Db, workspace: WorkspaceId, price: Price) -> Result<Debt, StoreError> {
    let row = sqlx::query(PAY)
        .bind(workspace.0)
        .bind(micros(price.each))
        .bind(micros(price.full))
        .fetch_one(db.pool())
        .await?;
    let owed: i64 = row.try_get("owed")?;
    Ok(Debt {
        owed: Duration::from_micros(u64::try_from(owed).unwrap_or(0)).min(price.full),
        refused: row.try_get("refused")?,
    })
}

pub const SQL: &[&str] = &[PAY];
