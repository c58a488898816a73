//! Repairs and their receipts. A receipt is written by the batches of the repair; it is read, and
//! forgotten with its repair, here.

use crate::error::odd;
use crate::operations::prelude::*;
use crate::row::RowColumns as _;
use crate::{CorrectedContact, GoneValues, PartedLead, RepairChanged, RepairMove};
use leadhost_domain::repair::{
    CREATED, MERGED, PERSON, Repair, RepairChange, RepairReceipt, RepairSum, RepairUndone, SAID,
};

/// The changes with the values of a contact: all changes of a row if one of them is about the contact, such
/// as of deals that a repair took from it or contacts that lost its keys, and the changes that the same leads
/// made to other contacts.
macro_rules! changes_about {
    () => {
        "
    select number
    from repair_changes
    where row_id = :contact
    union
    select c.number
    from repair_changes as own
    join repair_changes as c
      on c.row_id = own.row_id
      and c.repair_id = own.repair_id
    where own.contact_id = :contact
    union
    select c.number
    from (
      select repair_id, delivery_id, item
      from repair_changes
      where contact_id = :contact
      union
      select repair_id, delivery_id, item
      from repair_changes
      where row_id = :contact
    ) as own
    join repair_changes as c
      on c.delivery_id = own.delivery_id
      and c.item = own.item
      and c.repair_id = own.repair_id
    where c.kind = 'contact'"
    };
}

pub(crate) use changes_about;

