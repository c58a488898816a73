//! Answers of sources to settled fetches, and the fetches that are still to be made.

use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::fetches::{answer, waiting};
use crate::sql::{Sql, args, sql, steps};
use crate::{KeptAnswer, StoreError, WaitingFetch};
use leadhost_domain::id::{DeliveryId, WorkspaceId};

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

static WAITING: Sql = sql("
select f.item, f.hop, f.external_id, f.request, f.attempts, f.due_at, f.until_at
from fetches as f
where f.workspace_id = :workspace
and f.delivery_id = :delivery
order by f.item
limit :limit");

/// Returns the fetches of a delivery that are still to be made, in the order of its items, at most
/// `limit`.
pub async fn waiting_of(
    database: &Database,
    workspace: WorkspaceId,
    delivery: DeliveryId,
    limit: u32,
) -> Result<Vec<WaitingFetch>, StoreError> {
    database
        .read(
            VisibleRows::Of(&[workspace]),
            steps!(|tx| {
                let args = args! { workspace, delivery, limit };
                tx.rows(&WAITING, &args, |row| waiting(row)).await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[&LIST, &WAITING];
