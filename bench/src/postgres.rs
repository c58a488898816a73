//! The PostgreSQL server of the figures: a separate cluster, created for the run and
//! removed after it, which all sides share in turns. It flushes to disk like a production
//! server. However this program ends, a watchdog stops the server and removes its files.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _};
use xtask::postgres_cluster::{Cluster, Watchdog};
use xtask::postgres_programs::Binaries;

use crate::process::{free_port, ticks};
use crate::report::Report;
use crate::rows::{self, block_on};
use crate::{Arguments, Failure};

/// Beyond the defaults: memory as in a small production server, no checkpoint that
/// falls into one side's round and not into the other's, and reusable space in the
/// log, see [`LOG`].
const SETTINGS: &str = "
shared_buffers = '256MB'
max_wal_size = '8GB'
min_wal_size = '1GB'
checkpoint_timeout = '30min'
";

/// Fills segments of the log, which the next checkpoint recycles. Creating a new
/// one takes some 60 ms here, which the first sides would pay for all.
const LOG: &str = "
do $$
begin
  for number in 1..60 loop
    perform pg_logical_emit_message(false, 'bench', repeat('x', 15 * 1024 * 1024));
    perform pg_switch_wal();
  end loop;
end
$$";

/// Owns the databases, like the service's login: it may create roles and is not a
/// superuser.
const LOGIN: &str = "leadhost_bench";

pub struct Server {
    cluster: Cluster,
    port: u16,
    made: std::cell::Cell<u32>,
    _watch: Watchdog,
}

/// One database of the server, dropped after use.
pub struct Database<'a> {
    server: &'a Server,
    name: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub processor: Duration,
    pub log_bytes: i64,
}

impl Work {
    pub fn since(self, before: Self) -> Self {
        Self {
            processor: self.processor.saturating_sub(before.processor),
            log_bytes: self.log_bytes - before.log_bytes,
        }
    }
}

impl Server {
    /// Creates the cluster and starts its server on a free port of loopback.
    pub fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let programs = Binaries::find()?;
        let folder = place(arguments, &programs)?;
        let cluster = Cluster { programs, folder };
        let port = free_port()?;
        let server = Self {
            _watch: cluster.watch()?,
            cluster,
            port,
            made: std::cell::Cell::new(0),
        };
        server.cluster.make(&["--auth=trust"], SETTINGS)?;
        server.cluster.start(port)?;
        server.say(
            "postgres",
            &[&format!("create role {LOGIN} login createrole"), LOG],
        )?;
        Ok(server)
    }

    /// Creates an empty database. A checkpoint comes first, so that no round pays for the
    /// one before.
    pub fn database(&self) -> Result<Database<'_>, Failure> {
        let number = self.made.get() + 1;
        self.made.set(number);
        let name = format!("bench_{number}");
        self.say(
            "postgres",
            &[
                &format!("create database {name} owner {LOGIN}"),
                "checkpoint",
            ],
        )?;
        Ok(Database { server: self, name })
    }

    pub fn work(&self) -> Result<Work, Failure> {
        let processes = self.cluster.processes();
        let (first, children) = processes.split_first().ok_or("the server has ended")?;
        let own = ticks(*first, &[11, 12, 13, 14])?;
        // The time of a process that ends meanwhile is in its parent's account.
        let children = children
            .iter()
            .filter_map(|process| ticks(*process, &[11, 12]).ok())
            .sum::<Duration>();
        let log_bytes = self.number("select (pg_current_wal_insert_lsn() - '0/0')::bigint")?;
        Ok(Work {
            processor: own + children,
            log_bytes,
        })
    }

    pub fn version(&self, report: &mut Report) -> Result<(), Failure> {
        let number = self.number("select current_setting('server_version_num')::bigint")?;
        report.version(
            "PostgreSQL",
            format!("{}.{}", number / 10_000, number % 10_000),
        );
        Ok(())
    }

    fn say(&self, database: &str, statements: &[&str]) -> Result<(), Failure> {
        block_on(async {
            let url = self.url("postgres", database);
            let mut connection = rows::open_postgres(&url, "public").await?;
            for statement in statements {
                sqlx::raw_sql(AssertSqlSafe(*statement))
                    .execute(&mut connection)
                    .await
                    .map_err(|error| format!("{statement}: {error}"))?;
            }
            connection.close().await?;
            Ok(())
        })
    }

    fn url(&self, login: &str, database: &str) -> String {
        format!("postgres://{login}@127.0.0.1:{}/{database}", self.port)
    }

    fn number(&self, sql: &str) -> Result<i64, Failure> {
        rows::number(&self.url("postgres", "postgres"), sql.to_owned())
    }
}

impl Database<'_> {
    pub fn url(&self) -> String {
        self.server.url(LOGIN, &self.name)
    }

    /// Returns lines for the section `store` of the service's configuration.
    pub fn store(&self) -> String {
        format!("url = {:?}\n", self.url())
    }

    /// Runs statements as the superuser, each on its own.
    pub fn say(&self, statements: &[&str]) -> Result<(), Failure> {
        self.server.say(&self.name, statements)
    }

    pub fn drop(self) -> Result<(), Failure> {
        let statement = format!("drop database {} with (force)", self.name);
        self.server.say("postgres", &[&statement])
    }
}

/// Returns a folder that the server's account owns: beside the build's results, or in the
/// system's folder for temporary files if the account cannot reach that.
fn place(arguments: &Arguments, programs: &Binaries) -> Result<PathBuf, Failure> {
    let usual = arguments.scratch()?;
    let folder = match usual.path().parent() {
        Some(parent) if !programs.reaches(parent) => tempfile::tempdir_in("/var/tmp")?,
        _ => usual,
    };
    programs.give(folder.path())?;
    Ok(folder.keep())
}
