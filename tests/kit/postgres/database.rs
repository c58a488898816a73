//! Databases that come and go with a test.
//!
//! On a server where we are the superuser the databases belong to a role of
//! ordinary rights (it may log in and make roles), as the service's does, so
//! that a test notices what only a superuser could. Every name has the number
//! of this run in it: what a run leaves behind on a server of others, the next
//! one removes.

use std::str::FromStr as _;
use std::sync::mpsc;
use std::thread;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use url::Url;
use uuid::Uuid;

/// With what the name of everything begins that the tests make on a server.
pub const PREFIX: &str = "leadhost_test_";

/// Dropping one database makes the server write out all that is not on disk
/// yet; of many at once only the first costs that.
const DROPPED_AT_ONCE: usize = 16;

/// Who owns the databases of this run, and who makes them.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Of this run: a part of every name.
    run: String,
    /// May make databases.
    admin: Url,
    /// Owns them: the admin itself where it is no superuser.
    owner: Url,
}

/// A database of one test; it is dropped with this.
pub struct Database {
    name: String,
    url: String,
    admin_url: String,
    dropped: Option<mpsc::Sender<String>>,
}

impl Database {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As its owner: what the service is given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// As the one who made it: the superuser, where we are one.
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    pub async fn connect(&self) -> PgConnection {
        open(&self.url).await
    }

    pub async fn connect_as_admin(&self) -> PgConnection {
        open(&self.admin_url).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(dropped) = &self.dropped {
            // Without a keeper the process is at its end.
            let _ = dropped.send(std::mem::take(&mut self.name));
        }
    }
}

/// Opens a connection.
///
/// # Panics
/// When the server does not let us.
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

/// A name for this run: a part of every name.
pub fn run() -> String {
    Uuid::new_v4().simple().to_string()[..12].to_owned()
}

/// The owner of a run's databases on a server that the URL reaches.
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
        let named = owner.set_username(&role).is_ok()
            && owner.set_password(Some(&password.to_string())).is_ok();
        debug_assert!(named, "an address of a server has room for a name");
        // A socket may let in only who has the account's name.
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

/// A new database on a server that is the test's alone.
pub async fn alone(admin: Url) -> Database {
    let owner = owner(&admin, run()).await.expect("our own server");
    make(&owner, None).await
}

/// A new, empty database; dropped by the keeper.
pub async fn make(owner: &Owner, keeper: Option<&Keeper>) -> Database {
    let name = owner.new_name();
    let mut connection = connect(&owner.admin).await;
    execute(
        &mut connection,
        format!("create database {name} owner {}", owner.name()),
    )
    .await
    .expect("the server makes a database");
    let of = |url: &Url| {
        let mut url = url.clone();
        url.set_path(&name);
        url.to_string()
    };
    Database {
        url: of(&owner.owner),
        admin_url: of(&owner.admin),
        dropped: keeper.map(|keeper| keeper.dropped.clone()),
        name,
    }
}

impl Owner {
    fn new_name(&self) -> String {
        let unique = Uuid::new_v4().simple().to_string();
        format!("{PREFIX}{}_{}", self.run, &unique[..12])
    }

    /// As SQL names it.
    fn name(&self) -> String {
        if self.owner == self.admin {
            "current_user".to_owned()
        } else {
            format!("{PREFIX}{}", self.run)
        }
    }
}

/// A thread that is there as long as the process: its connection tells other
/// runs that this one is alive, and it drops databases behind the tests' backs.
pub struct Keeper {
    dropped: mpsc::Sender<String>,
}

impl Keeper {
    /// Before anything of this run is made.
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
                    // The next run sweeps what stays.
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

/// Removes what runs have left that are not alive any more, as far as we may;
/// the names.
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
