//! The deliveries that erasures left, and that are still there.

use crate::StandingDelivery;
use crate::operations::prelude::*;

statements! {
    // Emptied deliveries, and those that became other contacts', no longer belong to the person.
    static STANDING: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid)
select d.id, d.status,
  ",
        has_led!(),
        " as shared,
  ",
        is_pending!(d),
        " as pending
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id
where (d.body_bytes > 0 or d.query::text <> '[]' or d.headers::text <> '[]')
and (d.next_attempt_at is not null or (
  select min(case when i.contact_id is null then 0 else 1 end) = 1
  from items as i
  where i.workspace_id = d.workspace_id
  and i.delivery_id = d.id
) is not true)
order by d.id"
    ));
}

from_row! {
    StandingDelivery |row| { id, status, is_shared: "shared", is_pending: "pending" }
}

pub async fn find(
    tx: &mut Tx,
    left: &[(WorkspaceId, DeliveryId)],
) -> Result<Vec<StandingDelivery>, StoreError> {
    // Sorted by id, which is the order of the answer.
    let left: BTreeSet<_> = left.iter().map(|(of, id)| (*id, *of)).collect();
    let left: Vec<_> = left
        .into_iter()
        .map(|(id, workspace_id)| args! { workspace_id, id })
        .collect();
    tx.rows_each(&STANDING, &left, StandingDelivery::from_row)
        .await
}
