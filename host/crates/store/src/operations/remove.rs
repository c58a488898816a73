//! Removal of deals with their history, notes, and values in receipts. References to them are
//! cleared, and the rows that held them are stamped again. Rows are locked in the same order as by
//! a batch of leads.

use crate::operations::prelude::*;
use crate::operations::{repairs, tombstones};
use crate::tombstones::Removal;
use crate::{Erased, erased_key};

/// Locks the rows whose column `by` names one of the ids. The workspace is checked, but not
/// searched by.
macro_rules! locked {
    ($table:literal, $by:literal, $columns:literal) => {
        concat!(
            "
each (workspace_id uuid, id uuid)
select ",
            $columns,
            "
from each
ordered join ",
            $table,
            " as t
  on t.",
            $by,
            " = each.id
  and t.",
            $by,
            " is not null
  and (t.workspace_id = each.workspace_id) is true
order by t.id
for update of t                                  -- postgres
"
        )
    };
}

pub(super) use locked;

statements! {
    // The keys of external ids that these deals hold: see `erased_key`. `coalesce` keeps PostgreSQL from finding the
    // deals by the index of external ids.
    static LOCK_CLAIMS: Sql = sql("
each (workspace_id uuid, id uuid)
select k.connection_id, k.key
from each
cross join deals as d                                    -- sqlite
  on d.id = each.id                                      -- sqlite
  and (d.workspace_id = each.workspace_id) is true       -- sqlite
join deals as d                                          -- postgres
  on d.workspace_id = each.workspace_id                  -- postgres
  and d.id = each.id                                     -- postgres
ordered join dedupe as k
  on k.connection_id = d.connection_id
  and k.key = 'id:' || coalesce(d.external_id, '')
  and k.deal_id = d.id
order by k.connection_id, k.key
for update of k                                          -- postgres
");

    // A repeat that came in meanwhile may have made one.
    static FORMER_CLAIMS: Sql = sql("
each (connection_id text, key text, erased_key text)
delete from dedupe as gone
using each                                               -- postgres
where gone.connection_id = each.connection_id            -- postgres
and gone.key = each.erased_key                           -- postgres
where connection_id = :connection_id                     -- sqlite
and key = :erased_key                                    -- sqlite
");

    static ERASED_CLAIMS: Sql = sql("
each (connection_id text, key text, erased_key text)
update dedupe as d
set key = each.erased_key
from each
where d.connection_id = each.connection_id
and d.key = each.key");

    static LOCK_DEALS: Sql = sql("
each (workspace_id uuid, id uuid)
select d.id
from each
cross join deals as d                                    -- sqlite
  on d.id = each.id                                      -- sqlite
  and (d.workspace_id = each.workspace_id) is true       -- sqlite
join deals as d                                          -- postgres
  on d.workspace_id = each.workspace_id                  -- postgres
  and d.id = each.id                                     -- postgres
order by d.id
for update of d                                          -- postgres
");

    static LOCK_CONVERSATIONS: Sql = sql(locked!("conversations", "deal_id", "t.id"));
    static LOCK_ERRORS: Sql = sql(locked!("message_errors", "deal_id", "t.id"));

    static LOCK_TICKETS: Sql = sql(locked!(
        "tickets",
        "deal_id",
        "t.id, t.conversation_id is null as whole"
    ));

    // Conversations about a test lead must not count after its removal, when nothing else shows that it
    // was a test.
    static TRIALS: Sql = sql("
each (workspace_id uuid, id uuid)
update conversations as c
set props = json_set(c.props, '$.test', json('true'))            -- sqlite
set props = (c.props::jsonb || '{\"test\": true}')::json         -- postgres
from each
join deals as d
  on d.id = each.id
  and (d.workspace_id = each.workspace_id) is true               -- sqlite
  and d.workspace_id = each.workspace_id                         -- postgres
where c.deal_id = each.id
and c.deal_id is not null
and (d.props -> 'test')::text = 'true'");

    static HISTORY: Sql = made(|| schema::DEAL_HISTORY.remove_with("deal_id"));
    static LOGS: Sql = made(|| schema::DEAL_LOGS.remove_with("deal_id"));
    static DEALS: Sql = made(|| schema::DEALS.remove_with("id"));

    pub static REMOVE_TICKETS: Sql = made(|| schema::TICKETS.remove_with("id"));

    static UNLINK_CONVERSATIONS: Sql = sql("
each (id uuid, cursor_us number, updated_at time)
update conversations as c
set deal_id = null, cursor_us = each.cursor_us, updated_at = each.updated_at
from each
where c.id = each.id");

    static UNLINK_ERRORS: Sql = sql("
each (id uuid, cursor_us number)
update message_errors as e
set deal_id = null, cursor_us = each.cursor_us
from each
where e.id = each.id");

    static UNLINK_TICKETS: Sql = sql("
each (id uuid, cursor_us number, updated_at time)
update tickets as t
set deal_id = null, cursor_us = each.cursor_us, updated_at = each.updated_at
from each
where t.id = each.id");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Removes a deal with its history and notes, and clears references to it. Returns false if
    /// there is no such deal.
    pub async fn remove_deal(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        steps!(self.database.write(Of(&[workspace])), |tx| {
            let gone = deals(tx, workspace, &[deal.0], now).await?;
            Ok(gone.deals > 0)
        })
        .await
    }
}

/// Removes these deals of the workspace, in a transaction that names it and holds no lock yet that
/// a batch of leads takes after deals.
pub async fn deals(
    tx: &mut Tx,
    workspace: WorkspaceId,
    deals: &[Uuid],
    now: Micros,
) -> Result<Erased, StoreError> {
    let wanted = rows_of(workspace, deals);
    let claims: Vec<(String, String)> = tx
        .rows_each(&LOCK_CLAIMS, &wanted, cells!("connection_id", "key"))
        .await?;
    let claims: Vec<_> = claims
        .iter()
        .map(|(connection_id, key)| {
            args! { connection_id, key, erased_key: erased_key(key) }
        })
        .collect();
    tx.run_each(&FORMER_CLAIMS, &claims).await?;
    tx.run_each(&ERASED_CLAIMS, &claims).await?;
    let deals: Vec<Uuid> = tx
        .rows_each(&LOCK_DEALS, &wanted, |row| row.get("id"))
        .await?;
    if deals.is_empty() {
        return Ok(Erased::default());
    }
    let locked = rows_of(workspace, &deals);
    let conversations: Vec<Uuid> = tx
        .rows_each(&LOCK_CONVERSATIONS, &locked, |row| row.get("id"))
        .await?;
    let errors: Vec<Uuid> = tx
        .rows_each(&LOCK_ERRORS, &locked, |row| row.get("id"))
        .await?;
    let tickets: Vec<(Uuid, bool)> = tx
        .rows_each(&LOCK_TICKETS, &locked, cells!("id", "whole"))
        .await?;
    let (mut whole, mut of_talks) = (Vec::new(), Vec::new());
    for (id, is_whole) in tickets {
        let of = if is_whole { &mut whole } else { &mut of_talks };
        of.push(id);
    }
    tx.run_each(&TRIALS, &locked).await?;
    let mut counts = [0; 4];
    let all = [&HISTORY, &LOGS, &repairs::ERASE_OF_DEALS, &DEALS];
    for (sql, count) in all.into_iter().zip(&mut counts) {
        *count = tx.run_each(sql, &locked).await?;
    }
    tx.run_each(&REMOVE_TICKETS, &rows_of(workspace, &whole))
        .await?;
    let mut gone = Removal::default();
    gone.remove(Entity::Deals, &deals);
    gone.remove(Entity::Tickets, &whole);
    gone.change(Entity::Conversations, &conversations);
    gone.change(Entity::MessageErrors, &errors);
    gone.change(Entity::Tickets, &of_talks);
    let mut stamps: BTreeMap<Entity, Vec<_>> = BTreeMap::new();
    for row in tombstones::bury(tx, workspace, &gone).await? {
        let stamped = args! { id: row.id, cursor_us: row.stamp, updated_at: now };
        stamps.entry(row.entity).or_default().push(stamped);
    }
    for (entity, sql) in [
        (Entity::Conversations, &UNLINK_CONVERSATIONS),
        (Entity::MessageErrors, &UNLINK_ERRORS),
        (Entity::Tickets, &UNLINK_TICKETS),
    ] {
        if let Some(rows) = stamps.get(&entity) {
            tx.run_each(sql, rows).await?;
        }
    }
    let [deal_changes, deal_logs, repair_changes, deals] = counts;
    Ok(Erased {
        deals,
        deal_changes,
        deal_logs,
        repair_changes,
        tickets: u64::try_from(whole.len()).unwrap_or(u64::MAX),
        ..Erased::default()
    })
}

/// Returns the rows of `each (workspace_id uuid, id uuid)` for these ids of the workspace.
pub fn rows_of(workspace_id: WorkspaceId, ids: &[Uuid]) -> Vec<[Arg<'static>; 2]> {
    ids.iter().map(|&id| args! { workspace_id, id }).collect()
}
