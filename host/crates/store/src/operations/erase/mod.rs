//! Erasure of a person, in steps. Each step is a transaction that names its workspace and locks the
//! record of the erasure in its first statement, so that concurrent erasures of the same person
//! take turns. After that it locks in the same order as a batch of leads, and the clocks come last.
//!
//! The rows that a step removes are found without a lock, then locked and checked again. If a batch
//! of leads changed them in between, they are not removed unseen; the step is run again. Every
//! writer that attaches something to the contact holds its lock. So once the contact is locked and
//! nothing is attached to it, nothing will be. On SQLite there is no other writer in between.
//!
//! A step removes the first kind of rows that it finds. A step that finds nothing else removes the
//! contact. Therefore steps may be repeated, and rows that arrive in between are removed with the
//! rest.

/// Whether an item of a delivery meets a condition, in which `one` is the item. The fence keeps
/// PostgreSQL from reading all items instead of the delivery's.
macro_rules! has_item {
    ($workspace:literal, $delivery:literal, $($is_so:literal),+) => {
        concat!(
            "exists (
    select 1
    from items as one
    where one.workspace_id = ",
            $workspace,
            "
    and one.delivery_id = ",
            $delivery,
            "
    and ",
            $($is_so,)+
            "
    offset 0                                             -- postgres
  )"
        )
    };
}

/// Whether a lead of a delivery is to be converted again from its raw bytes, or parts of it are not
/// converted yet, so that the contacts of these are unknown. Applies to the row `d`, or to any
/// delivery.
macro_rules! is_pending {
    (d) => {
        concat!(
            "(",
            has_item!(
                "d.workspace_id",
                "d.id",
                "one.contact_id is null and one.status in ('unrouted', 'failed')"
            ),
            "
  or d.next_attempt_at is not null
  or (d.status = 'parked' and d.attempts > 0))"
        )
    };
    ($workspace:literal, $delivery:literal) => {
        concat!(
            "(",
            has_item!(
                $workspace,
                $delivery,
                "one.contact_id is null and one.status in ('unrouted', 'failed')"
            ),
            "
  or exists (
    select 1
    from deliveries as part
    where part.workspace_id = ",
            $workspace,
            "
    and part.id = ",
            $delivery,
            "
    and (part.next_attempt_at is not null
      or (part.status = 'parked' and part.attempts > 0))
    offset 0                                             -- postgres
  ))"
        )
    };
}

/// Whether an item of the delivery `d` led to a contact. Not written as `is not null`, which the
/// index by contact supports too: while that index is small, it would be read from end to end.
macro_rules! has_led {
    () => {
        has_item!(
            "d.workspace_id",
            "d.id",
            "case when one.contact_id is null then 0 else 1 end = 1"
        )
    };
}

mod count;
mod dialogue;
pub mod erasing;
mod person;
pub mod raw;
mod record;
mod standing;

use self::erasing::{ErasureTx, LOCK_CONTACT};
use super::remove::{self};
use super::repairs;
use crate::operations::prelude::*;
use crate::tombstones::Removal;
use crate::{EraseStep, Erased, Extent, Person};

