//! Opens the store: brings the schema up to date, ensures that the role of the service exists,
//! and refuses what it cannot serve with an error that says what to do. Many hosts may start at
//! the same time: one migrates, the others wait.

use std::sync::Weak;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::db::{Db, ROLE, SCHEMA};
use super::{error, server};
use crate::high_water_mark::Mark;
use crate::migrations::POSTGRES as MIGRATIONS;
use crate::prelude::*;
use leadhost_domain::clock::Clock;
use leadhost_domain::id::uuid_at;

/// The oldest server version that is tested.
const OLDEST_SERVER: i32 = 150_000;

/// The advisory lock for hosts that migrate the same database. Any number that is not used
/// otherwise.
const MIGRATION_LOCK: i64 = 0x6c65_6164_686f_7374;

const SERVER: &str = "
select current_setting('server_version_num')::int, current_setting('server_version'),
  current_setting('server_encoding')";
// A host may wait for another host's migration longer than any statement of the service may take.
const PATIENCE: &str = "set lock_timeout = '120s'; set statement_timeout = '600s'";
const LOCK: &str = "select pg_advisory_lock($1)";
const UNLOCK: &str = "select pg_advisory_unlock($1)";
const SCHEMA_VERSION: &str = "select coalesce(max(version), 0) from schema_versions";
// From version 16 on, a member may lack the right to switch to the role. The creator of the role
// is such a member.
const ROLE_OF_MINE: &str = "
select r.rolsuper or r.rolbypassrls as passes,
  pg_has_role(current_user, r.oid, case
    when current_setting('server_version_num')::int >= 160000 then 'set'
    else 'member'
  end) as mine
from pg_roles as r
where r.rolname = $1";
const STORE_ID: &str = "select id from store";
const TIME: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
const LOOK: &str = "
select server, coalesce((select max(last_us) from feed_clock), 0) as newest
from store";
const NOTE_SERVER: &str = "
update store
set server = $1
where server is distinct from $1";
const UNFINISHED_MOVE: &str = "
select source, began_at::text
from moves
where done_at is null";
// Data that arrived by then exists nowhere else, so another move may not empty the database.
const NOTE_SERVED: &str = "
update moves
set progress = (progress::jsonb || '{\"served\": true}')::json
where done_at is not null
and progress ->> 'served' is distinct from 'true'";
const NEW_STORE: &str = "insert into store (id) values ($1) on conflict do nothing";
const OWNED: &str = "
select count(*)
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = current_schema()
and c.relkind = 'r'
and pg_has_role(current_user, c.relowner, 'member')";
const BYPASSES: &str = "
select rolsuper or rolbypassrls
from pg_roles
where rolname = current_user";

/// Brings the schema up to date and returns the store's id.
pub async fn prepare(db: &Db, clock: &dyn Clock) -> Result<Uuid, StoreError> {
    let mut owner = bring_up_to_date(db).await?;
    refuse_half_a_store(&mut owner).await?;
    sqlx::query(NOTE_SERVED).execute(&mut owner).await?;
    sqlx::query(NEW_STORE)
        .bind(uuid_at(clock.now()))
        .execute(&mut owner)
        .await?;
    // This also releases the lock.
    owner.close().await?;
    check_role(db).await?;
    Ok(sqlx::query(STORE_ID)
        .fetch_one(db.pool())
        .await?
        .try_get(0)?)
}

/// Brings the schema up to date. Returns a connection of the owner; until it is closed, other
/// hosts wait with opening the store.
pub async fn bring_up_to_date(db: &Db) -> Result<PgConnection, StoreError> {
    let mut owner = connect(db).await?;
    owner.execute(PATIENCE).await?;
    sqlx::query(LOCK)
        .bind(MIGRATION_LOCK)
        .execute(&mut owner)
        .await?;
    ensure_role(&mut owner).await?;
    migrate(&mut owner).await?;
    Ok(owner)
}

/// Returns a connection of the owner to a server that can be used.
pub async fn connect(db: &Db) -> Result<PgConnection, StoreError> {
    let patience = limits::STORE_OPEN_PATIENCE;
    let mut owner = tokio::time::timeout(patience, db.owner())
        .await
        .map_err(|_| unreachable_in(patience, db.options()))?
        .map_err(|error| refused(error, db.options()))?;
    check_server(&mut owner).await?;
    Ok(owner)
}

pub async fn time(db: &Db) -> Result<Micros, StoreError> {
    let now = sqlx::query_scalar(TIME).fetch_one(db.pool()).await?;
    Ok(Micros(now))
}

