//! The parts of the store that only PostgreSQL has: many hosts on one database.
//! Connections and transactions, the commit status of a lost commit, announcements and
//! proposals of hosts, rates over all hosts, and opening. The operations are in
//! `operations`.
//!
//! Rows of a tenant are touched in a transaction that names its workspaces
//! ([`db::VisibleRows`]). Tables that belong to no tenant are read without one.

pub(super) mod columns;
mod commit;
mod commit_status;
pub(super) mod db;
pub(super) mod error;
pub(super) mod examine;
pub(super) mod health;
pub(super) mod hosts;
mod open;
pub(super) mod rate;
pub(super) mod run;
mod server;
mod statements;

use std::sync::Arc;

use uuid::Uuid;

pub(super) use self::commit::commit;
pub use self::db::HELLO;
pub(super) use self::db::{Db, SCHEMA, VisibleRows, read_url};
pub(super) use self::open::{let_others_open, note_newest};
#[doc(hidden)]
pub use self::statements::statements;
use super::StoreError;
use super::high_water_mark::HighWaterMark;
use leadhost_domain::clock::{SharedClock, boot};

/// Opens the store in the database of this URL, and creates what is missing there. Uses
/// at most this many connections. Compares the store with the high-water mark of its last
/// known state. Returns the database and the store's id.
pub(super) async fn open(
    url: &str,
    connections: u32,
    clock: &SharedClock,
    high_water_mark: Arc<HighWaterMark>,
) -> Result<(Arc<Db>, Uuid), StoreError> {
    let db = Arc::new(Db::new(url, connections, Arc::clone(&high_water_mark))?);
    let id = open::prepare(&db, clock.as_ref()).await?;
    let asked = boot();
    let now = open::time(&db).await?;
    clock.follow(now, boot().saturating_sub(asked));
    let (sight, recorded) = open::look(&db, id).await?;
    high_water_mark.meets(sight, recorded.as_deref(), clock.now());
    tokio::spawn(open::keep_noting(Arc::downgrade(&db)));
    db.health().watch(db.options());
    Ok((db, id))
}

/// Returns a connection as the owner of the tables, with the schema up to date. Until it
/// is closed or [`let_others_open`] is called, other hosts wait with opening the store.
pub(super) async fn owner(url: &str) -> Result<sqlx::postgres::PgConnection, StoreError> {
    open::bring_up_to_date(&Db::new(url, 1, HighWaterMark::in_memory())?).await
}
