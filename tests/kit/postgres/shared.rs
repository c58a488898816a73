//! The server that the tests of this process share, found once.

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use super::URL;
use super::database::{self, Database, Keeper, Owner};
use super::server::Server;

/// A local server that has not answered within this time counts as absent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The oldest supported release, as servers number it.
const OLDEST: i32 = 150_000;

/// The server that all tests of this process share.
pub struct SharedServer {
    /// A description for people.
    said: String,
    owner: Owner,
    keeper: Keeper,
    /// The database that the others are copied from.
    template: OnceCell<String>,
    /// Lives as long as the process; its watchdog stops it.
    _server: Option<Server>,
}

impl SharedServer {
    /// A copy of a template that is created once: running the migrations for
    /// hundreds of tests would take longer than the tests.
    pub async fn database(&self) -> Database {
        let template = self.template.get_or_init(|| self.owner.template()).await;
        self.owner
            .database(Some(template), Some(&self.keeper))
            .await
    }

    pub async fn empty_database(&self) -> Database {
        self.owner.database(None, Some(&self.keeper)).await
    }
}

/// Returns the server, or the reason why there is none.
pub async fn shared() -> Result<&'static SharedServer, &'static str> {
    static SHARED: OnceCell<Result<SharedServer, String>> = OnceCell::const_new();
    let shared = SHARED.get_or_init(find).await;
    shared.as_ref().map_err(String::as_str)
}

/// Describes the server that the tests would use, or returns the reason why
/// there is none.
pub async fn how() -> Result<String, String> {
    match shared().await {
        Ok(shared) => Ok(shared.said.clone()),
        Err(reason) => Err(reason.to_owned()),
    }
}

/// Drops what dead runs have left on a server that is not private. Returns the
/// names.
pub async fn sweep() -> Vec<String> {
    let given = std::env::var_os(URL).map(|url| url.to_string_lossy().into_owned());
    let mut removed = Vec::new();
    for url in given.into_iter().chain(local()) {
        let Ok(options) = PgConnectOptions::from_str(&url) else {
            continue;
        };
        if let Ok(Ok(mut connection)) = timeout(PATIENCE, options.connect()).await {
            removed.extend(database::sweep(&mut connection).await);
        }
    }
    removed
}

async fn find() -> Result<SharedServer, String> {
    if let Some(given) = std::env::var_os(URL) {
        let given = given.to_string_lossy();
        let shared = use_server(&given).await;
        return Ok(shared.unwrap_or_else(|reason| {
            panic!("{URL} names a server that the tests cannot use: {reason}")
        }));
    }
    let mut reasons = Vec::new();
    for url in local() {
        match use_server(&url).await {
            Ok(shared) => return Ok(shared),
            Err(reason) => reasons.push(format!("{url}: {reason}")),
        }
    }
    match Server::start_shared() {
        Ok(server) => {
            let said = server.describe();
            share(said, &server.url(), Some(server)).await
        }
        Err(reason) => {
            reasons.push(reason);
            Err(reasons.join("; "))
        }
    }
}

/// The default addresses of a server on this machine, with the account names
/// that it may know.
fn local() -> Vec<String> {
    let sockets = ["/var/run/postgresql", "/tmp"]
        .into_iter()
        .filter(|folder| Path::new(folder).join(".s.PGSQL.5432").exists())
        .map(|folder| format!("?host={folder}"));
    let places: Vec<String> = sockets.chain([String::new()]).collect();
    // Without a name, the database of the account is used.
    ["", "postgres@"]
        .into_iter()
        .flat_map(|name| {
            places
                .iter()
                .map(move |place| format!("postgres://{name}127.0.0.1:5432/postgres{place}"))
        })
        .collect()
}

/// Uses this server if it permits what the tests need.
async fn use_server(url: &str) -> Result<SharedServer, String> {
    let options = PgConnectOptions::from_str(url).map_err(|error| error.to_string())?;
    let mut connection = match timeout(PATIENCE, options.connect()).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it does not answer".to_owned()),
    };
    let release = may(&mut connection).await?;
    database::sweep(&mut connection).await;
    let _ = connection.close().await;
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default();
    share(format!("PostgreSQL {release} at {host}"), &url, None).await
}

async fn share(said: String, admin: &Url, server: Option<Server>) -> Result<SharedServer, String> {
    let run = database::run();
    let keeper = Keeper::start(admin, &run)?;
    let owner = database::owner(admin, run)
        .await
        .map_err(|error| error.to_string())?;
    Ok(SharedServer {
        said,
        owner,
        keeper,
        template: OnceCell::new(),
        _server: server,
    })
}

/// Checks that we may create databases, and roles as the service does. Returns
/// the release.
async fn may(connection: &mut PgConnection) -> Result<String, String> {
    let row = sqlx::query(
        "select current_user::text, rolsuper or (rolcreatedb and rolcreaterole),
                current_setting('server_version_num')::int, current_setting('server_version')
         from pg_roles where rolname = current_user",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| error.to_string())?;
    let (user, may, number): (String, bool, i32) = (row.get(0), row.get(1), row.get(2));
    let release: String = row.get(3);
    if !may {
        return Err(format!("{user} may not make databases and roles there"));
    }
    if number < OLDEST {
        return Err(format!("it is PostgreSQL {release}, which is too old"));
    }
    Ok(release)
}
