//! What workspaces owe for their requests, counted over all hosts: one
//! statement, one round trip, on a table that no crash keeps.

use sqlx::Row as _;

use super::db::Db;
use crate::domain::id::WorkspaceId;
use crate::store::{Debt, Price, StoreError};

// The arithmetic of `Price::pay`, done under the row's lock. What would be put
// in carries the time that the statement began at, so that every part of it
// reckons with the same. A refused request writes the row as it was, so that its
// answer can tell what is owed; a host that was refused asks again only when it
// is worth it.
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
        .bind(price.each)
        .bind(price.full)
        .fetch_one(db.pool())
        .await?;
    let owed: i64 = row.try_get("owed")?;
    Ok(Debt {
        owed: owed.clamp(0, price.full),
        refused: row.try_get("refused")?,
    })
}

pub const SQL: &[&str] = &[PAY];
