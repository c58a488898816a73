//! The trial of a component as a whole: one time budget, few at once, and an
//! early end if its client has left.

use std::time::Duration;

use leadhost_golden::{Call, Case, MAX_CASES, append_section, pack};
use leadhost_plugin::{LoadError, Plugins};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{Host, On, Options, Service, eventually, has};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::Bench;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_file_of_the_inbox_that_ended_the_service_twice_is_left_out_of_the_third_start,
}

/// The misbehaving converter whose default word is `always`, with this many
/// golden cases.
fn with_cases(always: &str, count: usize) -> Vec<u8> {
    let variant = Variant::default().always(always);
    let cases: Vec<Case> = (0..count)
        .map(|number| Case::new(format!("case-{number}"), Call::Convert))
        .collect();
    append_section(&variant.component(), &pack(&cases).unwrap()).unwrap()
}

async fn nothing_runs(plugins: &Plugins) {
    eventually("no call runs or waits", async || plugins.load() == (0, 0)).await;
}

#[tokio::test]
async fn as_many_golden_cases_as_fit_are_refused_by_their_number() {
    let bench = Bench::new(&[]);
    let error = bench.refused(guests::golden_bomb()).await;
    let LoadError::GoldenSection(why) = &error else {
        panic!("{error}");
    };
    has!(why, &format!("at most {MAX_CASES}"));
}

#[tokio::test]
async fn golden_cases_that_do_not_answer_end_the_trial_after_a_few() {
    let bench = Bench::new(&[("deadline_ms", "200")]);
    let error = bench.refused(with_cases("loop", 500)).await;
    let LoadError::Golden { report, .. } = &error else {
        panic!("{error}");
    };
    has!(report, "not run: 497");
}

#[tokio::test]
async fn a_trial_ends_when_its_time_is_up_and_so_does_the_call_that_it_is_at() {
    let bench = Bench::new(&[("deadline_ms", "3600000"), ("trial_seconds", "1")]);
    let error = bench.refused(with_cases("loop", 2)).await;
    assert!(
        matches!(error, LoadError::TrialTimeout { budget } if budget == Duration::from_secs(1)),
        "{error}"
    );
    has!(error.to_string(), "plugins.trial_seconds");
    nothing_runs(&bench.plugins).await;
    bench.misbehave().await;
}

#[tokio::test]
async fn trials_beyond_those_that_may_wait_are_asked_to_retry() {
    let bench = Bench::new(&[("deadline_ms", "3600000"), ("trial_seconds", "3600")]);
    let component = with_cases("loop", 1);
    let trials: Vec<_> = (0..8)
        .map(|_| {
            let (plugins, component) = (bench.plugins.clone(), component.clone());
            tokio::spawn(async move { plugins.prepare(component).await })
        })
        .collect();
    // Every trial has its place: two run, six wait.
    eventually("a ninth is refused", async || {
        let asked = bench.plugins.trial();
        let answer = tokio::time::timeout(std::time::Duration::from_millis(50), asked);
        matches!(answer.await, Ok(Err(LoadError::Busy { .. })))
    })
    .await;
    for trial in &trials {
        trial.abort();
    }
    for trial in trials {
        assert!(trial.await.unwrap_err().is_cancelled());
    }
    nothing_runs(&bench.plugins).await;
    bench.misbehave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_whose_client_has_left_ends() {
    let options = Options::on(On::Sqlite)
        .with("plugins.deadline_ms", 3_600_000)
        .with("plugins.trial_seconds", 3_600);
    let host = Host::start(options).await;
    let key = host.admin_key().await;
    for target in ["/admin/v1/plugins/check", "/admin/v1/plugins"] {
        let component = with_cases("loop", 2);
        let mut client = TcpStream::connect(host.addresses.admin).await.unwrap();
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            host.addresses.admin,
            key.reveal(),
            component.len()
        );
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(&component).await.unwrap();
        eventually("its first case runs", async || {
            host.app.core.plugins.load().1 > 0
        })
        .await;
        drop(client);
        nothing_runs(&host.app.core.plugins).await;
    }
}

async fn a_file_of_the_inbox_that_ended_the_service_twice_is_left_out_of_the_third_start(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| folder.path().join(name));
    std::fs::create_dir(&data).unwrap();
    std::fs::create_dir(&inbox).unwrap();
    std::fs::write(inbox.join("evil.wasm"), with_cases("loop", 1)).unwrap();
    let flags = [
        "--inbox",
        inbox.to_str().unwrap(),
        "--set",
        "plugins.deadline_ms=3600000",
        "--set",
        "plugins.trial_seconds=3600",
        "--set",
        "server.drain_seconds=1",
    ];
    let start = async |attempts: u64| {
        let service = Service::start_on(&on, &data, &flags);
        eventually("the file is tried", async || {
            let mut notes = std::fs::read_dir(data.join("inbox-attempts"))
                .into_iter()
                .flatten()
                .flatten();
            notes.any(|note| note.metadata().is_ok_and(|note| note.len() == attempts))
        })
        .await;
        service
    };
    start(1).await.kill();
    // A stop during the trial is no crash.
    assert!(start(2).await.stop());
    start(1).await.kill();
    start(2).await.kill();
    let service = Service::start_on(&on, &data, &flags);
    eventually("it is refused", async || {
        service
            .run("status")
            .contains("evil.wasm of the inbox was refused")
    })
    .await;
    let status = service.run("status");
    has!(
        status,
        "the service ended 2 times while it tried the component"
    );
    has!(
        status,
        "If something else ended it, `leadhost plugin publish"
    );
    has!(service.complaints(), "inbox file refused, nothing changed");
}
