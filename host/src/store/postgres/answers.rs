//! What sources answered to fetches that are settled.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::columns::{self, Columns as _};
use super::db::{Db, Rows};
use crate::domain::id::DeliveryId;
use crate::store::error::odd;
use crate::store::{KeptAnswer, StoreError};

// The numbers first, which are few bytes: sorting must not carry bodies along.
const LIST: &str = "
select a.number, a.item, a.hop, a.external_id, a.request, a.response_head, a.response_body
from (
  select number from answers
  where delivery_id = $1
  and number > $2
  order by number
  limit $3
) as wanted
join answers as a on a.number = wanted.number
order by a.number";

pub async fn list(
    db: &Db,
    delivery: DeliveryId,
    after: i64,
    limit: u32,
) -> Result<Vec<KeptAnswer>, StoreError> {
    let mut snapshot = db.snapshot(Rows::All).await?;
    let rows = sqlx::query(LIST)
        .bind(delivery.0)
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(&mut *snapshot)
        .await?;
    snapshot.rollback().await?;
    rows.iter().map(answer).collect()
}

fn answer(row: &PgRow) -> Result<KeptAnswer, StoreError> {
    Ok(KeptAnswer {
        number: row.try_get("number")?,
        index: row.small("item")?,
        hop: row.small("hop")?,
        external_id: row.try_get("external_id")?,
        request: row.json("request")?,
        response: columns::response(row)?.ok_or_else(|| odd("answers", "response_head", "null"))?,
    })
}

pub(super) const SQL: &[&str] = &[LIST];
