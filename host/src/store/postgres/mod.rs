//! The parts of the store that only PostgreSQL has: many hosts on one database.
//! Connections and transactions, the commit status of a lost commit, announcements and
//! proposals of hosts, rates over all hosts, and opening. The operations are in
//! `operations`.
//!
//! Rows of a tenant are touched in a transaction that names its workspaces
//! ([`db::Rows`]). Tables that belong to no tenant are read without one.

pub(super) mod columns;
mod commit;
mod commit_status;
mod db;
pub(super) mod error;
pub(super) mod health;
pub(super) mod hosts;
mod open;
pub(super) mod rate;
pub(super) mod run;
mod server;

use std::sync::Arc;

pub(super) use self::commit::commit;
pub use self::db::HELLO;
pub(super) use self::db::{Db, Rows, SCHEMA, Transaction};
pub(super) use self::open::{let_others_open, note_newest};
use super::database::Database;
use super::high_water::HighWater;
use super::operations;
use super::roles::DatabaseStore;
use super::sql::Dialect;
use super::{Store, StoreError};
use crate::clock::SharedClock;

/// Opens the store in the database of this URL, and creates what is missing there. Uses
/// at most this many connections.
///
/// # Errors
///
/// `Open` if the database cannot be reached or used.
pub async fn open(
    url: &str,
    connections: u32,
    clock: SharedClock,
) -> Result<Arc<dyn Store>, StoreError> {
    Ok(open_seen(url, connections, clock, HighWater::nothing()).await?)
}

/// Opens the store and compares it with the record of its last known state.
///
/// # Errors
///
/// [`StoreError::Open`] if the database cannot be used, and [`StoreError`] if it fails.
pub(super) async fn open_seen(
    url: &str,
    connections: u32,
    clock: SharedClock,
    seen: Arc<HighWater>,
) -> Result<Arc<DatabaseStore>, StoreError> {
    let db = Arc::new(Db::new(url, connections, Arc::clone(&seen))?);
    let id = open::prepare(&db, clock.as_ref()).await?;
    let (sight, recorded) = open::look(&db, id).await?;
    seen.meets(sight, recorded.as_deref(), clock.now());
    tokio::spawn(open::keep_noting(Arc::downgrade(&db)));
    db.reach().watch(db.options());
    Ok(DatabaseStore::new(Database::Postgres(db), clock, id))
}

/// Returns a connection as the owner of the tables, with the schema up to date. Until it
/// is closed or [`let_others_open`] is called, other hosts wait with opening the store.
///
/// # Errors
///
/// [`StoreError::Open`] if the schema cannot be used or brought up to date, and
/// [`StoreError`] if the database fails.
pub(super) async fn owner(url: &str) -> Result<sqlx::postgres::PgConnection, StoreError> {
    open::bring_up_to_date(&Db::new(url, 1, HighWater::nothing())?).await
}

/// Returns every statement by its area. For tests that run them against a server.
#[doc(hidden)]
pub fn statements() -> Vec<(&'static str, &'static str)> {
    let own = STATEMENTS
        .iter()
        .flat_map(|(area, statements)| statements.iter().map(|sql| (*area, *sql)));
    own.chain(operations::statements(Dialect::Postgres))
        .collect()
}

const STATEMENTS: &[(&str, &[&str])] = &[
    ("hosts", hosts::SQL),
    ("open", open::SQL),
    ("commit_status", commit_status::SQL),
    ("rate", rate::SQL),
    ("health", health::SQL),
    ("server", server::SQL),
];
