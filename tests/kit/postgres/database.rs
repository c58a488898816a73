//! Databases that are created and dropped with a test.
//!
//! If we are the superuser of the server, the databases belong to an ordinary role
//! (it may log in and create roles), as the service's do, so that a test detects
//! what only a superuser could do. Every name contains the number of this run. The
//! next run drops what a run leaves behind on a shared server.

use std::str::FromStr as _;
use std::sync::{Arc, mpsc};
use std::thread;

use leadhost_domain::clock::SystemClock;
use leadhost_domain::time::Micros;
use leadhost_store::open_postgres;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::Mutex;
use url::Url;
use uuid::Uuid;

/// The prefix of everything that the tests create on a server.
pub const PREFIX: &str = "leadhost_test_";

/// A collation that differs from byte order, as most servers have it.
const LOCALE: &str =
    "template template0 encoding 'UTF8' locale_provider icu icu_locale 'pt-BR' locale 'C'";

/// The role that the service runs as. All databases of a server share it.
const SERVICE: &str = "leadhost_service";

/// Replaces the clock that the service reads in the database with one that a test
/// controls.
const CLOCK: &str = "
create schema test_clock;
create table test_clock.now (us bigint, shift bigint not null);
insert into test_clock.now values (null, 0);
grant usage on schema test_clock to public;
grant select on test_clock.now to public;
create or replace function leadhost.feed_now() returns bigint
language sql volatile
return (
  select coalesce(us, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + shift
  from test_clock.now
)";

const TURN: &str = "update test_clock.now set us = $1, shift = $2";

/// Dropping a database makes the server write out everything that is not on disk
/// yet. If many are dropped together, only the first one pays for that.
const DROPPED_AT_ONCE: usize = 16;

/// The owner of this run's databases, and the account that creates them.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Identifies the run: a part of every name.
    run: String,
    /// An account that may create databases.
    admin: Url,
    /// The account that owns them: the admin itself if it is not a superuser.
    owner: Url,
}

/// The database of one test. It is dropped with this value.
pub struct Database {
    name: String,
    url: String,
    admin_url: String,
    dropped: Option<mpsc::Sender<String>>,
    /// The connection that sets the clock of this database, once that was set.
    clock: Mutex<Option<PgConnection>>,
}

impl Database {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL for the owner: the service gets this one.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL for the account that created it: the superuser, if we are one.
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    pub async fn connect(&self) -> PgConnection {
        open(&self.url).await
    }

    pub async fn connect_as_admin(&self) -> PgConnection {
        open(&self.admin_url).await
    }

    /// Whether these bytes are in any row, as text or within bytes.
    pub async fn keeps(&self, needle: &str) -> bool {
        // The owner sees the rows of every workspace.
        let mut connection = self.connect().await;
        let tables: Vec<String> = sqlx::query_scalar(
            "select format('%I.%I', schemaname, tablename) from pg_tables
             where schemaname not in ('pg_catalog', 'information_schema')",
        )
        .fetch_all(&mut connection)
        .await
        .expect("the server lists its tables");
        for table in tables {
            let found: bool = sqlx::query_scalar(AssertSqlSafe(format!(
                "select exists (
                   select from {table} as t
                   where position($1 in t::text) > 0
                   or position(encode(convert_to($1, 'UTF8'), 'hex') in t::text) > 0
                 )"
            )))
            .bind(needle)
            .fetch_one(&mut connection)
            .await
            .expect("the owner reads its tables");
            if found {
                return true;
            }
        }
        false
    }

    /// Stops the clock that stamps rows in this database at this moment.
    pub async fn turn_clock(&self, now: Micros) {
        self.set_clock(Some(now), 0).await;
    }

    /// Lets that clock run like the server's, but this many microseconds ahead.
    pub async fn shift_clock(&self, shift: i64) {
        self.set_clock(None, shift).await;
    }

    async fn set_clock(&self, now: Option<Micros>, shift: i64) {
        let mut clock = self.clock.lock().await;
        if clock.is_none() {
            let mut connection = self.connect().await;
            let replaced = connection.execute(CLOCK).await;
            replaced.expect("the service has made its tables");
            *clock = Some(connection);
        }
        let connection = clock.as_mut().expect("it was just opened");
        let turned = sqlx::query(TURN)
            .bind(now.map(|now| now.0))
            .bind(shift)
            .execute(connection)
            .await;
        turned.expect("the server answers");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(dropped) = &self.dropped {
            // Without a keeper the process is about to end.
            let _ = dropped.send(std::mem::take(&mut self.name));
        }
    }
}

