//! Counts deliveries and messages in slots of time, through the indexes by connection and by instance.
//! Ids sort by time, so a range of ids is a range of time.

use crate::operations::prelude::*;
use crate::{ActivityOf, ActivitySlot};

statements! {
    // One seek into the index by connection, and the rows of the range. Past the limit, the newest count.
    static DELIVERIES: Sql = sql("
select page.slot, count(*) as taken, sum(page.leads)::bigint as leads, sum(page.failed)::bigint as failed,
  sum(page.rejected)::bigint as rejected
from (
  select floor(extract(epoch from d.received_at) / 300)::bigint as slot,  -- postgres
  select d.received_at / 300000000 as slot,                               -- sqlite
    case when d.status in ('failed', 'parked', 'quarantined') then 1 else 0 end as failed,
    case when d.status = 'rejected' then 1 else 0 end as rejected,
    (select count(*) from items as i
     where i.workspace_id = d.workspace_id and i.delivery_id = d.id and i.deal_id is not null) as leads
  from deliveries as d
  where d.connection_id = :connection
  and (d.workspace_id = :workspace) is true
  and d.id >= :first
  and d.id < :until
  order by d.id desc
  limit :limit
) as page
group by page.slot
order by page.slot");

    // A message that an operator gave up counts as no failure: it needs no attention.
    static MESSAGES: Sql = sql("
select page.slot, count(*) as taken, 0::bigint as leads, sum(page.failed)::bigint as failed,
  0::bigint as rejected
from (
  select floor(extract(epoch from m.created_at) / 300)::bigint as slot,  -- postgres
  select m.created_at / 300000000 as slot,                               -- sqlite
    case when m.state = 'failed' and not exists (
      select 1
      from json_array_elements(m.metadata -> 'errors') as one(value)     -- postgres
      from json_each(m.metadata, '$.errors') as one                      -- sqlite
      where one.value ->> 'category' = 'given-up'
    ) then 1 else 0 end as failed
  from messages as m
  where m.agent_id = :agent
  and (m.workspace_id = :workspace) is true
  and m.id >= :first
  and m.id < :until
  order by m.id desc
  limit :limit
) as page
group by page.slot
order by page.slot");
}

from_row! {
    ActivitySlot |row| { slot, taken, leads, failed, rejected }
}

#[leadhost_boxed::boxed]
impl Store {
    /// Returns what a connection or an instance took, by slots of five minutes, for hosts that keep
    /// the counts. Reads at most `limits::ACTIVITY_ROWS` rows, the newest.
    pub async fn activity(
        &self,
        of: &ActivityOf,
        from: Micros,
        until: Micros,
    ) -> Result<Vec<ActivitySlot>, StoreError> {
        let of = of.clone();
        let (workspace, first, until) = (of.workspace(), least_id(from), least_id(until));
        let limit = limits::ACTIVITY_ROWS;
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            match &of {
                ActivityOf::Connection(_, connection) => {
                    let args = args! { connection, workspace, first, until, limit };
                    tx.rows(&DELIVERIES, &args, ActivitySlot::from_row).await
                }
                ActivityOf::Instance(_, agent) => {
                    let args = args! { agent: agent.0, workspace, first, until, limit };
                    tx.rows(&MESSAGES, &args, ActivitySlot::from_row).await
                }
            }
        })
        .await
    }
}

/// Returns the least id that an event at this time can have.
fn least_id(at: Micros) -> Uuid {
    let millis = u64::try_from(at.0).unwrap_or(0) / 1_000;
    Uuid::from_u128(u128::from(millis) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::uuid_at;

    #[test]
    fn an_id_lies_between_the_least_ids_of_its_own_and_the_next_millisecond() {
        let at = Micros(1_800_000_000_000_000);
        let id = uuid_at(at);
        assert!(least_id(at) <= id);
        assert!(id < least_id(Micros(at.0 + 1_000)));
    }
}
