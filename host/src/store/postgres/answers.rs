//! What sources answered to fetches that are settled.

use super::db::{Db, Rows};
use crate::domain::id::DeliveryId;
use crate::store::row::fetches::answer;
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

pub(super) const SQL: &[&str] = &[LIST];
