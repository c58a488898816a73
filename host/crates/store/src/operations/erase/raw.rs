//! Raw deliveries about a person. A delivery that also led to others is emptied rather than
//! removed, so that its results for the others remain visible.

use super::{
    erasing::{ErasureTx, LOCK_WORK, WORK},
    record,
};
use crate::erase::EMPTIED;
use crate::operations::prelude::*;
use crate::operations::remove::rows_of;
use crate::sql::Json;
use crate::{Erased, Person, StandingDelivery, UnlinkedDelivery, UnlinkedPage};

// Whether a delivery also led to another contact, or has an item whose contact is not known yet.
macro_rules! is_shared {
    ($workspace:literal, $delivery:literal, $contact:literal) => {
        has_item!(
            $workspace,
            $delivery,
            "(one.contact_id <> ",
            $contact,
            " or (one.contact_id is null and one.status = 'waiting'))"
        )
    };
}

statements! {
    static LINKED: Sql = sql(concat!(
        "
select distinct i.delivery_id as id
from items as i
where i.contact_id = :contact
and (i.workspace_id = :workspace) is true
and not ",
        is_pending!(":workspace", "i.delivery_id"),
        "
order by i.delivery_id
limit :limit"
    ));

    // A delivery may have become pending since it was found.
    static PENDING: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid)
select each.id
from each
where ",
        is_pending!("each.workspace_id", "each.id")
    ));

    static LOCK: Sql = sql("
each (workspace_id uuid, id uuid)                        -- postgres
select d.id                                              -- postgres
from each                                                -- postgres
join deliveries as d                                     -- postgres
  on d.workspace_id = each.workspace_id                  -- postgres
  and d.id = each.id                                     -- postgres
order by d.id                                            -- postgres
for update of d                                          -- postgres
");

    static SHARED: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid, contact_id uuid)
