//! Stopping the program, also while all of its serving threads are blocked: a library
//! that the loader puts between the program and the system's library keeps them where
//! they read from a socket.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use leadhost_tests::program::{binary, preloaded};
use leadhost_tests::{On, Service};
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;
use tokio::time::timeout;

const STUCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/it/stuck.c");

struct Stuck {
    service: Service,
    _tools: TempDir,
}

impl Stuck {
    /// Starts a service all of whose serving threads become blocked.
    async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let tools = tempfile::tempdir().unwrap();
        let flag = tools.path().join("stuck");
        let mut program = Command::new(binary());
        program
            .env("LD_PRELOAD", preloaded(tools.path(), STUCK))
            .env("STUCK_WHILE", &flag);
        let service = Service::start_as(program, &On::Sqlite, folder, arguments);
        std::fs::write(&flag, "").unwrap();
        let stuck = Self {
            service,
            _tools: tools,
        };
        while stuck.answers().await > 0 {}
        stuck
    }

    /// Sends more requests than there are serving threads. Returns how many are answered.
    async fn answers(&self) -> usize {
        let asked = (0..200).map(|_| {
            let ask = self.service.ask("gateway", "GET", "/nothing");
            tokio::spawn(timeout(Duration::from_secs(2), ask.try_send()))
        });
        let mut answered = 0;
        for asked in asked.collect::<Vec<_>>() {
            answered += usize::from(matches!(asked.await, Ok(Ok(Some(_)))));
        }
        answered
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_whose_serving_threads_are_all_occupied_is_live_and_a_second_signal_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = Stuck::start(folder.path(), &["--set", "server.drain_seconds=3600"]).await;
    let live = stuck.service.ask("admin", "GET", "/health/live").send();
    let live = timeout(Duration::from_secs(30), live).await;
    let live = live.expect("a live probe is answered").expect(200);
    assert_eq!(live.json()["status"], "live");

    let id = stuck.service.process();
    kill_process(id, Signal::TERM).unwrap();
    // Two signals may be delivered as one: the second is sent until the program
    // has ended.
    let again = tokio::spawn(async move {
        let mut every = tokio::time::interval(Duration::from_secs(1));
        every.tick().await;
        loop {
            every.tick().await;
            let _ = kill_process(id, Signal::TERM);
        }
    });
    let code = ended(stuck.service).await;
    again.abort();
    assert_eq!(code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_end_is_killed_at_the_end_of_the_drain() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = Stuck::start(folder.path(), &["--set", "server.drain_seconds=0"]).await;
    kill_process(stuck.service.process(), Signal::TERM).unwrap();
    assert_eq!(ended(stuck.service).await, Some(124));
}

/// Waits for its end. Returns the exit code.
async fn ended(mut service: Service) -> Option<i32> {
    let ended = tokio::task::spawn_blocking(move || service.wait());
    let ended = timeout(Duration::from_secs(60), ended);
    ended
        .await
        .expect("it ends in time")
        .expect("no panic")
        .code()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_closes_stops_the_service_unless_nohup_started_it() {
    let folder = tempfile::tempdir().unwrap();
    // The tests may run under `nohup` themselves.
    let mut terminal = Command::new("env");
    terminal.arg("--default-signal=HUP").arg(binary());
    let service = Service::start_as(terminal, &On::Sqlite, folder.path(), &[]);
    kill_process(service.process(), Signal::HUP).unwrap();
    assert_eq!(ended(service).await, Some(0));

    let mut nohup = Command::new("nohup");
    nohup.arg(binary());
    let service = Service::start_as(nohup, &On::Sqlite, folder.path(), &[]);
    kill_process(service.process(), Signal::HUP).unwrap();
    service.run("status");
    let log = service.log();
    assert!(!log.contains("stopping"), "{log}");
    assert!(service.stop());
}