pub async fn connect(url: &Url) -> PgConnection {
    open(url.as_str()).await
}

async fn open(url: &str) -> PgConnection {
    PgConnectOptions::from_str(url)
        .expect("an address that we made")
        .connect()
        .await
        .expect("the server lets us in")
}

/// The number of this run: a part of every name.
pub fn run() -> String {
    Uuid::new_v4().simple().to_string()[..12].to_owned()
}

/// The owner of a run's databases on the server at this URL.
pub async fn owner(admin: &Url, run: String) -> Result<Owner, sqlx::Error> {
    let mut connection = PgConnectOptions::from_str(admin.as_str())?
        .connect()
        .await?;
    let superuser: bool =
        sqlx::query_scalar("select rolsuper from pg_roles where rolname = current_user")
            .fetch_one(&mut connection)
            .await?;
    let mut owner = admin.clone();
    if superuser {
        let (role, password) = (format!("{PREFIX}{run}"), Uuid::new_v4().simple());
        execute(
            &mut connection,
            format!("create role {role} login createrole password '{password}'"),
        )
        .await?;
        // A role that another service created does not belong to ours automatically.
        execute(
            &mut connection,
            format!(
                "do $$ begin
                   if exists (select from pg_roles where rolname = '{SERVICE}') then
                     grant {SERVICE} to {role};
                   end if;
                 end $$"
            ),
        )
        .await?;
        let named = owner.set_username(&role).is_ok()
            && owner.set_password(Some(&password.to_string())).is_ok();
        debug_assert!(named, "an address of a server has room for a name");
        // A socket may admit only the account's own name.
        let mut entered = enter(&owner).await;
        if entered.is_err() && owner.query().is_some() {
            owner.set_query(None);
            entered = enter(&owner).await;
        }
        if let Err(error) = entered {
            execute(&mut connection, format!("drop role {role}")).await?;
            return Err(error);
        }
    }
    Ok(Owner {
        run,
        admin: admin.clone(),
        owner,
    })
}

async fn enter(url: &Url) -> Result<(), sqlx::Error> {
    let options = PgConnectOptions::from_str(url.as_str())?;
    options.connect().await?.close().await
}

/// A new database on a private server of the test.
pub async fn alone(admin: Url) -> Database {
    let owner = owner(&admin, run()).await.expect("our own server");
    owner.database(None, None).await
}

impl Owner {
    /// Creates a database, empty or from a template. The keeper drops it.
    pub async fn database(&self, template: Option<&str>, keeper: Option<&Keeper>) -> Database {
        let name = self.new_name();
        let mut connection = connect(&self.admin).await;
        let (like, otherwise) = match template {
            // A copy of the files takes half the time of a copy through the log. PostgreSQL before 15 copies
            // files always, and does not know the word.
            Some(template) => (
                format!("template {template} strategy file_copy"),
                format!("template {template}"),
            ),
            // The server may have been built without ICU.
            None => (LOCALE.to_owned(), String::new()),
        };
        let create = |like: &str| format!("create database {name} owner {} {like}", self.name());
        let mut made = execute(&mut connection, create(&like)).await;
        if made.is_err() {
            made = execute(&mut connection, create(&otherwise)).await;
        }
        made.expect("the server makes a database");
        let of = |url: &Url| {
            let mut url = url.clone();
            url.set_path(&name);
            url.to_string()
        };
        Database {
            url: of(&self.owner),
            admin_url: of(&self.admin),
            dropped: keeper.map(|keeper| keeper.dropped.clone()),
            clock: Mutex::new(None),
            name,
        }
    }

