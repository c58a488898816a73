//! The record of an erasure: begun once, noted with every step, ended with the last.

use sqlx::sqlite::SqliteConnection;

use super::raw;
use crate::domain::id::{ContactId, ErasureId, WorkspaceId};
use crate::domain::time::Micros;
use crate::store::erase::left_by;
use crate::store::row::Columns as _;
use crate::store::row::erase::erasure;
use crate::store::sqlite::db::Db;
use crate::store::sqlite::json;
use crate::store::{
    Erased, Erasure, ErasureFilter, NewErasure, Remaining, StandingDelivery, StoreError,
};

macro_rules! erasures {
    ($rest:literal) => {
        concat!(
            "
select id, workspace_id, contact_id, found_by, key_id, began_at, done_at,
  erased, remaining
from erasures
",
            $rest
        )
    };
}

const UNFINISHED: &str = erasures!(
    "where contact_id = ?1
and done_at is null
order by id
limit 1"
);

const BEGIN: &str = "
insert into erasures (workspace_id, id, contact_id, found_by, key_id, began_at, erased, remaining)
values (?1, ?2, ?3, ?4, ?5, ?6, '{}', '{}')";

/// The one of this contact that was interrupted, or a new one.
pub async fn begin(db: &Db, new: &NewErasure) -> Result<Erasure, StoreError> {
    let mut transaction = db.begin().await?;
    let connection = &mut transaction.connection;
    let before = sqlx::query(UNFINISHED)
        .bind(new.contact.to_string())
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = before {
        let known = erasure(&row)?;
        transaction.rollback().await?;
        return Ok(known);
    }
    sqlx::query(BEGIN)
        .bind(new.workspace.to_string())
        .bind(new.id.to_string())
        .bind(new.contact.to_string())
        .bind(new.found_by.as_str())
        .bind(new.key.to_string())
        .bind(new.began_at.0)
        .execute(&mut *connection)
        .await?;
    transaction.commit().await?;
    Ok(Erasure {
        id: new.id,
        workspace_id: new.workspace,
        contact_id: new.contact,
        found_by: new.found_by,
        key_id: new.key,
        began_at: new.began_at,
        done_at: None,
        erased: Erased::default(),
        remaining: Remaining::default(),
    })
}

const NOTED: &str = "
select erased
from erasures
where id = ?1";

const NOTE: &str = "
update erasures
set erased = ?2
where id = ?1";

/// Adds what went to the record.
pub async fn note(
    connection: &mut SqliteConnection,
    erasure: ErasureId,
    erased: &Erased,
) -> Result<(), StoreError> {
    if erased.is_empty() {
        return Ok(());
    }
    let row = sqlx::query(NOTED)
        .bind(erasure.to_string())
        .fetch_one(&mut *connection)
        .await?;
    let mut sum: Erased = row.json("erased")?;
    sum.add(erased);
    sqlx::query(NOTE)
        .bind(erasure.to_string())
        .bind(json(&sum)?)
        .execute(connection)
        .await?;
    Ok(())
}

const END: &str = "
update erasures
set done_at = ?2, remaining = ?3
where id = ?1";

pub async fn end(
    connection: &mut SqliteConnection,
    erasure: ErasureId,
    now: Micros,
    remaining: &Remaining,
) -> Result<(), StoreError> {
    sqlx::query(END)
        .bind(erasure.to_string())
        .bind(now.0)
        .bind(json(remaining)?)
        .execute(connection)
        .await?;
    Ok(())
}

// Every id is before this letter.
const ALL: &str = erasures!(
    "where id < coalesce(?1, 'g')
order by id desc
limit ?2"
);

const OF_WORKSPACE: &str = erasures!(
    "where workspace_id = ?3
and id < coalesce(?1, 'g')
order by id desc
limit ?2"
);

pub async fn list(db: &Db, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
    let before = filter.before.map(|id| id.to_string());
    let limit = i64::from(filter.limit);
    let found = match filter.workspace {
        Some(workspace) => sqlx::query(OF_WORKSPACE)
            .bind(before)
            .bind(limit)
            .bind(workspace.to_string()),
        None => sqlx::query(ALL).bind(before).bind(limit),
    };
    let mut snapshot = db.readers().begin().await?;
    let found = found.fetch_all(&mut *snapshot).await?;
    let mut all: Vec<Erasure> = found.iter().map(erasure).collect::<Result<_, _>>()?;
    let standing = raw::standing(&mut snapshot, &left_by(&all)).await?;
    let standing = standing.iter().map(|one| (one.id, one.status)).collect();
    for erasure in &mut all {
        erasure.remaining.keep(&standing);
    }
    Ok(all)
}

const OF_CONTACT: &str = erasures!(
    "where contact_id = ?2
and +workspace_id = ?1
order by id"
);

/// What erasures of this contact left and is still there.
pub async fn left(
    db: &Db,
    workspace: WorkspaceId,
    contact: ContactId,
) -> Result<Vec<StandingDelivery>, StoreError> {
    let mut snapshot = db.readers().begin().await?;
    let found = sqlx::query(OF_CONTACT)
        .bind(workspace.to_string())
        .bind(contact.to_string())
        .fetch_all(&mut *snapshot)
        .await?;
    let all: Vec<Erasure> = found.iter().map(erasure).collect::<Result<_, _>>()?;
    raw::standing(&mut snapshot, &left_by(&all)).await
}

#[cfg(test)]
pub(super) const SQL: &[&str] = &[
    UNFINISHED,
    BEGIN,
    NOTED,
    NOTE,
    END,
    ALL,
    OF_WORKSPACE,
    OF_CONTACT,
];
