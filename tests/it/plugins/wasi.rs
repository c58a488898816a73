//! The view of a guest that links WASI: a clock that stands at the time of
//! receipt, randomness derived from the delivery, and nothing else.
//!
//! The guest is built for `wasm32-wasip2`; without that target these tests
//! print a message and do nothing.

use std::sync::Arc;

use leadhost_domain::plugin::PluginDelivery;
use leadhost_golden::{Call, Case, append_section, pack};
use leadhost_plugin::{CallBudget, CallError, LoadError, Loaded};
use leadhost_tests::{guests, lacks};
use serde_json::json;

use super::{Bench, delivery};

async fn guest(bench: &Bench) -> Arc<Loaded> {
    let component = guests::misbehave_with_wasi();
    bench.prepared(component).await
}

async fn notes(bench: &Bench, loaded: &Arc<Loaded>, delivery: PluginDelivery) -> Vec<String> {
    let answer = bench
        .plugins
        .convert(loaded, "lane", delivery, CallBudget::Worker)
        .await;
    answer.unwrap().unwrap().notes
}

#[tokio::test]
async fn a_guest_sees_the_time_of_receipt_and_no_machine() {
    let bench = Bench::new(&[]);
    let loaded = guest(&bench).await;
    let seen = notes(&bench, &loaded, delivery(r#"{"do":"look-around"}"#)).await;
    for expected in [
        "wall Ok(1772452800250000)",
        "variables 0",
        "arguments 0",
        "root false",
        "socket false",
    ] {
        assert!(seen.iter().any(|line| line == expected), "{seen:?}");
    }
}

#[tokio::test]
async fn the_output_of_a_guest_is_in_its_notes_up_to_a_bound() {
    let bench = Bench::new(&[]);
    let loaded = guest(&bench).await;
    let few = notes(&bench, &loaded, delivery(r#"{"do":"print","size":3}"#)).await;
    assert_eq!(few, ["printed", "ppp", "an error"]);
    let print = delivery(r#"{"do":"print","size":1000000}"#);
    let many = notes(&bench, &loaded, print).await;
    let many: usize = many.iter().map(String::len).sum();
    assert!(many <= (16 << 10) + "printed".len(), "{many}");
}

#[tokio::test]
async fn the_last_output_of_a_guest_that_aborts_is_kept() {
    let bench = Bench::new(&[]);
    let loaded = guest(&bench).await;
    let error = bench
        .convert(&loaded, r#"{"do":"print-and-trap"}"#)
        .await
        .unwrap_err();
    let CallError::Trapped { log, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(log[0], "the last words");
    assert!(log.iter().any(|line| line.contains("as asked")), "{log:?}");
}

#[tokio::test]
async fn a_call_that_runs_out_of_time_keeps_the_end_of_its_log() {
    let bench = Bench::new(&[("deadline_ms", "500")]);
    let loaded = guest(&bench).await;
    let flood = r#"{"do":"flood","size":100}"#;
    let error = bench.convert(&loaded, flood).await.unwrap_err();
    assert!(matches!(error, CallError::OutOfTime { .. }), "{error}");
    let bytes: usize = error.log().iter().map(String::len).sum();
    assert!((1..=16 << 10).contains(&bytes), "{bytes}");
    assert!(error.log().iter().any(|line| *line == "f".repeat(100)));
    lacks!(error.to_string(), "fff");
}

#[tokio::test]
async fn a_golden_case_that_crashes_is_refused_with_the_end_of_its_log() {
    let bench = Bench::new(&[]);
    let component = guests::misbehave_with_wasi();
    let mut case = Case::new("crash", Call::Convert);
    case.delivery.config = json!({"do": "confess", "size": 10_000});
    let packed = pack(&[case]).unwrap();
    let component = append_section(&component, &packed).unwrap();
    let error = bench.refused(component).await;
    let refusal = error.to_string();
    assert!(matches!(error, LoadError::Golden { .. }), "{refusal}");
    let wrote = refusal.find("; it wrote: ");
    let wrote = wrote.unwrap_or_else(|| panic!("{refusal}"));
    let is_so = refusal[wrote..].contains("misbehave/src/lib.rs:");
    assert!(is_so, "{refusal}");
    assert!(refusal[wrote..].contains("the last words"), "{refusal}");
    lacks!(refusal, "RUST_BACKTRACE");
    let is_so = !refusal.contains('\n') && refusal.len() < 2_000;
    assert!(is_so, "{refusal}");
}
