//! The PostgreSQL server of the figures: a separate cluster, created for the run and
//! removed after it, which all sides share in turns. It flushes to disk like a production
//! server. However this program ends, a watchdog that holds the other end of a pipe stops
//! the server and removes its files.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use xtask::postgres_programs::Binaries;

use crate::process::ticks;
use crate::report::Report;
use crate::rows::block_on;
use crate::{Arguments, Failure};

/// Beyond the defaults: memory as in a small production server, no checkpoint that
/// falls into one side's round and not into the other's, and reusable space in the
/// log, see [`LOG`].
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 100
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

/// The watchdog's script: $1 programs, $2 cluster, $3 folder.
const WATCH: &str = r#"
cat > /dev/null
"$1/pg_ctl" stop -D "$2" -m immediate
rm -rf "$3"
"#;

/// Owns the databases, like the service's login: it may create roles and is not a
/// superuser.
const LOGIN: &str = "leadhost_bench";

pub struct Server {
    programs: Binaries,
    folder: PathBuf,
    watch: Child,
    port: u16,
    made: std::cell::Cell<u32>,
}

/// One database of the server, dropped after use.
pub struct Database<'a> {
    server: &'a Server,
    name: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub processor: Duration,
    pub log_bytes: i64,
}

impl Server {
    /// Creates the cluster and starts its server on a free port of loopback.
    pub fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let programs = Binaries::find()?;
        let folder = place(arguments, &programs)?;
        let watch = programs
            .as_account("/bin/sh")
            .args(["-c", WATCH, "watch"])
            .args([&programs.folder, &folder.join("cluster"), &folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let server = Self {
            programs,
            folder,
            watch,
            port,
            made: std::cell::Cell::new(0),
        };
        server.run(
            server
                .programs
                .command("initdb")
                .arg("--pgdata")
                .arg(server.cluster())
                .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
                .args(["--auth=trust", "--no-instructions"]),
        )?;
        let file = server.cluster().join("postgresql.conf");
        let usual = fs::read_to_string(&file)?;
        let sockets = server.folder.display();
        fs::write(
            &file,
            format!("{usual}{SETTINGS}port = {port}\nunix_socket_directories = '{sockets}'\n"),
        )?;
        server.control(&["start", "--wait", "--timeout", "60"])?;
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
        let first = fs::read_to_string(self.cluster().join("postmaster.pid"))?;
        let first = first.lines().next().unwrap_or_default().to_owned();
        let own = ticks(&first, &[11, 12, 13, 14])?;
        let children = fs::read_dir("/proc")?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|name| parent(name).as_deref() == Some(&first))
            // The time of a process that ends meanwhile is in its parent's account.
            .filter_map(|name| ticks(&name, &[11, 12]).ok())
            .sum::<Duration>();
        let log_bytes = self.ask("select (pg_current_wal_insert_lsn() - '0/0')::bigint")?;
        Ok(Work {
            processor: own + children,
            log_bytes,
        })
    }

    pub fn version(&self, report: &mut Report) -> Result<(), Failure> {
        let number = self.ask("select current_setting('server_version_num')::bigint")?;
        report.version(
            "PostgreSQL",
            format!("{}.{}", number / 10_000, number % 10_000),
        );
        Ok(())
    }

    fn ask(&self, sql: &'static str) -> Result<i64, Failure> {
        block_on(async {
            let mut connection = self.connect("postgres", "postgres").await?;
            Ok(sqlx::query(sql)
                .fetch_one(&mut connection)
                .await?
                .try_get(0)?)
        })
    }

    fn say(&self, database: &str, statements: &[&str]) -> Result<(), Failure> {
        block_on(async {
            let mut connection = self.connect("postgres", database).await?;
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

    async fn connect(&self, login: &str, database: &str) -> Result<PgConnection, Failure> {
        let options = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username(login)
            .database(database)
            .disable_statement_logging();
        Ok(options.connect().await?)
    }

    fn control(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.run(
            self.programs
                .command("pg_ctl")
                .arg("--pgdata")
                .arg(self.cluster())
                .arg("--log")
                .arg(self.folder.join("log"))
                .args(arguments),
        )
    }

    fn run(&self, command: &mut Command) -> Result<(), Failure> {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = command
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{program} ended with {}: {said}", output.status).into())
    }

    fn cluster(&self) -> PathBuf {
        self.folder.join("cluster")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The pipe breaks, and the watchdog stops the server.
        drop(self.watch.stdin.take());
        if let Err(error) = self.watch.wait() {
            eprintln!("the database server of the figures may still be there: {error}");
        }
        // Empty by now. Its parent may belong to another account.
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Database<'_> {
    pub fn url(&self) -> String {
        format!(
            "postgres://{LOGIN}@127.0.0.1:{}/{}",
            self.server.port, self.name
        )
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
    let Some(account) = &programs.account else {
        return Ok(usual.keep());
    };
    let reached = usual
        .path()
        .ancestors()
        .skip(1)
        .all(|parent| parent.metadata().is_ok_and(|at| at.mode() & 0o001 != 0));
    let folder = if reached {
        usual
    } else {
        tempfile::tempdir_in("/var/tmp")?
    };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    chown(folder.path(), Some(account.uid), Some(account.gid))?;
    Ok(folder.keep())
}

fn parent(process: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1).map(str::to_owned)
}