    /// Creates a database as the service leaves it at its first start, and closes it
    /// to connections. Returns its name.
    pub async fn template(&self) -> String {
        let database = self.database(None, None).await;
        let store = open_postgres(database.url(), 2, Arc::new(SystemClock)).await;
        drop(store.expect("the service makes its tables"));
        let mut connection = database.connect().await;
        // Each copy becomes a store of its own.
        let forgotten = connection.execute("delete from leadhost.store").await;
        forgotten.expect("the service made its tables");
        drop(connection);
        let name = database.name().to_owned();
        let mut connection = connect(&self.admin).await;
        let closed = format!("alter database {name} with allow_connections false");
        execute(&mut connection, closed).await.expect("our own");
        crate::eventually("the template is left alone", async || {
            let inside: i64 = sqlx::query_scalar(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1",
            )
            .bind(&name)
            .fetch_one(&mut connection)
            .await
            .expect("the server answers");
            inside == 0
        })
        .await;
        name
    }

    fn new_name(&self) -> String {
        let unique = Uuid::new_v4().simple().to_string();
        format!("{PREFIX}{}_{}", self.run, &unique[..12])
    }

    /// The name, quoted for SQL.
    fn name(&self) -> String {
        if self.owner == self.admin {
            "current_user".to_owned()
        } else {
            format!("{PREFIX}{}", self.run)
        }
    }
}

/// A thread that lives as long as the process: its connection shows other runs that
/// this one is alive, and it drops databases in the background.
pub struct Keeper {
    dropped: mpsc::Sender<String>,
}

impl Keeper {
    /// Call it before anything of this run is created.
    pub fn start(admin: &Url, run: &str) -> Result<Self, String> {
        let options = PgConnectOptions::from_str(admin.as_str())
            .map_err(|error| error.to_string())?
            .application_name(&format!("{PREFIX}{run}"));
        let (dropped, names) = mpsc::channel::<String>();
        let (ready, started) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime of one thread");
            let mut connection = match runtime.block_on(options.connect()) {
                Ok(connection) => connection,
                Err(error) => return drop(ready.send(Err(error.to_string()))),
            };
            let _ = ready.send(Ok(()));
            let mut waiting = Vec::new();
            for name in names {
                waiting.push(name);
                if waiting.len() < DROPPED_AT_ONCE {
                    continue;
                }
                for name in waiting.drain(..) {
                    // The next run drops what remains.
                    let _ = runtime.block_on(drop_database(&mut connection, &name));
                }
            }
        });
        started
            .recv()
            .unwrap_or_else(|_| Err("the keeper of databases ended".to_owned()))?;
        Ok(Self { dropped })
    }
}

/// Drops what dead runs have left, as far as we may. Returns the names.
pub async fn sweep(connection: &mut PgConnection) -> Vec<String> {
    let dead = format!(
        "not exists (
           select from pg_stat_activity
           where application_name = substr(name, 1, length('{PREFIX}') + 12)
         )"
    );
    let ours = format!("starts_with(name, '{PREFIX}')");
    let mut removed = Vec::new();
    for (kind, list) in [
        ("database", "select datname::text as name from pg_database"),
        ("role", "select rolname::text as name from pg_roles"),
    ] {
        let query = format!("select name from ({list}) found where {ours} and {dead}");
        let names: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_all(&mut *connection)
            .await
            .unwrap_or_default();
        for name in names {
            let done = match kind {
                "database" => drop_database(connection, &name).await,
                _ => execute(connection, format!("drop role {name}")).await,
            };
            if done.is_ok() {
                removed.push(format!("{kind} {name}"));
            }
        }
    }
    removed
}

async fn drop_database(connection: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
    execute(
        connection,
        format!("drop database if exists {name} with (force)"),
    )
    .await
}

async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(sql)).await.map(drop)
}
