//! The record of an erasure: begun once, locked and noted with every step, ended with
//! the last.

use sqlx::postgres::PgConnection;

use super::raw;
use crate::domain::id::{ContactId, ErasureId, WorkspaceId};
use crate::domain::time::Micros;
use crate::store::erase::left_by;
use crate::store::postgres::columns::{at, json};
use crate::store::postgres::db::{Db, Rows};
use crate::store::row::Columns as _;
use crate::store::row::erase::erasure;
use crate::store::{
    Erased, Erasure, ErasureFilter, NewErasure, Remaining, StandingDelivery, StoreError,
};

macro_rules! erasures {
    ($rest:literal) => {
        concat!(
            "
select id, workspace_id, contact_id, found_by, key_id, began_at, done_at, erased, remaining
from erasures
",
            $rest
        )
    };
}

const UNFINISHED: &str = erasures!(
    "where contact_id = $2
and (workspace_id = $1) is true
and done_at is null
order by id
limit 1"
);

// Two who begin at once take turns, so that there is one record of it.
const LOCK_CONTACT: &str = "
select id
from contacts
where workspace_id = $1
and id = $2
for update";

const BEGIN: &str = "
insert into erasures (workspace_id, id, contact_id, found_by, key_id, began_at, erased, remaining)
values ($1, $2, $3, $4, $5, $6, '{}', '{}')";

/// The one of this contact that was interrupted, or a new one.
pub async fn begin(db: &Db, new: &NewErasure) -> Result<Erasure, StoreError> {
    let mut transaction = db.begin(Rows::Of(&[new.workspace])).await?;
    sqlx::query(LOCK_CONTACT)
        .bind(new.workspace.0)
        .bind(new.contact.0)
        .execute(&mut *transaction)
        .await?;
    let before = sqlx::query(UNFINISHED)
        .bind(new.workspace.0)
        .bind(new.contact.0)
        .fetch_optional(&mut *transaction)
        .await?;
    if let Some(row) = before {
        transaction.rollback().await?;
        return erasure(&row);
    }
    sqlx::query(BEGIN)
        .bind(new.workspace.0)
        .bind(new.id.0)
        .bind(new.contact.0)
        .bind(new.found_by.as_str())
        .bind(new.key.0)
        .bind(at(new.began_at))
        .execute(&mut *transaction)
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

const LOCK: &str = "
select erased
from erasures
where id = $1
for update";

/// Locks the record; what it notes so far.
pub async fn lock(connection: &mut PgConnection, erasure: ErasureId) -> Result<Erased, StoreError> {
    let row = sqlx::query(LOCK)
        .bind(erasure.0)
        .fetch_one(connection)
        .await?;
    row.json("erased")
}

const NOTE: &str = "
update erasures
set erased = $2::json
where id = $1";

/// Adds what went to what was noted.
pub async fn note(
    connection: &mut PgConnection,
    erasure: ErasureId,
    mut noted: Erased,
    erased: &Erased,
) -> Result<(), StoreError> {
    if erased.is_empty() {
        return Ok(());
    }
    noted.add(erased);
    sqlx::query(NOTE)
        .bind(erasure.0)
        .bind(json(&noted)?)
        .execute(connection)
        .await?;
    Ok(())
}

const END: &str = "
update erasures
set done_at = $2, remaining = $3::json
where id = $1";

pub async fn end(
    connection: &mut PgConnection,
    erasure: ErasureId,
    now: Micros,
    remaining: &Remaining,
) -> Result<(), StoreError> {
    sqlx::query(END)
        .bind(erasure.0)
        .bind(at(now))
        .bind(json(remaining)?)
        .execute(connection)
        .await?;
    Ok(())
}

const ALL: &str = erasures!(
    "where ($1::uuid is null or id < $1)
order by id desc
limit $2"
);

const OF_WORKSPACE: &str = erasures!(
    "where workspace_id = $3
and ($1::uuid is null or id < $1)
order by id desc
limit $2"
);

pub async fn list(db: &Db, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
    let mut snapshot = db.snapshot(Rows::All).await?;
    let before = filter.before.map(|id| id.0);
    let limit = i64::from(filter.limit);
    let found = match filter.workspace {
        Some(workspace) => sqlx::query(OF_WORKSPACE)
            .bind(before)
            .bind(limit)
            .bind(workspace.0),
        None => sqlx::query(ALL).bind(before).bind(limit),
    };
    let found = found.fetch_all(&mut *snapshot).await?;
    let mut all: Vec<Erasure> = found.iter().map(erasure).collect::<Result<_, _>>()?;
    let standing = raw::standing(&mut snapshot, &left_by(&all)).await?;
    snapshot.rollback().await?;
    let standing = standing.iter().map(|one| (one.id, one.status)).collect();
    for erasure in &mut all {
        erasure.remaining.keep(&standing);
    }
    Ok(all)
}

const OF_CONTACT: &str = erasures!(
    "where contact_id = $2
and (workspace_id = $1) is true
order by id"
);

/// What erasures of this contact left and is still there.
pub async fn left(
    db: &Db,
    workspace: WorkspaceId,
    contact: ContactId,
) -> Result<Vec<StandingDelivery>, StoreError> {
    let mut snapshot = db.snapshot(Rows::Of(&[workspace])).await?;
    let found = sqlx::query(OF_CONTACT)
        .bind(workspace.0)
        .bind(contact.0)
        .fetch_all(&mut *snapshot)
        .await?;
    let all: Vec<Erasure> = found.iter().map(erasure).collect::<Result<_, _>>()?;
    let standing = raw::standing(&mut snapshot, &left_by(&all)).await?;
    snapshot.rollback().await?;
    Ok(standing)
}

pub(super) const SQL: &[&str] = &[
    UNFINISHED,
    LOCK_CONTACT,
    BEGIN,
    LOCK,
    NOTE,
    END,
    ALL,
    OF_WORKSPACE,
    OF_CONTACT,
];
