//! Readiness is truthful: a host that cannot write reports that, with the
//! reason.

use std::process::Command;
use std::time::Instant;

use leadhost_tests::load::post;
use leadhost_tests::program::{binary, preloaded};
use leadhost_tests::{Hosts, On, eventually, figures, has, lacks};

/// A disk whose writes fail with EIO, as a library that the loader puts between
/// the program and the system's library.
const FAILING_DISK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/it/admission/eio.c");

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_disk_fails_is_not_ready_until_a_commit_succeeds() {
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let path = hosts.ingest("portal");
    let tools = tempfile::tempdir().expect("a folder");
    let fails = tools.path().join("fails");
    let library = preloaded(tools.path(), FAILING_DISK);
    let mut program = Command::new(binary());
    program
        .env("LD_PRELOAD", library)
        .env("FAILS_WHILE", &fails);
    let service = hosts.start_as(0, program, &[]).await;
    let ready = async || service.ask("gateway", "GET", "/health/ready").send().await;
    let took = async |id: &str| post(&mut None, service.address("gateway"), &path, id).await;
    assert_eq!(took("before").await, Some(true));
    ready().await.expect(200);

    std::fs::write(&fails, "").expect("a file");
    assert_ne!(took("while").await, Some(true));
    let lead = service.ask("gateway", "POST", &path).body(
        r#"{"leadOrigin":"Grupo OLX","originLeadId":"while-2","name":"Ana","phone":"11987654321"}"#,
    );
    let refused = lead.send().await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    lacks!(refused, "room");
    let unready = ready().await.expect(503).json();
    has!(unready["reasons"].to_string(), "nothing can be written");
    // Checking alone does not make it ready.
    ready().await.expect(503);

    std::fs::remove_file(&fails).expect("it is there");
    let mended = Instant::now();
    eventually("the host finds out that it can write again", async || {
        ready().await.status == 200
    })
    .await;
    let recovered = mended.elapsed();
    assert_eq!(took("after").await, Some(true));
    let figure = format!(
        "every write and sync gives EIO: leads refused with 503, not ready, and ready again {:.1} s after the disk recovered",
        recovered.as_secs_f64()
    );
    figures::record("eio", Some(&On::Sqlite), None, &figure);
}
