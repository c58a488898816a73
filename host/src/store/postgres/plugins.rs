//! Components by their digest, which of them serve, and which files were refused.

use sqlx::Row as _;

use super::columns;
use super::db::{Db, Rows};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::plugins::{activation, record, refusal};
use crate::store::{Activation, PluginRecord, Refusal, StoreError};

const PUT: &str = "
insert into plugins (digest, description, contract, bytes, checks, golden, origin, stored_at, wasm,
  publisher)
values ($1, $2::json, $3, $4, $5::json, $6, $7, $8, $9, $10)
on conflict (digest) do nothing";

pub async fn put(db: &Db, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError> {
    sqlx::query(PUT)
        .bind(&plugin.digest.0)
        .bind(columns::json(&plugin.description)?)
        .bind(&plugin.contract)
        .bind(i64::try_from(plugin.bytes).unwrap_or(i64::MAX))
        .bind(columns::json(&plugin.checks)?)
        .bind(i64::from(plugin.golden))
        .bind(columns::text(&plugin.origin))
        .bind(columns::at(plugin.stored_at))
        .bind(wasm)
        .bind(plugin.publisher.text())
        .execute(db.pool())
        .await?;
    Ok(())
}

const ONE: &str = "
select digest, description, contract, bytes, checks, golden, origin, publisher, stored_at
from plugins
where digest = $1";

pub async fn one(db: &Db, digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
    sqlx::query(ONE)
        .bind(&digest.0)
        .fetch_optional(db.pool())
        .await?
        .as_ref()
        .map(record)
        .transpose()
}

const WASM: &str = "
select wasm
from plugins
where digest = $1";

pub async fn wasm(db: &Db, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query(WASM)
        .bind(&digest.0)
        .fetch_optional(db.pool())
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

const LIST: &str = "
select digest, description, contract, bytes, checks, golden, origin, publisher, stored_at
from plugins
order by stored_at, digest collate \"C\"";

pub async fn list(db: &Db) -> Result<Vec<PluginRecord>, StoreError> {
    sqlx::query(LIST)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(record)
        .collect()
}

const ACTIVATIONS: &str = "
select name, digest, previous, generation, activated_at
from activations
order by name collate \"C\"";

pub async fn activations(db: &Db) -> Result<Vec<Activation>, StoreError> {
    // Every host looks here from time to time, also while requests fill the pool.
    sqlx::query(ACTIVATIONS)
        .fetch_all(db.aside())
        .await?
        .iter()
        .map(activation)
        .collect()
}

// One host at a time: two that read the greatest generation at once would both
// give the next one. Readers are not held up.
const ONE_AT_A_TIME: &str = "lock table activations in share row exclusive mode";

// The generation grows over all plugins, so that it orders every activation.
const ACTIVATE: &str = "
insert into activations (name, digest, previous, generation, activated_at)
values ($1, $2, null, (select coalesce(max(generation), 0) + 1 from activations), $3)
on conflict (name) do update
set previous = activations.digest, digest = excluded.digest, generation = excluded.generation,
  activated_at = excluded.activated_at
where activations.digest <> excluded.digest";

const ACTIVATION: &str = "
select name, digest, previous, generation, activated_at
from activations
where name = $1";

/// What serves already is answered as it is.
pub async fn activate(
    db: &Db,
    name: &str,
    digest: &Digest,
    now: Micros,
) -> Result<Activation, StoreError> {
    let mut transaction = db.begin(Rows::Exempt).await?;
    sqlx::query(ONE_AT_A_TIME)
        .execute(&mut *transaction)
        .await?;
    sqlx::query(ACTIVATE)
        .bind(name)
        .bind(&digest.0)
        .bind(columns::at(now))
        .execute(&mut *transaction)
        .await?;
    let row = sqlx::query(ACTIVATION)
        .bind(name)
        .fetch_one(&mut *transaction)
        .await?;
    let activation = activation(&row)?;
    transaction.commit().await?;
    Ok(activation)
}

const NOTE_REFUSAL: &str = "
insert into refusals (origin, digest, reason, at)
values ($1, $2, $3, $4)";

// Counted, since numbers that were given to a transaction that failed are missing.
const FORGET_REFUSALS: &str = "
delete from refusals
where number <= (select number from refusals order by number desc offset $1 limit 1)";

pub async fn note_refusal(db: &Db, refusal: &Refusal) -> Result<(), StoreError> {
    let mut transaction = db.begin(Rows::Exempt).await?;
    sqlx::query(NOTE_REFUSAL)
        .bind(columns::text(&refusal.origin))
        .bind(refusal.digest.as_ref().map(|digest| digest.0.as_str()))
        .bind(columns::text(&refusal.reason))
        .bind(columns::at(refusal.at))
        .execute(&mut *transaction)
        .await?;
    sqlx::query(FORGET_REFUSALS)
        .bind(i64::from(limits::REFUSALS))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

const REFUSALS: &str = "
select origin, digest, reason, at
from refusals
order by number desc";

/// Newest first.
pub async fn refusals(db: &Db) -> Result<Vec<Refusal>, StoreError> {
    sqlx::query(REFUSALS)
        .fetch_all(db.pool())
        .await?
        .iter()
        .map(refusal)
        .collect()
}

pub(super) const SQL: &[&str] = &[
    PUT,
    ONE,
    WASM,
    LIST,
    ACTIVATIONS,
    ACTIVATE,
    ACTIVATION,
    NOTE_REFUSAL,
    FORGET_REFUSALS,
    REFUSALS,
];