statements! {
    static DEALS: Sql = sql("
select id
from deals
where person_id = :contact
and workspace_id = :workspace                            -- postgres
and (workspace_id = :workspace) is true                  -- sqlite
order by id
limit :limit");

    // One row of any kind is enough.
    static LEFT: Sql = sql(concat!(
        "
select
  exists (
    select 1
    from deals
    where person_id = :contact
    and workspace_id = :workspace      -- postgres
  )
  or exists (select 1 from conversations where contact_id = :contact)
  or exists (select 1 from tickets where contact_id = :contact)
  or exists (
    select 1
    from items as i
    where i.contact_id = :contact
    and not ",
        is_pending!(":workspace", "i.delivery_id"),
        ") as is_left"
    ));

    static HOLDS: Sql = sql("
delete from holds
where contact_id = :contact
and connection_id = any (array(select id from connections where workspace_id = :workspace)) -- postgres
and connection_id in (select id from connections where workspace_id = :workspace)           -- sqlite");

    static KEYS: Sql = sql("
delete from contact_keys
where contact_id = :contact
and (workspace_id = :workspace) is true");

    static SHARED_KEYS: Sql = sql("
delete from shared_keys
where contact_id = :contact
and (workspace_id = :workspace) is true");

    static CONTACT: Sql = sql("
delete from contacts
where id = :contact
and workspace_id = :workspace");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Runs the next step of an erasure, a bounded transaction. The erasure is done when a step
    /// finds nothing left to do.
    /// Fails with [`StoreError::Contended`] if a message of the person got another external id
    /// meanwhile.
    pub async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError> {
        let (person, now) = (person.clone(), self.clock.now());
        // `None` keeps the contact, and the record stays open.
        let remaining = match extent {
            Extent::ButContact => None,
            Extent::Whole(remaining) => Some(remaining.clone()),
        };
        let step: EraseStep = steps!(self.database.write(Of(&[person.workspace])), |tx| {
            let noted = record::lock(tx, erasure).await?;
            let mut work = ErasureTx {
                tx,
                person: &person,
                now,
            };
            let (erased, done) = match (next(&mut work).await?, &remaining) {
                (Some(erased), _) => (erased, false),
                (None, None) => (Erased::default(), true),
                (None, Some(remaining)) => match contact(&mut work).await? {
                    Some(erased) => {
                        record::end(work.tx, erasure, now, remaining).await?;
                        (erased, true)
                    }
                    None => (Erased::default(), false),
                },
            };
            record::note(work.tx, erasure, noted, &erased).await?;
            Ok(EraseStep {
                erased,
                done,
                at: now,
            })
        })
        .await?;
        if step.done && matches!(extent, Extent::Whole(_)) {
            // It still contains the removed rows.
            self.database.empty_log().await?;
        }
        Ok(step)
    }
}

/// Removes the next kind of rows, except the contact. Returns `None` if nothing is left.
async fn next(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let found = dialogue::messages(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = dialogue::errors(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = dialogue::conversations(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = deals(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    let found = dialogue::tickets(work).await?;
    if found.is_some() {
        return Ok(found);
    }
    raw::linked(work).await
}

async fn deals(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let found = work
        .ids_of_contact(&DEALS, limits::ERASED_WHOLE_AT_ONCE)
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let workspace = work.person.workspace;
    let removed = remove::deals(work.tx, workspace, &found, work.now).await?;
    Ok(Some(removed))
}

/// Removes the contact itself. Returns `None` if something is attached to it again.
async fn contact(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let args = args! { workspace: work.person.workspace, contact: work.person.id };
    work.tx.run(&LOCK_CONTACT, &args).await?;
    let is_left = work.tx.only(&LEFT, &args, |row| row.get("is_left")).await?;
    if is_left {
        return Ok(None);
    }
    let mut gone = [0; 5];
    let receipts = &repairs::ERASE_OF_CONTACT;
    let all = [&HOLDS, &KEYS, &SHARED_KEYS, receipts, &CONTACT];
    for (sql, count) in all.into_iter().zip(&mut gone) {
        *count = work.tx.run(sql, &args).await?;
    }
    let [holds, own_keys, shared_keys, repair_changes, contacts] = gone;
    if contacts > 0 {
        let mut rows = Removal::default();
        rows.remove(Entity::Contacts, &[work.person.id.0]);
        work.bury(&rows).await?;
    }
    Ok(Some(Erased {
        contacts,
        contact_keys: own_keys + shared_keys,
        holds,
        repair_changes,
        ..Erased::default()
    }))
}

pub fn statements() -> Vec<&'static Sql> {
    [
        SQL,
        erasing::SQL,
        count::SQL,
        person::SQL,
        raw::SQL,
        record::SQL,
        standing::SQL,
        dialogue::SQL,
    ]
    .concat()
}
