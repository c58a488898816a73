//! The record of an erasure: begun once, locked and updated by every step, ended by the last.

use super::{erasing::LOCK_CONTACT, standing};
use crate::erase::left_by;
use crate::operations::prelude::*;
use crate::sqlite::threads::End;
use crate::{Erased, Erasure, ErasureFilter, NewErasure, RemainingData, StandingDelivery};

macro_rules! erasures {
    ($rest:literal) => {
        sql(concat!(
            "
select id, workspace_id, contact_id, found_by, key_id, began_at, done_at, erased, remaining
from erasures
",
            $rest
        ))
    };
}

statements! {
    static UNFINISHED: Sql = erasures!(
        "where contact_id = :contact
and (workspace_id = :workspace) is true
and done_at is null
order by id
limit 1"
    );

    static BEGIN: Sql = sql("
insert into erasures (workspace_id, id, contact_id, found_by, key_id, began_at, erased, remaining)
values (:workspace, :id, :contact, :found_by, :key, :began_at, '{}', '{}')");

    static LOCK: Sql = sql("
select erased
from erasures
where id = :id
for update                             -- postgres
");

    static NOTE: Sql = sql("
update erasures
set erased = :erased
where id = :id");

    static END: Sql = sql("
update erasures
set done_at = :now, remaining = :remaining
where id = :id");

    static ONE: Sql = erasures!("where id = :id");

    static ALL: Sql = erasures!(
        "where id < :before
order by id desc
limit :limit"
    );

    static OF_WORKSPACE: Sql = erasures!(
        "where workspace_id = :workspace
and id < :before
order by id desc
limit :limit"
    );

    static OF_CONTACT: Sql = erasures!(
        "where contact_id = :contact
and (workspace_id = :workspace) is true
order by id"
    );
}

#[leadhost_boxed::boxed]
impl Store {
    /// Records the erasure and returns it, or returns the unfinished one of the same contact.
    pub async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError> {
        let new = new.clone();
        steps!(self.database.write_or_undo(Of(&[new.workspace])), |tx| {
            let args = args! { workspace: new.workspace, contact: new.contact };
            tx.run(&LOCK_CONTACT, &args).await?;
            let before = tx.row(&UNFINISHED, &args, Erasure::from_row).await?;
            if let Some(before) = before {
                return Ok((before, End::Undo));
            }
            let args = args! { from new: workspace, id, contact, found_by, key, began_at };
            tx.run(&BEGIN, &args).await?;
            let begun = Erasure {
                id: new.id,
                workspace_id: new.workspace,
                contact_id: new.contact,
                found_by: new.found_by,
                key_id: new.key,
                began_at: new.began_at,
                done_at: None,
                erased: Erased::default(),
                remaining: RemainingData::default(),
            };
            Ok((begun, End::Commit))
        })
        .await
    }

    /// Returns an erasure of any workspace, as [`Self::erasures`] does. `None` if there is none with this id.
    pub async fn erasure(&self, id: ErasureId) -> Result<Option<Erasure>, StoreError> {
        steps!(self.database.read(All), |tx| {
            let found = tx.rows(&ONE, &args! { id }, Erasure::from_row).await?;
            Ok(standing_alone(tx, found).await?.pop())
        })
        .await
    }

    /// Returns erasures, newest first. The deliveries that they left are shown as they are now.
    pub async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
        let filter = filter.clone();
        steps!(self.database.read_many(All), |tx| {
            // Without a given id, up to the greatest one, so that the index is walked as a
            // range.
            let before = filter.before.map_or(Uuid::max(), |id| id.0);
            let limit = filter.limit;
            let all = match filter.workspace {
                Some(workspace) => {
                    let args = args! { workspace, before, limit };
                    tx.rows(&OF_WORKSPACE, &args, Erasure::from_row).await?
                }
                None => {
                    let args = args! { before, limit };
                    tx.rows(&ALL, &args, Erasure::from_row).await?
                }
            };
            standing_alone(tx, all).await
        })
        .await
    }

    /// Returns the deliveries that erasures of this contact left behind and that still stand: they
    /// exist, part of them led to no contact, and they were not emptied.
    pub async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError> {
        steps!(self.database.read_many(Of(&[workspace])), |tx| {
            let args = args! { workspace, contact };
            let all = tx.rows(&OF_CONTACT, &args, Erasure::from_row).await?;
            standing::find(tx, &left_by(&all)).await
        })
        .await
    }
}

/// Locks the record and returns what it has noted so far.
pub async fn lock(tx: &mut Tx, id: ErasureId) -> Result<Erased, StoreError> {
    tx.only(&LOCK, &args! { id }, |row| row.get("erased")).await
}

/// Adds the removed rows to those noted before.
pub async fn note(
    tx: &mut Tx,
    id: ErasureId,
    mut noted: Erased,
    erased: &Erased,
) -> Result<(), StoreError> {
    if erased.is_empty() {
        return Ok(());
    }
    noted.add(erased);
    tx.run(&NOTE, &args! { id, erased: json(&noted)? }).await?;
    Ok(())
}

pub async fn end(
    tx: &mut Tx,
    id: ErasureId,
    now: Micros,
    remaining: &RemainingData,
) -> Result<(), StoreError> {
    let args = args! { id, now, remaining: json(remaining)? };
    tx.run(&END, &args).await?;
    Ok(())
}

/// Leaves out deliveries that erasures kept and that no longer exist.
async fn standing_alone(tx: &mut Tx, mut all: Vec<Erasure>) -> Result<Vec<Erasure>, StoreError> {
    let standing = standing::find(tx, &left_by(&all)).await?;
    let standing = standing.iter().map(|one| (one.id, one.status)).collect();
    for one in &mut all {
        one.remaining.keep(&standing);
    }
    Ok(all)
}
