//! The program itself: `leadhost serve` as a separate process, and the other commands as an
//! operator types them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Ask;
use crate::compiled::share_compiled_code;
use crate::on::On;
use crate::program::binary;

/// The arguments of a command: a line, in which single quotes hold a word together, or a list.
pub trait Words {
    fn words(self) -> Vec<String>;
}

impl Words for &str {
    fn words(self) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in self.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }
}

impl Words for &String {
    fn words(self) -> Vec<String> {
        self.as_str().words()
    }
}

impl Words for Vec<String> {
    fn words(self) -> Vec<String> {
        self
    }
}

impl Words for &[&str] {
    fn words(self) -> Vec<String> {
        self.iter().map(|&word| word.to_owned()).collect()
    }
}

impl<const N: usize> Words for &[&str; N] {
    fn words(self) -> Vec<String> {
        self[..].words()
    }
}

impl Words for &Vec<&str> {
    fn words(self) -> Vec<String> {
        self[..].words()
    }
}

/// Runs a command to its end, without the variables of the tester's environment that it would
/// read.
pub fn leadhost(folder: &Path, arguments: impl Words) -> Output {
    command(folder, arguments)
        .output()
        .expect("the program runs")
}

/// `serve` on free ports.
pub const SERVE: [&str; 5] = [
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--admin-listen",
    "127.0.0.1:0",
];

/// Runs `serve` with more flags to its end: a service that does not start.
pub fn serve(folder: &Path, flags: &[&str]) -> Output {
    leadhost(folder, &[&SERVE, flags].concat())
}

/// Runs a command that must end with this code. Returns its standard error.
#[track_caller]
pub fn refused(folder: &Path, code: i32, arguments: impl Words) -> String {
    let arguments = arguments.words();
    let output = leadhost(folder, arguments.clone());
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {complaint}"
    );
    complaint
}

/// Closes the folder to other accounts, as the service demands.
fn keep_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if folder.exists() {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder, private).expect("the folder is the test's");
    }
}

/// Prepares a command without the variables of the tester's environment that it would read.
pub fn command(folder: &Path, arguments: impl Words) -> Command {
    prepared(Command::new(binary()), folder, arguments.words())
}

/// The same for a program that the caller names, possibly wrapped by another one.
fn prepared(mut command: Command, folder: &Path, arguments: Vec<String>) -> Command {
    for name in [
        "LEADHOST_ADMIN",
        "LEADHOST_CA",
        "LEADHOST_ADMIN_KEY",
        "LEADHOST_CACHE_DIR",
        "LEADHOST_CONFIG",
        "LEADHOST_SEALING_KEY",
        "LEADHOST_SEALING_KEY_OLD",
        "LEADHOST_STORE_URL",
    ] {
        command.env_remove(name);
    }
    if arguments.first().is_some_and(|first| first == "serve") {
        keep_private(folder);
    }
    command
        .args(arguments)
        .env("LEADHOST_DATA_DIR", folder)
        .stdin(Stdio::null());
    command
}

/// Limits for plugin calls and conversions that even a busy machine does not reach. The
/// test's own flags come later and take precedence.
const PATIENCE: [&str; 4] = [
    "--set",
    "plugins.inline_ms=60000",
    "--set",
    "plugins.deadline_ms=60000",
];

const LOOK: Duration = Duration::from_millis(10);

/// A running service. It is killed when it is dropped.
pub struct Service {
    folder: PathBuf,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    addresses: Value,
}