/// Returns the state of the store, and the server on which it was last written according to the
/// store itself.
pub async fn look(db: &Db, store: Uuid) -> Result<(Mark, Option<String>), StoreError> {
    let mut connection = db.pool().acquire().await?;
    let server = server::identity(&mut connection).await?;
    let row = sqlx::query(LOOK).fetch_one(&mut *connection).await?;
    let sight = Mark {
        store,
        server: server.unwrap_or_default(),
        newest: row.try_get("newest")?,
    };
    Ok((sight, row.try_get("server")?))
}

/// Records the newest stamp from time to time, and, for hosts without a record, the server. Ends
/// with the store.
pub async fn keep_noting(db: Weak<Db>) {
    let mut tick = tokio::time::interval(limits::SEEN_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(db) = db.upgrade() else { return };
        db.high_water_mark().opens().await;
        let Some(server) = db.high_water_mark().server() else {
            continue;
        };
        let noted = sqlx::query(NOTE_SERVER)
            .bind(server)
            .execute(db.pool())
            .await;
        // If it cannot be read now, it is read the next time.
        if let (Ok(_), Ok(row)) = (noted, sqlx::query(LOOK).fetch_one(db.pool()).await)
            && let Ok(newest) = row.try_get("newest")
        {
            db.high_water_mark().note(newest);
        }
    }
}

pub async fn note_newest(db: &Db) -> Result<(), StoreError> {
    let row = sqlx::query(LOOK).fetch_one(db.pool()).await?;
    db.high_water_mark().note(row.try_get("newest")?);
    Ok(())
}

/// Releases the lock that keeps other hosts from opening the store.
pub async fn let_others_open(owner: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(UNLOCK)
        .bind(MIGRATION_LOCK)
        .execute(owner)
        .await?;
    Ok(())
}

/// Refuses a store whose move is not finished.
async fn refuse_half_a_store(owner: &mut PgConnection) -> Result<(), StoreError> {
    let Some(row) = sqlx::query(UNFINISHED_MOVE).fetch_optional(owner).await? else {
        return Ok(());
    };
    let (source, began): (Uuid, String) = (row.try_get(0)?, row.try_get(1)?);
    Err(StoreError::Open(format!(
        "the database holds part of the store {source}, whose move began at {began} and is not finished: run `leadhost migrate` again to continue it"
    )))
}

fn unreachable_in(patience: Duration, options: &PgConnectOptions) -> StoreError {
    StoreError::Open(format!(
        "the database server at {} did not answer within {} s: check the host and port of store.url",
        place(options),
        patience.as_secs()
    ))
}

