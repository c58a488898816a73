//! Stopping the program while all of its serving threads are blocked. The reader
//! of its log has stopped reading, so every serving thread waits for room in the
//! pipe: a real situation, without test code in the program.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use hyper::Method;
use leadhost_tests::client::Ask;
use leadhost_tests::service;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::timeout;

/// Killed when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Stuck {
    program: Program,
    addresses: Value,
    /// No longer read.
    _log: BufReader<ChildStderr>,
}

impl Stuck {
    /// Starts a service all of whose serving threads become blocked.
    async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = service::command(folder, &[&service::SERVE, arguments].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = child.stderr.take();
        let program = Program(child);
        let mut log = BufReader::new(log.expect("it is piped"));
        let mut line = String::new();
        while !line.contains(": ready") {
            line.clear();
            assert!(log.read_line(&mut line).expect("text") > 0, "it ended");
        }
        let said =
            std::fs::read_to_string(folder.join("service.json")).expect("it writes its addresses");
        let stuck = Self {
            program,
            addresses: serde_json::from_str(&said).expect("JSON"),
            _log: log,
        };
        stuck.fill().await;
        stuck
    }

    /// Sends requests until none is answered: each answer is a line of the log.
    async fn fill(&self) {
        let mut silent = 0;
        while silent < 3 {
            let asked = (0..200).map(|_| {
                let ask = self.ask("gateway", "/nothing");
                tokio::spawn(timeout(Duration::from_secs(2), ask.send()))
            });
            let mut answered = 0;
            for asked in asked.collect::<Vec<_>>() {
                answered += usize::from(asked.await.expect("no panic").is_ok());
            }
            silent = if answered == 0 { silent + 1 } else { 0 };
        }
    }

    fn ask(&self, surface: &str, target: &str) -> Ask {
        let address = self.addresses[surface].as_str().expect("a surface");
        let to: SocketAddr = address.parse().expect("an address");
        Ask::new(to, Method::GET, target).header("host", address)
    }

    fn id(&self) -> Pid {
        let id = i32::try_from(self.program.0.id())
            .ok()
            .and_then(Pid::from_raw);
        id.expect("a process id")
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).expect("it runs");
    }

    /// Waits for its end. Returns the exit code.
    async fn ended(self) -> Option<i32> {
        let Self {
            mut program, _log, ..
        } = self;
        let ended = tokio::task::spawn_blocking(move || program.0.wait().expect("it ends"));
        let ended = timeout(Duration::from_secs(60), ended);
        let status = ended.await.expect("it ends in time").expect("no panic");
        assert_eq!(status.signal(), None);
        status.code()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_whose_serving_threads_are_all_occupied_is_live_and_a_second_signal_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = Stuck::start(folder.path(), &["--set", "server.drain_seconds=3600"]).await;
    let live = stuck.ask("admin", "/health/live").send();
    let live = timeout(Duration::from_secs(30), live).await;
    let live = live.expect("a live probe is answered").expect(200);
    assert_eq!(live.json()["status"], "live");

    stuck.signal(Signal::TERM);
    // Two signals may be delivered as one: the second is sent until the program
    // has ended.
    let id = stuck.id();
    let again = tokio::spawn(async move {
        let mut every = tokio::time::interval(Duration::from_secs(1));
        every.tick().await;
        loop {
            every.tick().await;
            let _ = kill_process(id, Signal::TERM);
        }
    });
    let code = stuck.ended().await;
    again.abort();
    assert_eq!(code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_end_is_killed_at_the_end_of_the_drain() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = Stuck::start(folder.path(), &["--set", "server.drain_seconds=0"]).await;
    stuck.signal(Signal::TERM);
    assert_eq!(stuck.ended().await, Some(124));
}
