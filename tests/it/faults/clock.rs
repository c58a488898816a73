//! The clocks of the host and of its database jump an hour ahead and back while
//! leads come in and are read.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use leadhost_tests::load::{Follower, Targets, exported};
use leadhost_tests::program::{binary, preloaded};
use leadhost_tests::{Hosts, Json, On, figures};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    clocks_that_step_by_an_hour_lose_no_lead_and_no_row,
}

const HOUR: i64 = 3_600;

const SENDERS: usize = 16;

const SET_CLOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/it/faults/clock.c");

async fn clocks_that_step_by_an_hour_lose_no_lead_and_no_row(on: On) {
    let steps = figures::size("LEADHOST_CLOCK_STEPS", 4, 4);
    let hosts = Hosts::portal(on).apply().await;
    let key = hosts.workspace_key();
    let tools = tempfile::tempdir().expect("a folder");
    let (program, ahead) = with_clock(tools.path());
    let service = hosts.start_as(0, program, &[]).await;
    let targets = Targets::gateways(&[&service]);
    let follower = Follower::start(Targets::new([service.address("data")]), key);
    let load = hosts.load("step", &targets, SENDERS);
    load.reaches(100).await;
    for step in 0..steps {
        // Ahead, back, behind, back.
        let hours = [1, 0, -1, 0][step % 4];
        turn(&hosts.on, &ahead, hours * HOUR).await;
        load.goes_on(100).await;
    }
    let sent = hosts.assert_kept(&service, load).await;
    let data = service.address("data");
    follower.assert_saw_all(data, key).await;
    // Checks that the clocks really jumped.
    let span = span(&exported(data, key, "deals").await);
    assert!(
        span >= Duration::from_secs(3_500),
        "{span:?} from the first stamp to the last"
    );
    assert!(service.stop());
    let figure = format!(
        "{steps} steps of an hour, ahead and back: {} leads acknowledged, 0 lost, 0 twice, no row missed by an export client; the longest time without an acknowledged lead {:.1} s",
        sent.acknowledged.len(),
        sent.longest_pause().as_secs_f64()
    );
    figures::record("clock", Some(&hosts.on), None, &figure);
}

/// The program with a clock that is ahead by the seconds in this file.
pub fn with_clock(tools: &Path) -> (Command, PathBuf) {
    let ahead = tools.join("ahead");
    let mut program = Command::new(binary());
    program
        .env("LD_PRELOAD", preloaded(tools, SET_CLOCK))
        .env("CLOCK_AHEAD", &ahead);
    (program, ahead)
}

pub fn set_ahead(ahead: &Path, seconds: i64) {
    // Replaced atomically, so that a reader sees a whole file.
    let new = ahead.with_extension("new");
    std::fs::write(&new, seconds.to_string()).expect("a file");
    std::fs::rename(&new, ahead).expect("a file");
}

async fn turn(on: &On, ahead: &Path, seconds: i64) {
    set_ahead(ahead, seconds);
    on.shift_clock(seconds * 1_000_000).await;
}

/// Returns the time from the first stamp to the last.
fn span(rows: &[serde_json::Value]) -> Duration {
    let time = |row: &serde_json::Value| leadhost_domain::time::parse(row["cursor_at"].text());
    let stamps = rows.iter().map(|row| time(row).expect("a time").0);
    let (first, last) = (stamps.clone().min(), stamps.max());
    let micros = last.expect("rows") - first.expect("rows");
    Duration::from_micros(micros.unsigned_abs())
}