/// Returns the host and port of the server, or its socket.
fn place(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// Explains to the operator why the server refused the connection.
fn refused(error: sqlx::Error, options: &PgConnectOptions) -> StoreError {
    let what = match error::code(&error) {
        Some("28P01" | "28000") => "the server refuses the user or the password of store.url",
        Some("3D000") => "the database of store.url does not exist: create it with `createdb`",
        Some("53300") => {
            "the server has no free connection: raise max_connections, or lower store.connections"
        }
        Some("57P03") => "the server is starting or stopping: try again shortly",
        Some(_) => "the server refuses the connection",
        None => {
            return StoreError::Open(format!(
                "the server of store.url cannot be reached at {} ({error})",
                place(options)
            ));
        }
    };
    StoreError::Open(format!("{what} ({error})"))
}

async fn check_server(owner: &mut PgConnection) -> Result<(), StoreError> {
    let row = sqlx::query(SERVER).fetch_one(owner).await?;
    let (number, text): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    new_enough(number, &text)?;
    let encoding: String = row.try_get(2)?;
    if encoding != "UTF8" {
        return Err(StoreError::Open(format!(
            "the database has the encoding {encoding}, which cannot represent every name: create one with `createdb --template template0 --encoding UTF8`"
        )));
    }
    Ok(())
}

/// Checks the server's version number. `text` is shown in the error.
fn new_enough(number: i32, text: &str) -> Result<(), StoreError> {
    if number < OLDEST_SERVER {
        return Err(StoreError::Open(format!(
            "the server is PostgreSQL {text}: version 15 or newer is needed"
        )));
    }
    Ok(())
}

/// Ensures that the role exists, cannot bypass the policies, and can be assumed by this login.
async fn ensure_role(owner: &mut PgConnection) -> Result<(), StoreError> {
    let mut found = role(owner).await?;
    if found.is_none() {
        let made = owner
            .execute(AssertSqlSafe(format!("create role {ROLE} nologin")))
            .await;
        match made {
            Ok(_) => {}
            // A host that opens another database of the same server created it first.
            Err(error) if matches!(error::code(&error), Some("42710" | "23505")) => {}
            Err(error) => return Err(no_role(false, &error)),
        }
        found = role(owner).await?;
    }
    let Some((passes, mine)) = found else {
        return Err(StoreError::Open(format!("the role {ROLE} does not exist")));
    };
    if passes {
        return Err(StoreError::Open(format!(
            "the role {ROLE} is a superuser or has BYPASSRLS, so row-level security would not keep tenants apart: run `alter role {ROLE} nosuperuser nobypassrls`"
        )));
    }
    if !mine {
        owner
            .execute(AssertSqlSafe(format!("grant {ROLE} to current_user")))
            .await
            .map_err(|error| no_role(true, &error))?;
    }
    Ok(())
}

async fn role(owner: &mut PgConnection) -> Result<Option<(bool, bool)>, StoreError> {
    let row = sqlx::query(ROLE_OF_MINE)
        .bind(ROLE)
        .fetch_optional(owner)
        .await?;
    row.map(|row| Ok((row.try_get("passes")?, row.try_get("mine")?)))
        .transpose()
}

/// Returns the refusal with what a superuser has to run. `exists`: whether the role exists.
fn no_role(exists: bool, error: &sqlx::Error) -> StoreError {
    let (denied, create) = if exists {
        ("switch to it", String::new())
    } else {
        ("create it", format!("create role {ROLE} nologin; "))
    };
    StoreError::Open(format!(
        "the service runs as the role {ROLE}, and this login may not {denied} ({error}): have a superuser run `{create}grant {ROLE} to <the user of store.url>`"
    ))
}

async fn migrate(owner: &mut PgConnection) -> Result<(), StoreError> {
    owner
        .execute(AssertSqlSafe(format!(
            "set client_min_messages = warning;
             create schema if not exists {SCHEMA};
             set search_path = {SCHEMA};
             create table if not exists schema_versions (
               version integer primary key,
               at timestamptz not null default clock_timestamp()
             )"
        )))
        .await
        .map_err(|error| StoreError::Open(format!("cannot create the schema {SCHEMA}: {error}")))?;
    let found: i32 = sqlx::query(SCHEMA_VERSION)
        .fetch_one(&mut *owner)
        .await?
        .try_get(0)?;
    for (version, sql) in MIGRATIONS.missing(found.into())? {
        // Several statements in one text run as one transaction, so a migration is applied
        // completely or not at all.
        owner
            .execute(AssertSqlSafe(format!(
                "{sql};
                 insert into schema_versions (version) values ({version})"
            )))
            .await
            .map_err(|error| {
                StoreError::Open(format!(
                    "the migration to version {version} failed: {error}"
                ))
            })?;
    }
    // At every start: if a dump was restored where the role did not exist, the role lacks the
    // rights on its tables.
    owner
        .execute(AssertSqlSafe(format!(
            "begin;
             grant usage on schema {SCHEMA} to {ROLE};
             grant select, insert, update, delete on all tables in schema {SCHEMA} to {ROLE};
             revoke insert, update, delete on schema_versions from {ROLE};
             grant usage on all sequences in schema {SCHEMA} to {ROLE};
             commit"
        )))
        .await
        .map_err(|error| {
            StoreError::Open(format!(
                "cannot grant the role {ROLE} its rights in the schema {SCHEMA}: {error}"
            ))
        })?;
    Ok(())
}

/// Checks that the role of the pooled connections has no special rights.
async fn check_role(db: &Db) -> Result<(), StoreError> {
    let bypasses: bool = sqlx::query(BYPASSES)
        .fetch_one(db.pool())
        .await?
        .try_get(0)?;
    let owned: i64 = sqlx::query(OWNED).fetch_one(db.pool()).await?.try_get(0)?;
    if bypasses || owned > 0 {
        return Err(StoreError::Open(format!(
            "the role {ROLE} can bypass the policies that keep tenants apart (superuser, BYPASSRLS or owner of the tables): revoke that"
        )));
    }
    Ok(())
}

pub(super) const SQL: &[&str] = &[
    SERVER,
    LOCK,
    SCHEMA_VERSION,
    ROLE_OF_MINE,
    STORE_ID,
    TIME,
    UNFINISHED_MOVE,
    LOOK,
    NOTE_SERVER,
    NOTE_SERVED,
    NEW_STORE,
    OWNED,
    BYPASSES,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused_by_its_version() {
        let refused = new_enough(140_021, "14.21").expect_err("it is too old");
        let said = refused.to_string();
        assert!(said.contains("14.21") && said.contains("15"), "{said}");
        for number in [150_000, 150_018, 180_001] {
            assert!(new_enough(number, "").is_ok(), "{number}");
        }
    }
}
