//! A private server in a temporary folder: for all tests of a process if no other
//! is available, and for tests that stop or break one.
//!
//! It listens on the loopback interface with a random password, and trusts
//! connections to its socket, whose folder is closed to others. Nothing of it outlives the tests: a watchdog, a separate
//! process, holds one end of a pipe to this process. When the pipe breaks, however
//! the tests end, the watchdog stops the server at once and deletes its folder.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use leadhost_config::disk::free_bytes;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgConnection;
use url::Url;
use uuid::Uuid;

use super::database::{self, Database};
use xtask::postgres_programs::Binaries;

/// Below the ephemeral ports of the system, so that no other program takes the
/// port of a server while it is stopped.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// Attempts to find a free port.
const TRIES: usize = 20;

/// How long `pg_ctl` waits for the server to start, stop or be promoted, in seconds.
const PG_CTL_SECONDS: &str = "300";

/// The free memory, in bytes, with which the server of all tests has its files there.
const ROOM_IN_MEMORY: u64 = 8 << 30;

/// The settings that differ from the server's defaults.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
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

/// The watchdog's script: $1 programs, $2 data, $3 folder. A frozen process
/// receives the stop only after it is continued; one that is starting may still
/// write.
const WATCH: &str = r#"
cat > /dev/null
kill -CONT "$(head -n 1 "$2/postmaster.pid")"
"$1/pg_ctl" stop -D "$2" -m immediate
for try in 1 2 3 4 5 6 7 8 9; do
  rm -rf "$3" && break
  sleep 1
done
"#;

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Transactions are aborted, and everything is flushed.
    Fast,
    /// Like a crash: it recovers at its next start.
    Immediate,
}

/// A private server. It runs until it is dropped.
pub struct Server {
    binaries: Binaries,
    folder: PathBuf,
    port: u16,
    password: String,
    watch: Child,
}

impl Server {
    /// Creates and starts one whose files are on the disk. Returns the reason if that is not possible.
    pub fn start() -> Result<Self, String> {
        let binaries = Binaries::find()?;
        let parent = binaries.temporary();
        Self::start_in(binaries, &parent)
    }

    /// Creates and starts one that many tests share. Its files are in memory if there is room for them:
    /// on a disk, its many new and dropped databases take a fifth of the time of the tests.
    pub fn start_shared() -> Result<Self, String> {
        let binaries = Binaries::find()?;
        let parent = in_memory().map_or_else(|| binaries.temporary(), Path::to_owned);
        Self::start_in(binaries, &parent)
    }

    fn start_in(binaries: Binaries, parent: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("leadhost-postgres-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(|error| format!("no folder for a private server: {error}"))?
            // The watchdog deletes it.
            .keep();
        if let Some(account) = &binaries.account {
            chown(&folder, Some(account.uid), Some(account.gid))
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let watch = binaries
            .as_account("/bin/sh")
            .args(["-c", WATCH, "watch"])
            .args([&binaries.folder, &folder.join("data"), &folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("/bin/sh: {error}"))?;
        let mut server = Self {
            binaries,
            folder,
            port: 0,
            password: Uuid::new_v4().simple().to_string(),
            watch,
        };
        server.make()?;
        let mut failure = String::new();
        for _ in 0..TRIES {
            server.port = free_port()?;
            match server.try_run() {
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
            self.binaries.release,
            self.binaries.folder.display()
        )
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
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
        let mut command = self.pg_ctl("stop");
        output(command.args(["-m", mode])).expect("the server stops");
    }

    /// Starts it again at the same address.
    pub fn run(&self) {
        self.try_run().expect("the server starts again");
    }

    /// Stops it like a crash. At its address a standby starts and is promoted. It
    /// uses the same files; only its timeline differs from the old server's.
    pub fn fail_over(&self) {
        self.stop();
        let signal = self.data().join("standby.signal");
        fs::write(&signal, "").expect("the data folder");
        if let Some(account) = &self.binaries.account {
            chown(&signal, Some(account.uid), Some(account.gid)).expect("a file of ours");
        }
        self.run();
        let mut command = self.pg_ctl("promote");
        output(command.arg("--wait")).expect("the standby is promoted");
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

    /// All its processes, from the system's list: works also while it does not
    /// answer.
    pub fn processes(&self) -> Vec<Pid> {
        let Some(first) = self.first_process() else {
            return Vec::new();
        };
        let children = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| parent(*pid) == Some(first.as_raw_nonzero().get()))
            .filter_map(Pid::from_raw);
        std::iter::once(first).chain(children).collect()
    }

    /// Freezes it: it accepts connections and answers nothing.
    pub fn freeze(&self) {
        signal(&self.processes(), Signal::STOP);
    }

    /// Continues it.
    pub fn thaw(&self) {
        signal(&self.processes(), Signal::CONT);
    }

    /// Returns its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Creates its files.
    fn make(&self) -> Result<(), String> {
        let password = self.folder.join("password");
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write(&password, &self.password)?;
        if let Some(account) = &self.binaries.account {
            chown(&password, Some(account.uid), Some(account.gid))
                .map_err(|error| format!("{}: {error}", password.display()))?;
        }
        let mut command = self.binaries.command("initdb");
        command
            .arg("--pgdata")
            .arg(self.data())
            .arg("--pwfile")
            .arg(&password)
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C"])
            // Of this kind of password, both sides compute a few hashes for each connection. Of
            // the usual kind, each side computes thousands.
            .args(["--auth-local=trust", "--auth-host=md5"])
            .args(["--no-sync", "--no-instructions"]);
        output(&mut command)?;
        let file = self.data().join("postgresql.conf");
        let usual =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let folder = self.folder.display();
        write(
            &file,
            &format!("{usual}{SETTINGS}unix_socket_directories = '{folder}'\n"),
        )
    }

    fn try_run(&self) -> Result<(), String> {
        let mut command = self.pg_ctl("start");
        command
            .arg("--wait")
            .arg("--log")
            .arg(self.folder.join("log"))
            .arg("--options")
            .arg(format!("-p {}", self.port));
        output(&mut command).map_err(|error| format!("{error}\n{}", self.log()))
    }

    fn pg_ctl(&self, verb: &str) -> Command {
        let mut command = self.binaries.command("pg_ctl");
        command.arg(verb).arg("--pgdata").arg(self.data());
        command.args(["--timeout", PG_CTL_SECONDS]);
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The postmaster, from its own file.
    fn first_process(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        Pid::from_raw(file.lines().next()?.trim().parse().ok()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.thaw();
        // The pipe breaks, and the watchdog does the rest.
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

/// Sends a signal to each process that still exists.
pub fn signal(processes: &[Pid], signal: Signal) {
    for process in processes {
        // A process may have ended in the meantime.
        let _ = kill_process(*process, signal);
    }
}

/// The parent process.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(1)?.parse().ok()
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

/// Runs a command to its end. Returns its error output if it fails.
fn output(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{program} ended with {}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}
