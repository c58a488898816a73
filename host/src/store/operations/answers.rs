//! Answers of sources to settled fetches.

use crate::domain::id::DeliveryId;
use crate::store::database::Database;
use crate::store::postgres::VisibleRows;
use crate::store::row::fetches::answer;
use crate::store::sql::{Sql, args, sql, steps};
use crate::store::{KeptAnswer, StoreError};

// Selects the numbers first, so that the sort does not carry the bodies along.
static LIST: Sql = sql("
select a.number, a.item, a.hop, a.external_id, a.request, a.response_head, a.response_body
from (
  select number from answers
  where delivery_id = :delivery
  and number > :after
  order by number
  limit :limit
) as wanted
join answers as a on a.number = wanted.number
order by a.number");

/// Returns the stored answers of a delivery with a number greater than `after`, in the order of
/// their numbers, at most `limit`. With 0 as `after` it begins with the first answer.
///
/// # Errors
///
/// [`StoreError`] if the database fails.
pub async fn list(
    database: &Database,
    delivery: DeliveryId,
    after: i64,
    limit: u32,
) -> Result<Vec<KeptAnswer>, StoreError> {
    database
        .read_many(
            VisibleRows::All,
            steps!(|tx| {
                let args = args! { delivery, after, limit };
                tx.rows(&LIST, &args, |row| answer(row)).await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[&LIST];