select each.id
from each
where ",
        is_shared!("each.workspace_id", "each.id", "each.contact_id")
    ));

    static COUNT: Sql = sql(concat!(
        "
with own as (
  select distinct i.delivery_id as id
  from items as i
  where i.contact_id = :contact
  and (i.workspace_id = :workspace) is true
  and not ",
        is_pending!(":workspace", "i.delivery_id"),
        "
)
select (select count(*) from own) as linked,
  (select count(*) from own where ",
        is_shared!(":workspace", "own.id", ":contact"),
        ") as shared,
  (select count(*) from own
    fenced join answers as a
      on a.delivery_id = own.id
      and a.workspace_id = :workspace                    -- postgres
    where a.item in (
      select i.item
      from items as i
      where i.workspace_id = :workspace
      and i.delivery_id = own.id
      and i.contact_id = :contact
      offset 0                                           -- postgres
    )
    or not ",
        is_shared!(":workspace", "own.id", ":contact"),
        ") as answers"
    ));

    static ANSWERS_OF_ITEMS: Sql = sql("
each (workspace_id uuid, id uuid, contact_id uuid)
delete from answers as gone
using each                                                         -- postgres
join items as i                                                    -- postgres
  on i.workspace_id = each.workspace_id                            -- postgres
  and i.delivery_id = each.id                                      -- postgres
  and i.contact_id is not distinct from each.contact_id            -- postgres
where gone.workspace_id = i.workspace_id                           -- postgres
and gone.delivery_id = i.delivery_id                               -- postgres
and gone.item = i.item                                             -- postgres
where delivery_id = :id                                            -- sqlite
and workspace_id = :workspace_id                                   -- sqlite
and item in (                                                      -- sqlite
  select i.item                                                    -- sqlite
  from items as i                                                  -- sqlite
  where i.delivery_id = :id                                        -- sqlite
  and i.contact_id is not distinct from :contact_id)               -- sqlite
");

    static ITEMS_OF: Sql = sql("
each (workspace_id uuid, id uuid, contact_id uuid)
delete from items as gone
using each                                                         -- postgres
where gone.workspace_id = each.workspace_id                        -- postgres
and gone.delivery_id = each.id                                     -- postgres
and gone.contact_id is not distinct from each.contact_id           -- postgres
where delivery_id = :id                                            -- sqlite
and workspace_id = :workspace_id                                   -- sqlite
and contact_id is not distinct from :contact_id                    -- sqlite
");

    static EMPTY: Sql = sql("
each (workspace_id uuid, id uuid, notes json)
update deliveries as d
set query = '[]', headers = '[]', body_bytes = 0, presented = null, peer = null, error = null,
  notes = each.notes, body = ''                                    -- postgres
  notes = each.notes, body = x''                                   -- sqlite
from each
where d.workspace_id = each.workspace_id
and d.id = each.id
and (d.body_bytes > 0 or d.query::text <> '[]' or d.headers::text <> '[]')");

    static ITEMS: Sql = made(|| schema::ITEMS.remove_with("delivery_id"));
    static KEYS: Sql = made(|| schema::DELIVERY_KEYS.remove_with("delivery_id"));
    static FETCHES: Sql = made(|| schema::FETCHES.remove_with("delivery_id"));
    static ANSWERS: Sql = made(|| schema::ANSWERS.remove_with("delivery_id"));
    static DELIVERIES: Sql = made(|| schema::DELIVERIES.remove_with("id"));

    // The contacts of an unfinished delivery are not known yet.
    static LED: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid)
select d.id
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id
where d.status in ('converted', 'duplicate', 'rejected', 'ignored')
and ",
        has_led!()
    ));

    // On SQLite the page covers all workspaces, so that it follows the order of ids and is bounded.
    // Deliveries of other workspaces are skipped.
    static PAGE: Sql = sql(concat!(
        "
select d.id, d.body_bytes,
  d.workspace_id = :workspace and (
  ",
        is_pending!(d),
        "
  or (
    select min(case when i.contact_id is null then 0 else 1 end) = 1
      or max(case when i.contact_id = :contact then 1 else 0 end) = 1
    from items as i
    where i.workspace_id = d.workspace_id
    and i.delivery_id = d.id
  ) is not true) as wanted
from deliveries as d
where d.id > :after
and d.workspace_id = :workspace                          -- postgres
order by d.id
limit :limit"
    ));

    static RAW: Sql = sql(concat!(
        "
each (workspace_id uuid, id uuid, contact_id uuid)
select d.id, d.status, d.query::text as query, d.headers::text as headers,
  ",
        has_led!(),
        " as shared,
  ",
        is_pending!(d),
        " as pending,
  ",
        has_item!("d.workspace_id", "d.id", "one.contact_id = each.contact_id"),
        " as own,
  d.body
from each
ordered join deliveries as d
  on d.workspace_id = each.workspace_id
  and d.id = each.id
order by d.id"
    ));
}

pub async fn count(tx: &mut Tx, person: &Person) -> Result<Erased, StoreError> {
    let args = args! { workspace: person.workspace, contact: person.id };
    tx.only(&COUNT, &args, |row| {
        let (linked, shared): (u64, u64) = (row.get("linked")?, row.get("shared")?);
        Ok(Erased {
            deliveries: linked.saturating_sub(shared),
            shared_deliveries: shared,
            fetch_answers: row.get("answers")?,
            ..Erased::default()
        })
    })
    .await
}

/// Removes or empties deliveries that led to the person.
pub async fn linked(work: &mut ErasureTx<'_>) -> Result<Option<Erased>, StoreError> {
    let most = limits::ERASED_WHOLE_AT_ONCE;
    let mut all = work.ids_of_contact(&LINKED, most).await?;
    if all.is_empty() {
        return Ok(None);
    }
    let (workspace, contact) = (work.person.workspace, work.person.id);
    lock(work.tx, workspace, &all).await?;
    let pending = work.ids_of(&PENDING, &all).await?;
    all.retain(|id| !pending.contains(id));
    let wanted: Vec<_> = all
        .iter()
        .map(|&id| args! { workspace_id: workspace, id, contact_id: contact })
        .collect();
    let shared: Vec<Uuid> = work
        .tx
        .rows_each(&SHARED, &wanted, |row| row.get("id"))
        .await?;
    let own: Vec<Uuid> = all.into_iter().filter(|id| !shared.contains(id)).collect();
    let mut erased = remove(work.tx, workspace, &own).await?;
    erased.add(&empty(work.tx, workspace, &shared, Some(contact)).await?);
    Ok(Some(erased))
}

/// Empties deliveries that also led to other contacts, and removes the items of `contact` with
/// their answers, or those without a contact if it is `None`.
async fn empty(
    tx: &mut Tx,
    workspace: WorkspaceId,
    shared: &[Uuid],
    contact: Option<ContactId>,
) -> Result<Erased, StoreError> {
    let notes = json(&[EMPTIED])?;
    let wanted: Vec<_> = shared
        .iter()
        .map(|&id| args! { workspace_id: workspace, id, contact_id: contact, notes: notes.clone() })
        .collect();
    let fetch_answers = tx.run_each(&ANSWERS_OF_ITEMS, &wanted).await?;
    tx.run_each(&ITEMS_OF, &wanted).await?;
    tx.run_each(&KEYS, &rows_of(workspace, shared)).await?;
    let shared_deliveries = tx.run_each(&EMPTY, &wanted).await?;
    Ok(Erased {
        shared_deliveries,
        fetch_answers,
        ..Erased::default()
    })
}

/// Empties deliveries that name an erased person.
pub async fn empty_bodies(
    tx: &mut Tx,
    deliveries: &BTreeSet<(WorkspaceId, DeliveryId)>,
) -> Result<(), StoreError> {
    let notes = json(&[EMPTIED])?;
    let all: Vec<_> = deliveries
        .iter()
        .map(|&(workspace_id, id)| args! { workspace_id, id, notes: notes.clone() })
        .collect();
    let ids: Vec<_> = deliveries
        .iter()
        .map(|&(workspace_id, id)| args! { workspace_id, id })
        .collect();
    tx.run_each(&EMPTY, &all).await?;
    tx.run_each(&KEYS, &ids).await?;
    Ok(())
}

/// Locks the deliveries and their work. Waits until transactions that work on them have ended.
async fn lock(tx: &mut Tx, workspace: WorkspaceId, deliveries: &[Uuid]) -> Result<(), StoreError> {
    let wanted = rows_of(workspace, deliveries);
    tx.run_each(&LOCK_WORK, &wanted).await?;
    tx.run_each(&LOCK, &wanted).await?;
    Ok(())
}

async fn remove(
    tx: &mut Tx,
    workspace: WorkspaceId,
    deliveries: &[Uuid],
) -> Result<Erased, StoreError> {
    let wanted = rows_of(workspace, deliveries);
    let mut gone = [0; 6];
    let all = [&ITEMS, &FETCHES, &WORK, &KEYS, &ANSWERS, &DELIVERIES];
    for (sql, count) in all.into_iter().zip(&mut gone) {
        *count = tx.run_each(sql, &wanted).await?;
    }
    let [_, _, _, _, fetch_answers, deliveries] = gone;
    Ok(Erased {
        deliveries,
        fetch_answers,
        ..Erased::default()
    })
}

#[leadhost_boxed::boxed]
impl Store {
    /// Removes whole deliveries, in any state, as part of an erasure. Finished deliveries that led
    /// to a contact are emptied instead.
    pub async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError> {
        let ids = ids.to_vec();
        steps!(self.database.write(Of(&[workspace])), |tx| {
            let noted = record::lock(tx, erasure).await?;
            let mut ids: Vec<Uuid> = ids.into_iter().map(|id| id.0).collect();
            ids.sort_unstable();
            lock(tx, workspace, &ids).await?;
            let led: Vec<Uuid> = tx
                .rows_each(&LED, &rows_of(workspace, &ids), |row| row.get("id"))
                .await?;
            ids.retain(|id| !led.contains(id));
            let mut erased = remove(tx, workspace, &ids).await?;
            erased.add(&empty(tx, workspace, &led, None).await?);
            record::note(tx, erasure, noted, &erased).await?;
            Ok(erased)
        })
        .await
    }

    /// Returns the next deliveries of a workspace, by id, that led to no contact, or partly to
    /// contacts other than this one.
    pub async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError> {
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let args = args! {
                workspace,
                contact,
                after: after.map_or(Uuid::nil(), |id| id.0),
                limit: limits::SEARCHED_AT_ONCE,
            };
            let page: Vec<(Uuid, u64, bool)> = tx
                .rows(&PAGE, &args, cells!("id", "body_bytes", "wanted"))
                .await?;
            let full = page.len() == limits::SEARCHED_AT_ONCE as usize;
            let (mut wanted, mut bytes, mut next) = (Vec::new(), 0, None);
            for &(id, of_body, is_wanted) in &page {
                if bytes > limits::SEARCHED_BYTES {
                    break;
                }
                next = Some(id);
                if is_wanted {
                    bytes += of_body;
                    wanted.push(args! { workspace_id: workspace, id, contact_id: contact });
                }
            }
            let is_last = !full && next == page.last().map(|(id, ..)| *id);
            Ok(UnlinkedPage {
                deliveries: tx
                    .rows_each(&RAW, &wanted, UnlinkedDelivery::from_row)
                    .await?,
                next: next.filter(|_| !is_last).map(DeliveryId),
            })
        })
        .await
    }
}

from_row! {
    UnlinkedDelivery |row| {
        standing = StandingDelivery::from_row(row)?, is_own: "own", query = row.get::<Json>("query")?.0,
        headers = row.get::<Json>("headers")?.0, body,
    }
}