impl Service {
    /// Starts it on free ports with a SQLite file in this data folder, and returns when it is
    /// ready.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_on(&On::Sqlite, folder, arguments)
    }

    /// The same on any store. The folder still belongs to the host.
    pub fn start_on(on: &On, folder: &Path, arguments: &[&str]) -> Self {
        Self::start_as(Command::new(binary()), on, folder, arguments)
    }

    /// The same with another build, or with a program that replaces itself with the service:
    /// the process that this command starts must become the service.
    #[track_caller]
    pub fn start_as(program: Command, on: &On, folder: &Path, arguments: &[&str]) -> Self {
        let arguments = [&SERVE, &PATIENCE[..], arguments].concat();
        share_compiled_code(folder);
        let mut child = prepared(program, folder, arguments[..].words())
            .env("LEADHOST_STORE_URL", on.url())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let mut log = Vec::new();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| {
            let ready = line.contains(": ready");
            log.push(line);
            ready
        });
        assert!(ready, "the service ended:\n{}", log.join("\n"));
        let log = Arc::new(Mutex::new(log));
        let rest = Arc::clone(&log);
        // A service whose log nobody reads would drop lines of it.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                rest.lock().expect("the lock is not poisoned").push(line);
            }
        });
        let said =
            std::fs::read_to_string(folder.join("service.json")).expect("it writes its addresses");
        Self {
            folder: folder.to_owned(),
            child,
            log,
            addresses: serde_json::from_str(&said).expect("JSON"),
        }
    }

    /// A request to one of its surfaces: `gateway`, `data` or `admin`.
    pub fn ask(&self, surface: &str, method: &str, target: &str) -> Ask {
        let address = self.addresses[surface].as_str().expect("a surface");
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let to = address.parse().expect("an address");
        if surface == "admin" {
            return Ask::admin(to, method, target);
        }
        Ask::new(to, method, target).header("host", address)
    }

    /// The address of one of its surfaces: `gateway`, `data` or `admin`.
    pub fn address(&self, surface: &str) -> std::net::SocketAddr {
        let address = self.addresses[surface].as_str().expect("a surface");
        address.parse().expect("an address")
    }

    /// Its process, for a test that observes or stops it.
    pub fn process(&self) -> Pid {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        id.expect("a process id")
    }

    /// Freezes it, like a host that is out of memory or being migrated.
    pub fn freeze(&self) {
        kill_process(self.process(), Signal::STOP).expect("it runs");
    }

    pub fn thaw(&self) {
        kill_process(self.process(), Signal::CONT).expect("it is there");
    }

    /// Returns its memory in bytes, without mapped files.
    pub fn memory(&self) -> u64 {
        memory_of(self.process())
    }

    /// Returns its peak memory in bytes, including mapped files.
    pub fn peak_memory(&self) -> u64 {
        bytes_of(self.process(), "VmHWM:")
    }

    /// Runs `act`. Returns its result, and by how many bytes the memory exceeded the start at
    /// most.
    pub fn memory_during<T>(&self, act: impl FnOnce() -> T) -> (T, u64) {
        let before = self.memory();
        let (end, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let looks = scope.spawn(move || {
                let mut most = self.memory();
                while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    most = most.max(self.memory());
                }
                most
            });
            let done = act();
            drop(end);
            let most = looks.join().expect("it only looks");
            (done, most.saturating_sub(before))
        })
    }

    /// Ends it like a power cut.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Returns when it has ended by itself, with how.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }

    /// Runs a command against it that must succeed. Returns its standard output.
    #[track_caller]
    pub fn run(&self, arguments: impl Words) -> String {
        let arguments = arguments.words();
        let output = leadhost(&self.folder, arguments.clone());
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a command that prints JSON with `--json`. Returns that.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        let printed = self.run(&format!("{line} --json"));
        serde_json::from_str(&printed).expect("JSON")
    }

    /// Runs a command against it that must fail. Returns its standard error.
    #[track_caller]
    pub fn fail(&self, arguments: impl Words) -> String {
        refused(&self.folder, 1, arguments)
    }

    /// Stops it as an operator would, and waits. Returns whether it exited successfully.
    pub fn stop(mut self) -> bool {
        kill_process(self.process(), Signal::TERM).expect("it runs");
        self.child.wait().expect("it ends").success()
    }

    /// Returns its log so far, warnings and errors only.
    pub fn complaints(&self) -> String {
        let log = self.log();
        let complaints = log
            .lines()
            .filter(|line| line.contains(" WARN ") || line.contains(" ERROR "));
        complaints.collect::<Vec<_>>().join("\n")
    }

    pub fn log(&self) -> String {
        self.log
            .lock()
            .expect("the lock is not poisoned")
            .join("\n")
    }
}

/// Returns the private memory of a process in bytes.
pub fn memory_of(process: Pid) -> u64 {
    bytes_of(process, "RssAnon:")
}

/// Reads a line of the system's report on a process.
fn bytes_of(process: Pid, name: &str) -> u64 {
    let file = format!("/proc/{}/status", process.as_raw_nonzero());
    let text = std::fs::read_to_string(file).expect("the system reports it");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: u64 = number
        .and_then(|number| number.parse().ok())
        .expect("it says so many kB");
    kibibytes << 10
}

impl Drop for Service {
    fn drop(&mut self) {
        // After `stop` there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
