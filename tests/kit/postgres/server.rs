//! A private server in a temporary folder: for all tests of a process if no other
//! is available, and for tests that stop or break one.
//!
//! It listens on the loopback interface with a random password, and trusts
//! connections to its socket, whose folder is closed to others. Nothing of it outlives the tests: a
//! watchdog sees to that.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use leadhost_config::disk::free_bytes;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgConnection;
use url::Url;
use uuid::Uuid;
use xtask::postgres_cluster::{Cluster, Watchdog};
use xtask::postgres_programs::Binaries;

use super::database::{self, Database};

/// Below the ephemeral ports of the system, so that no other program takes the
/// port of a server while it is stopped.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// Attempts to find a free port.
const TRIES: usize = 20;

/// The free memory, in bytes, with which the server of all tests has its files there.
const ROOM_IN_MEMORY: u64 = 8 << 30;

/// The settings that differ from the server's defaults.
const SETTINGS: &str = "
max_connections = 600
# The passwords of the logins, as `initdb` stores its own.
password_encryption = md5
# Hundreds of small databases come and go.
autovacuum_naptime = '10min'
max_wal_size = '1GB'
# Tests end its processes, never the machine.
fsync = off
full_page_writes = off
checkpoint_timeout = '30min'
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Transactions are aborted, and everything is flushed.
    Fast,
    /// Like a crash: it recovers at its next start.
    Immediate,
}

/// A private server. It runs until it is dropped.
pub struct Server {
    cluster: Cluster,
    port: u16,
    password: String,
    _watch: Watchdog,
}

impl Server {
    /// Creates and starts one whose files are on the disk. Returns the reason if that is not possible.
    pub fn start() -> Result<Self, String> {
        let programs = Binaries::find()?;
        let parent = programs.temporary();
        Self::start_in(programs, &parent)
    }

    /// Creates and starts one that many tests share. Its files are in memory if there is room for them:
    /// on a disk, its many new and dropped databases take a fifth of the time of the tests.
    pub fn start_shared() -> Result<Self, String> {
        let programs = Binaries::find()?;
        let parent = in_memory().map_or_else(|| programs.temporary(), Path::to_owned);
        Self::start_in(programs, &parent)
    }

    fn start_in(programs: Binaries, parent: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("leadhost-postgres-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(|error| format!("no folder for a private server: {error}"))?
            // The watchdog deletes it.
            .keep();
        programs.give(&folder)?;
        let cluster = Cluster { programs, folder };
        let mut server = Self {
            _watch: cluster.watch()?,
            cluster,
            port: 0,
            password: Uuid::new_v4().simple().to_string(),
        };
        server.make()?;
        let mut failure = String::new();
        for _ in 0..TRIES {
            server.port = free_port()?;
            match server.cluster.start(server.port) {
                Ok(()) => return Ok(server),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// A description for the report of a run.
    pub fn describe(&self) -> String {
        format!(
            "a private PostgreSQL {} from {}",
            self.cluster.programs.release,
            self.cluster.programs.folder.display()
        )
    }

    pub fn folder(&self) -> &Path {
        &self.cluster.folder
    }

    /// The URL for the superuser.
    pub fn url(&self) -> Url {
        let text = format!(
            "postgres://postgres:{}@127.0.0.1:{}/postgres",
            self.password, self.port
        );
        Url::parse(&text).expect("a whole address")
    }

    /// Creates a database in it, owned as the service's databases are.
    pub async fn database(&self) -> Database {
        database::alone(self.url()).await
    }

    /// Stops it like a crash: nothing is flushed, and every connection is cut.
    pub fn stop(&self) {
        self.stop_in(Shutdown::Immediate);
    }

    /// Stops it in one of the ways in which operators do.
    pub fn stop_in(&self, how: Shutdown) {
        let mode = match how {
            Shutdown::Fast => "fast",
            Shutdown::Immediate => "immediate",
        };
        self.cluster.stop(mode).expect("the server stops");
    }

    /// Starts it again at the same address.
    pub fn run(&self) {
        self.cluster
            .start(self.port)
            .expect("the server starts again");
    }

    /// Stops it like a crash. At its address a standby starts and is promoted. It
    /// uses the same files; only its timeline differs from the old server's.
    pub fn fail_over(&self) {
        self.stop();
        let signal = self.cluster.data().join("standby.signal");
        fs::write(&signal, "").expect("the data folder");
        self.cluster.programs.give(&signal).expect("a file of ours");
        self.run();
        self.cluster.promote().expect("the standby is promoted");
    }

    /// The processes that serve one connection each, except for the caller's.
    pub async fn backends(&self) -> Vec<Pid> {
        let mut connection = database::connect(&self.url()).await;
        let found: Vec<i32> = sqlx::query_scalar(
            "select pid from pg_stat_activity
             where backend_type = 'client backend' and pid <> pg_backend_pid()",
        )
        .fetch_all(&mut connection as &mut PgConnection)
        .await
        .expect("the server lists its backends");
        found.into_iter().filter_map(Pid::from_raw).collect()
    }

    /// All its processes; works also while it does not answer.
    pub fn processes(&self) -> Vec<Pid> {
        let all = self.cluster.processes().into_iter();
        all.filter_map(|process| Pid::from_raw(i32::try_from(process).ok()?))
            .collect()
    }

    /// Freezes it: it accepts connections and answers nothing.
    pub fn freeze(&self) {
        signal(&self.processes(), Signal::STOP);
    }

    pub fn thaw(&self) {
        signal(&self.processes(), Signal::CONT);
    }

    pub fn log(&self) -> String {
        self.cluster.log()
    }

    fn make(&self) -> Result<(), String> {
        let password = self.cluster.folder.join("password");
        fs::write(&password, &self.password)
            .map_err(|error| format!("{}: {error}", password.display()))?;
        self.cluster.programs.give(&password)?;
        let options = [
            "--pwfile",
            &password.display().to_string(),
            // Of this kind of password, both sides compute a few hashes for each connection. Of
            // the usual kind, each side computes thousands.
            "--auth-local=trust",
            "--auth-host=md5",
            "--no-sync",
        ];
        self.cluster.make(&options, SETTINGS)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The watchdog does the rest.
        self.thaw();
    }
}

/// Sends a signal to each process that still exists.
pub fn signal(processes: &[Pid], signal: Signal) {
    for process in processes {
        // A process may have ended in the meantime.
        let _ = kill_process(*process, signal);
    }
}

/// The file system in memory, if a server for all tests has room in it: they use some 500 MiB.
fn in_memory() -> Option<&'static Path> {
    let folder = Path::new("/dev/shm");
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let room = free_bytes(folder)?.min(kib * 1_024);
    (room >= ROOM_IN_MEMORY).then_some(folder)
}

fn free_port() -> Result<u16, String> {
    let span = u128::from(PORTS.end - PORTS.start);
    (0..TRIES)
        .map(|_| {
            let offset = u16::try_from(Uuid::new_v4().as_u128() % span).unwrap_or_default();
            PORTS.start + offset
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or_else(|| "no free port on the loopback interface".to_owned())
}
