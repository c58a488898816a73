//! Answers of sources to settled fetches, and the fetches that are still to be made.

use crate::operations::prelude::*;
use crate::{KeptAnswer, WaitingFetch};

statements! {
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

    static WAITING: Sql = sql("
select f.item, f.hop, f.external_id, f.request, f.attempts, f.due_at, f.until_at
from fetches as f
where f.workspace_id = :workspace
and f.delivery_id = :delivery
order by f.item
limit :limit");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns the answers of sources to the settled fetches of a delivery, in the order in which
    /// they were settled: those with a number greater than `after` (0: from the first), at most
    /// `limit`, because bodies may be large. Answers are kept as long as the delivery.
    pub async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError> {
        let args = args! { delivery, after, limit };
        self.database
            .many_rows(VisibleRows::All, &LIST, args, KeptAnswer::from_row)
            .await
    }

    /// Returns the fetches of a delivery that are still to be made, in the order of its items, at most
    /// `limit`.
    pub async fn waiting_fetches(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        limit: u32,
    ) -> Result<Vec<WaitingFetch>, StoreError> {
        let args = args! { workspace, delivery, limit };
        self.database
            .rows(
                VisibleRows::Of(&[workspace]),
                &WAITING,
                args,
                WaitingFetch::from_row,
            )
            .await
    }
}

from_row! {
    WaitingFetch |row| {
        index: "item", hop, external_id, request, attempts, due_at, until: "until_at",
    }
}
