//! What sources answered to fetches that are settled.

use super::db::Db;
use crate::domain::id::DeliveryId;
use crate::store::row::fetches::answer;
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

#[cfg(test)]
pub(super) const SQL: &[&str] = &[LIST];