statements! {
    // One host at a time, so that two repairs that begin at once are not both open.
    static ONE_AT_A_TIME: Sql = sql("
lock table repairs in share row exclusive mode -- postgres");

    static OPEN: Sql = reading!(REPAIRS as "repairs", "
select {columns}
from repairs
where state in ('running', 'undoing')
order by id
limit 1");

    static ONE: Sql = reading!(REPAIRS as "repairs", "
select {columns}
from repairs
where id = :id");

    static LIST: Sql = reading!(REPAIRS as "repairs", "
select {columns}
from repairs
where id < :before
order by id desc
limit :limit");

    static BEGIN: Sql = sql("
insert into repairs (id, plan, state, generation, cursor_id, counts, started_by, started_at,
  ended_at, why)
values (:id, :plan, :state, 1, null, :counts, :started_by, :started_at, :ended_at, :why)");

    static TAKE: Sql = sql("
update repairs
set generation = generation + 1
where id = :id and generation = :generation and state in ('running', 'undoing')");

    static PROGRESS: Sql = sql("
update repairs
set cursor_id = :cursor, counts = :counts
where id = :id and generation = :generation and state = 'running'");

    static CHANGE: Sql = sql("
update repairs
set state = :state, ended_at = :ended_at, why = :why, generation = generation + 1
where id = :id and generation = :generation");

    pub static NEW_CHANGES: Sql = made(|| {
        let columns = [
            "workspace_id",
            "repair_id",
            "delivery_id",
            "item",
            "kind",
            "row_id",
            "contact_id",
            "field",
            "value_before",
            "value_after",
        ];
        schema::REPAIR_CHANGES.insert(&columns, OnConflict::Fail)
    });

    static CHANGES: Sql = reading!(REPAIR_CHANGES as "repair_changes", "
select {columns}
from repair_changes
where repair_id = :repair
and number > :after
order by number
limit :limit");

    // The first change of each contact.
    static CORRECTED: Sql = sql("
select number, workspace_id, contact_id, row_id, delivery_id, item
from repair_changes as change
where repair_id = :repair
and number > :after
and field = :said
and value_before is not null
and not exists (
  select 1 from repair_changes as earlier
  where earlier.contact_id = change.contact_id
  and earlier.repair_id = change.repair_id
  and earlier.field = change.field
  and earlier.value_before is not null
  and earlier.number < change.number)
order by number
limit 1");

    static OF_CONTACT: Sql = sql("
select row_id, delivery_id, item, value_before, value_after
from repair_changes
where contact_id = :contact
and (workspace_id = :workspace) is true
and repair_id = :repair
and field = :said
and value_before is not null
order by number");

    static LEADS: Sql = sql("
select d.id, d.delivery_id, d.props -> 'contact' as said, (
  select min(i.item) from items as i
  where i.delivery_id = d.delivery_id
  and i.deal_id = d.id) as item
from deals as d
where d.person_id = :contact
and (d.workspace_id = :workspace) is true   -- sqlite
and d.workspace_id = :workspace             -- postgres
and (d.props -> 'contact') is not null
order by d.id");

    static MOVES: Sql = sql("
select number, workspace_id, delivery_id, item, contact_id, value_before, value_after
from repair_changes
where repair_id = :repair
and number > :after
and field = :person
and value_before is not null
order by number
limit :limit");

    static TO_UNDO: Sql = reading!(REPAIR_CHANGES as "repair_changes", "
select {columns}
from repair_changes
where repair_id = :repair
and number < :before
and undone is null
order by number desc
limit :limit");

    static STAYING: Sql = reading!(REPAIR_CHANGES as "repair_changes", "
select {columns}
from repair_changes
where repair_id = :repair
and undone = :stays
order by number
limit :limit");

    static SUMS: Sql = sql("
select field, undone, count(*) as changes
from repair_changes
where repair_id = :repair
group by field, undone
order by field, undone");

    // A new deal does not count as a changed one, and a merged contact no longer exists.
    static ROWS: Sql = sql("
select count(distinct case when kind = 'deal' then row_id end) as deals,
  count(distinct case when kind = 'contact' then row_id end) as contacts
from repair_changes
where repair_id = :repair
and field not in (:created, :merged)");

    static ENDED: Sql = sql("
select id
from repairs
where ended_at < :before
order by id
limit :limit");

    // This update and the begin of an undo lock the same row, so a receipt with missing rows is never
    // undone.
    static EXPIRE: Sql = sql("
update repairs
set state = 'expired', generation = generation + 1
where id = :repair
and ended_at < :before");

    static OLD_CHANGES: Sql = sql("
delete from repair_changes
where number in (
  select number
  from repair_changes
  where repair_id = :repair
  order by number
  limit :limit
  for update skip locked -- postgres
)");

    static FORGET: Sql = sql("
delete from repairs
where id = :repair
and ended_at < :before
and not exists (select 1 from repair_changes where repair_id = :repair)");

    pub static ERASE_OF_CONTACT: Sql = sql(concat!(
        "
update repair_changes
set value_before = null, value_after = null
where number in (",
        changes_about!(),
        ")
and value_before is not null
and (workspace_id = :workspace) is true"
    ));

    pub static ERASE_OF_DEALS: Sql = sql("
each (workspace_id uuid, id uuid)
update repair_changes as c
set value_before = null, value_after = null
from each
where c.row_id = each.id
and c.value_before is not null
and (c.workspace_id = each.workspace_id) is true");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Begins a repair. Returns it, or the one that is open with `false`. A repair that has ended
    /// already is only recorded.
    pub async fn begin_repair(&self, new: &Repair) -> Result<(Repair, bool), StoreError> {
        let new = new.clone();
        steps!(self.database.write(Exempt), |tx| {
            tx.run(&ONE_AT_A_TIME, &[]).await?;
            if new.state.is_open()
                && let Some(open) = tx.row(&OPEN, &[], Repair::from_row).await?
            {
                return Ok((open, false));
            }
            let args = args! {
                from new: id, plan, state, counts, started_by, started_at, ended_at, why,
            };
            tx.run(&BEGIN, &args).await?;
            Ok((stored(tx, new.id).await?, true))
        })
        .await
    }

    pub async fn repairs(
        &self,
        before: Option<RepairId>,
        limit: u32,
    ) -> Result<Vec<Repair>, StoreError> {
        let args = args! { before: before.map_or(Uuid::max(), |id| id.0), limit };
        self.database
            .rows(VisibleRows::Exempt, &LIST, args, Repair::from_row)
            .await
    }

    pub async fn repair(&self, id: RepairId) -> Result<Option<Repair>, StoreError> {
        let args = args! { id };
        self.database
            .row(VisibleRows::Exempt, &ONE, args, Repair::from_row)
            .await
    }

    /// Returns the repair that is open. There is one at a time.
    pub async fn open_repair(&self) -> Result<Option<Repair>, StoreError> {
        self.database
            .row(VisibleRows::Exempt, &OPEN, [], Repair::from_row)
            .await
    }

    /// Gives an open repair a new generation: what is committed for an older one has no effect. `None` if it
    /// was changed since its generation was read.
    pub async fn take_repair(&self, repair: &Repair) -> Result<Option<Repair>, StoreError> {
        let taken = repair.clone();
        steps!(self.database.write(Exempt), |tx| {
            let args = args! { id: taken.id, generation: taken.generation };
            match tx.run(&TAKE, &args).await? {
                0 => Ok(None),
                _ => stored(tx, taken.id).await.map(Some),
            }
        })
        .await
    }

    /// Stores the cursor and the counts of a running repair. Returns false if it was changed since
    /// its generation was read.
    pub async fn note_repair(&self, repair: &Repair) -> Result<bool, StoreError> {
        let repair = repair.clone();
        steps!(self.database.write(Exempt), |tx| {
            let args = args! { from repair: id, generation, cursor, counts };
            Ok(tx.run(&PROGRESS, &args).await? > 0)
        })
        .await
    }

    /// Changes the state of a repair, unless it was changed since its generation was read, or
    /// another one is open and this one would be too.
    pub async fn change_repair(&self, changed: &Repair) -> Result<RepairChanged, StoreError> {
        let changed = changed.clone();
        steps!(self.database.write(Exempt), |tx| {
            tx.run(&ONE_AT_A_TIME, &[]).await?;
            if changed.state.is_open()
                && let Some(open) = tx.row(&OPEN, &[], Repair::from_row).await?
                && open.id != changed.id
            {
                return Ok(RepairChanged::Open(open));
            }
            let args = args! { from changed: id, generation, state, ended_at, why };
            match tx.run(&CHANGE, &args).await? {
                0 => Ok(RepairChanged::Stale),
                _ => Ok(RepairChanged::Done(stored(tx, changed.id).await?)),
            }
        })
        .await
    }

    /// Returns rows of a receipt in their order: those after a number (0: from the first), at most
    /// `limit`.
    pub async fn repair_changes(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        let args = args! { repair: id, after, limit };
        self.database
            .many_rows(VisibleRows::All, &CHANGES, args, RepairChange::from_row)
            .await
    }

    /// Returns the next contact whose leads say something else of the person since a repair, in the order of
    /// its receipt: after a number (0: from the first).
    pub async fn corrected_contact(
        &self,
        id: RepairId,
        after: i64,
    ) -> Result<Option<CorrectedContact>, StoreError> {
        let repair = id;
        steps!(self.database.read_many(All), |tx| {
            let args = args! { repair, after, said: SAID };
            let first = tx
                .row(&CORRECTED, &args, CorrectedContact::from_row)
                .await?;
            let Some(mut found) = first else {
                return Ok(None);
            };
            let (workspace, contact) = (found.workspace, found.contact);
            let args = args! { repair, workspace, contact, said: SAID };
            let changes = tx.rows(&OF_CONTACT, &args, corrected_lead).await?;
            let args = args! { workspace, contact };
            let leads = tx.rows(&LEADS, &args, said_by_lead).await?;
            found.know(&changes, leads);
            Ok(Some(found))
        })
        .await
    }

    /// Returns the deals that moved to other contacts in a repair, in the order of its receipt: those
    /// after a number (0: from the first), at most `limit`.
    pub async fn repair_moves(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairMove>, StoreError> {
        let args = args! { repair: id, after, person: PERSON, limit };
        self.database
            .many_rows(VisibleRows::All, &MOVES, args, RepairMove::from_row)
            .await
    }

    /// Returns the first rows of a receipt that could not be undone, at most `limit`.
    pub async fn staying_changes(
        &self,
        id: RepairId,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        let args = args! { repair: id, stays: RepairUndone::Stays.as_str(), limit };
        self.database
            .many_rows(VisibleRows::All, &STAYING, args, RepairChange::from_row)
            .await
    }

    /// Returns rows of a receipt that no undo has dealt with, the newest first: those before a
    /// number, at most `limit`.
    pub async fn changes_to_undo(
        &self,
        id: RepairId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        let args = args! { repair: id, before, limit };
        self.database
            .many_rows(VisibleRows::All, &TO_UNDO, args, RepairChange::from_row)
            .await
    }

    /// Returns the sum of a repair's receipt. It reads all rows of the receipt.
    pub async fn repair_receipt(&self, id: RepairId) -> Result<RepairReceipt, StoreError> {
        let repair = id;
        steps!(self.database.read_many(All), |tx| {
            let args = args! { repair, created: CREATED, merged: MERGED };
            let (deals, contacts): (u64, u64) =
                tx.only(&ROWS, &args, cells!("deals", "contacts")).await?;
            let fields = tx.rows(&SUMS, &args, RepairSum::from_row).await?;
            Ok(RepairReceipt {
                deals,
                contacts,
                fields,
            })
        })
        .await
    }
}

async fn stored(tx: &mut Tx, id: RepairId) -> Result<Repair, StoreError> {
    tx.only(&ONE, &args! { id }, Repair::from_row).await
}

from_row! {
    CorrectedContact |row| {
        number, workspace: "workspace_id", contact: "contact_id", place = changed_lead(row)?,
        leads = Vec::new(), gone = GoneValues::default(),
    }

    RepairMove |row| {
        number, workspace: "workspace_id", delivery: "delivery_id", item, contact: "contact_id",
        from = contact(row, "value_before")?, into = contact(row, "value_after")?,
    }

    RepairSum |row| { field, undone, changes }
}

fn contact(row: &SqlRow<'_>, column: &'static str) -> Result<ContactId, StoreError> {
    let contact = row.json_if(column.into())?;
    contact.ok_or_else(|| odd("repair_changes", column, "null"))
}

fn changed_lead(row: &SqlRow<'_>) -> Result<PartedLead, StoreError> {
    Ok(read!(row => PartedLead { deal: "row_id", delivery: "delivery_id", item }))
}

fn corrected_lead(row: &SqlRow<'_>) -> Result<(PartedLead, Value, Value), StoreError> {
    let lead = changed_lead(row)?;
    Ok((lead, row.get("value_before")?, row.get("value_after")?))
}

/// Reads what the lead of a deal says of the person. A deal without an item has no delivery.
fn said_by_lead(row: &SqlRow<'_>) -> Result<(PartedLead, Value), StoreError> {
    let delivery: Option<DeliveryId> = row.get("delivery_id")?;
    let place = delivery.zip(row.get("item")?);
    let (delivery, item) = place.unwrap_or((DeliveryId(Uuid::nil()), 0));
    let lead = read!(row => PartedLead { deal: "id", delivery = delivery, item = item });
    Ok((lead, row.get("said")?))
}

/// Repairs whose receipts one step of the sweep looks at.
const FORGOTTEN_AT_ONCE: u32 = 4;

/// Removes the receipts of repairs that ended before this time, at most `limit` rows, and then the
/// repairs, which are [`RepairState::Expired`](leadhost_domain::repair::RepairState) meanwhile. Returns
/// how many rows it removed.
pub async fn forget(database: &Database, before: Micros, limit: u32) -> Result<u64, StoreError> {
    let args = args! { before, limit: FORGOTTEN_AT_ONCE };
    let ended: Vec<RepairId> = database
        .rows(VisibleRows::Exempt, &ENDED, args, |row| row.get("id"))
        .await?;
    let mut removed = 0;
    for repair in ended {
        removed += steps!(database.write(All), |tx| {
            let args = args! { repair, before, limit };
            if tx.run(&EXPIRE, &args).await? == 0 {
                return Ok(0);
            }
            let changes = tx.run(&OLD_CHANGES, &args).await?;
            Ok(changes + tx.run(&FORGET, &args).await?)
        })
        .await?;
    }
    Ok(removed)
}

/// They read all repairs, which are acts of operators.
#[cfg(test)]
pub const WHOLE: &[&Sql] = &[&ENDED];
