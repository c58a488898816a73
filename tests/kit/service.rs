//! The program itself: `leadhost serve` as a process of its own, and the other
//! commands as somebody types them.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Ask;
use crate::on::On;
use crate::program::binary;

/// Runs a command to its end, with nothing of the tester's environment that it reads.
pub fn leadhost(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments)
        .output()
        .expect("the program runs")
}

/// What a test made for a service is its owner's, as the service demands.
fn keep_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if folder.exists() {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder, private).expect("the folder is the test's");
    }
}

/// A command that is not started yet, with nothing of the tester's environment that it reads.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    prepared(Command::new(binary()), folder, arguments)
}

/// The same of a program that the caller names, perhaps with another around it.
fn prepared(mut command: Command, folder: &Path, arguments: &[&str]) -> Command {
    for name in [
        "LEADHOST_ADMIN",
        "LEADHOST_ADMIN_KEY",
        "LEADHOST_CONFIG",
        "LEADHOST_SEALING_KEY",
        "LEADHOST_SEALING_KEY_OLD",
        "LEADHOST_STORE_URL",
    ] {
        command.env_remove(name);
    }
    if arguments.first() == Some(&"serve") {
        keep_private(folder);
    }
    command
        .args(arguments)
        .env("LEADHOST_DATA_DIR", folder)
        .stdin(Stdio::null());
    command
}

/// Calls of plugins end, and conversions within their request, on a busy machine
/// too. What a test sets itself comes later and holds.
const PATIENCE: [&str; 4] = [
    "--set",
    "plugins.inline_ms=60000",
    "--set",
    "plugins.deadline_ms=60000",
];

/// Between two looks at its memory.
const LOOK: Duration = Duration::from_millis(10);

/// A running service. It is killed when it is dropped.
pub struct Service {
    folder: PathBuf,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    addresses: Value,
}

impl Service {
    /// Starts it on free ports with a SQLite file in this data folder; returns
    /// when it is ready.
    ///
    /// # Panics
    /// When it ends before; the message has its log.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_on(&On::Sqlite, folder, arguments)
    }

    /// The same with something in its environment.
    pub fn start_with(folder: &Path, environment: &[(&str, &OsStr)], arguments: &[&str]) -> Self {
        let mut program = Command::new(binary());
        program.envs(environment.iter().copied());
        Self::start_as(program, &On::Sqlite, folder, arguments)
    }

    /// The same on any store; the folder is the host's own all the same.
    pub fn start_on(on: &On, folder: &Path, arguments: &[&str]) -> Self {
        Self::start_as(Command::new(binary()), on, folder, arguments)
    }

    /// The same of another build, or with a program around it that becomes it: the
    /// process that this command starts has to be the service.
    pub fn start_as(program: Command, on: &On, folder: &Path, arguments: &[&str]) -> Self {
        let ports = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ];
        let arguments = [&ports, &PATIENCE[..], arguments].concat();
        let mut child = prepared(program, folder, &arguments)
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
        // A pipe that nobody reads would stop the service.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                rest.lock().expect("nobody panics holding it").push(line);
            }
        });
        let said = std::fs::read_to_string(folder.join("service.json")).expect("it said where");
        Self {
            folder: folder.to_owned(),
            child,
            log,
            addresses: serde_json::from_str(&said).expect("JSON"),
        }
    }

    /// Asks one of its surfaces: `gateway`, `data` or `admin`.
    pub fn ask(&self, surface: &str, method: &str, target: &str) -> Ask {
        let address = self.addresses[surface].as_str().expect("a surface");
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Ask::new(address.parse().expect("an address"), method, target).header("host", address)
    }

    /// Where one of its surfaces listens: `gateway`, `data` or `admin`.
    pub fn address(&self, surface: &str) -> std::net::SocketAddr {
        let address = self.addresses[surface].as_str().expect("a surface");
        address.parse().expect("an address")
    }

    /// Its process, for a test that looks at it or stops it.
    pub fn process(&self) -> Pid {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        id.expect("a process id")
    }

    /// Lets it stand still, as a host does that is out of memory or being moved.
    pub fn freeze(&self) {
        kill_process(self.process(), Signal::STOP).expect("it runs");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        kill_process(self.process(), Signal::CONT).expect("it is there");
    }

    /// Bytes of memory that it has now, without what it maps of files.
    pub fn memory(&self) -> u64 {
        memory_of(self.process())
    }

    /// The most memory that it had at once, with what it maps of files.
    pub fn peak_memory(&self) -> u64 {
        bytes_of(self.process(), "VmHWM:")
    }

    /// What is done, and how many bytes of memory more than before it has at most meanwhile.
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

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Returns when it has ended by itself.
    pub fn wait(&mut self) {
        self.child.wait().expect("it ends");
    }

    /// A command against it, which has to succeed: its standard output.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = leadhost(&self.folder, arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// A command against it, which has to fail: its standard error.
    #[track_caller]
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = leadhost(&self.folder, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    /// Stops it as an operator would, and waits: whether it ended well.
    pub fn stop(mut self) -> bool {
        kill_process(self.process(), Signal::TERM).expect("it runs");
        self.child.wait().expect("it ends").success()
    }

    /// What it logged so far that is a warning or worse.
    pub fn complaints(&self) -> String {
        let log = self.log();
        let complaints = log
            .lines()
            .filter(|line| line.contains(" WARN ") || line.contains(" ERROR "));
        complaints.collect::<Vec<_>>().join("\n")
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .expect("nobody panics holding it")
            .join("\n")
    }
}

/// Bytes of memory that a process has for itself now.
///
/// # Panics
/// When it has ended.
pub fn memory_of(process: Pid) -> u64 {
    bytes_of(process, "RssAnon:")
}

/// What the system tells of a process in this line.
fn bytes_of(process: Pid, name: &str) -> u64 {
    let file = format!("/proc/{}/status", process.as_raw_nonzero());
    let text = std::fs::read_to_string(file).expect("the system tells");
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
