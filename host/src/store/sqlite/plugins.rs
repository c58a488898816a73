//! Components by their digest, which of them serve, and which files were refused.

use sqlx::Row as _;

use super::db::Db;
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::limits;
use crate::store::row::plugins::{activation, record, refusal};
use crate::store::{Activation, PluginRecord, Refusal, StoreError};

const PUT: &str = "
insert into plugins (digest, description, contract, bytes, checks, golden, origin, stored_us, wasm,
  publisher)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
on conflict (digest) do nothing";

pub async fn put(db: &Db, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(PUT)
        .bind(&plugin.digest.0)
        .bind(super::json(&plugin.description)?)
        .bind(&plugin.contract)
        .bind(i64::try_from(plugin.bytes).unwrap_or(i64::MAX))
        .bind(super::json(&plugin.checks)?)
        .bind(i64::from(plugin.golden))
        .bind(&plugin.origin)
        .bind(plugin.stored_at.0)
        .bind(wasm)
        .bind(plugin.publisher.text())
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

const ONE: &str = "
select digest, description, contract, bytes, checks, golden, origin, publisher,
  stored_us as stored_at
from plugins
where digest = ?1";

pub async fn one(db: &Db, digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
    sqlx::query(ONE)
        .bind(&digest.0)
        .fetch_optional(db.readers())
        .await?
        .as_ref()
        .map(record)
        .transpose()
}

const WASM: &str = "
select wasm
from plugins
where digest = ?1";

pub async fn wasm(db: &Db, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query(WASM)
        .bind(&digest.0)
        .fetch_optional(db.readers())
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

const LIST: &str = "
select digest, description, contract, bytes, checks, golden, origin, publisher,
  stored_us as stored_at
from plugins
order by stored_us, digest";

pub async fn list(db: &Db) -> Result<Vec<PluginRecord>, StoreError> {
    sqlx::query(LIST)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(record)
        .collect()
}

const ACTIVATIONS: &str = "
select name, digest, previous, generation, activated_us as activated_at
from activations
order by name";

pub async fn activations(db: &Db) -> Result<Vec<Activation>, StoreError> {
    sqlx::query(ACTIVATIONS)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(activation)
        .collect()
}

// The generation grows over all plugins, so that it orders every activation.
const ACTIVATE: &str = "
insert into activations (name, digest, previous, generation, activated_us)
values (?1, ?2, null, (select coalesce(max(generation), 0) + 1 from activations), ?3)
on conflict (name) do update
set previous = activations.digest, digest = excluded.digest, generation = excluded.generation,
  activated_us = excluded.activated_us
where activations.digest <> excluded.digest";

const ACTIVATION: &str = "
select name, digest, previous, generation, activated_us as activated_at
from activations
where name = ?1";

/// What serves already is answered as it is.
pub async fn activate(
    db: &Db,
    name: &str,
    digest: &Digest,
    now: Micros,
) -> Result<Activation, StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(ACTIVATE)
        .bind(name)
        .bind(&digest.0)
        .bind(now.0)
        .execute(&mut transaction.connection)
        .await?;
    let row = sqlx::query(ACTIVATION)
        .bind(name)
        .fetch_one(&mut transaction.connection)
        .await?;
    let activation = activation(&row)?;
    transaction.commit().await?;
    Ok(activation)
}

const NOTE_REFUSAL: &str = "
insert into refusals (origin, digest, reason, at_us)
values (?1, ?2, ?3, ?4)";

const FORGET_REFUSALS: &str = "
delete from refusals
where number <= (select max(number) from refusals) - ?1";

pub async fn note_refusal(db: &Db, refusal: &Refusal) -> Result<(), StoreError> {
    let mut transaction = db.begin().await?;
    sqlx::query(NOTE_REFUSAL)
        .bind(&refusal.origin)
        .bind(refusal.digest.as_ref().map(|digest| digest.0.as_str()))
        .bind(&refusal.reason)
        .bind(refusal.at.0)
        .execute(&mut transaction.connection)
        .await?;
    sqlx::query(FORGET_REFUSALS)
        .bind(i64::from(limits::REFUSALS))
        .execute(&mut transaction.connection)
        .await?;
    transaction.commit().await
}

const REFUSALS: &str = "
select origin, digest, reason, at_us as at
from refusals
order by number desc";

/// Newest first.
pub async fn refusals(db: &Db) -> Result<Vec<Refusal>, StoreError> {
    sqlx::query(REFUSALS)
        .fetch_all(db.readers())
        .await?
        .iter()
        .map(refusal)
        .collect()
}

#[cfg(test)]
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
