//! What sources answered to fetches that are settled.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::columns::{self, Columns as _};
use super::db::Db;
use crate::domain::id::DeliveryId;
use crate::store::error::odd;
use crate::store::{KeptAnswer, StoreError};

// The numbers first, which the index has: sorting must not carry bodies along.
const LIST: &str = "
select number, item, hop, external_id, request, response_head, response_body
from answers
where number in (
  select number from answers
  where delivery_id = ?1
  and number > ?2
  order by number
  limit ?3)
order by number";

pub async fn list(
    db: &Db,
    delivery: DeliveryId,
    after: i64,
    limit: u32,
) -> Result<Vec<KeptAnswer>, StoreError> {
    sqlx::query(LIST)
        .bind(delivery.to_string())
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(answer)
        .collect()
}

fn answer(row: &SqliteRow) -> Result<KeptAnswer, StoreError> {
    Ok(KeptAnswer {
        number: row.try_get("number")?,
        index: row.number("item")?,
        hop: row.number("hop")?,
        external_id: row.try_get("external_id")?,
        request: row.json("request")?,
        response: columns::response(row)?.ok_or_else(|| odd("answers", "response_head", "null"))?,
    })
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[LIST];
