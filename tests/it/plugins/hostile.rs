//! Guests that exhaust time, memory or output in every possible way: each call
//! ends with its own fault, and the next one on the same host succeeds.

use std::sync::Arc;
use std::time::Duration;

use leadhost_plugin::{CallBudget, CallError, LoadError, Loaded};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{figures, has};

use super::{Bench, delivery, too_much_output, unless_busy, without_place};

/// The calls that must succeed have the same deadline.
const DEADLINE: (&str, &str) = ("deadline_ms", "1000");

const OUT_OF_TIME: CallError = CallError::OutOfTime {
    budget: Duration::from_secs(1),
    place: String::new(),
    inline: false,
    log: Vec::new(),
};

/// Each configuration makes the call run out of time; a successful call follows.
async fn runs_out_of_time(bench: &Bench, loaded: &Arc<Loaded>, configs: &[&str]) {
    for config in configs {
        let error = bench.convert(loaded, config).await.unwrap_err();
        let CallError::OutOfTime { budget, inline, .. } = error else {
            panic!("{config}: {error}");
        };
        let expect = (Duration::from_secs(1), false);
        assert_eq!((budget, inline), expect, "{config}");
        bench.works(loaded).await;
    }
    let figure = format!(
        "{} endless calls ({}): each ended at its deadline of 1 s of processor time, the next call succeeds",
        configs.len(),
        configs.join(" ").replace('|', "")
    );
    figures::record("hostile", None, None, &figure);
}

#[tokio::test]
async fn a_guest_that_uses_memory_for_ever_runs_out_of_time() {
    let (bench, loaded) = Bench::misbehaving(&[DEADLINE]).await;
    let configs = [r#"{"do":"touch"}"#, r#"{"do":"fill"}"#, r#"{"do":"copy"}"#];
    runs_out_of_time(&bench, &loaded, &configs).await;
}

#[tokio::test]
async fn a_guest_that_asks_the_host_for_ever_runs_out_of_time() {
    let bench = Bench::new(&[DEADLINE]);
    let loaded = bench.prepared(guests::misbehave_with_wasi()).await;
    let configs = [
        r#"{"do":"clock"}"#,
        r#"{"do":"random"}"#,
        r#"{"do":"random","size":1048576}"#,
        r#"{"do":"sleep"}"#,
        r#"{"do":"flood","size":65536}"#,
        r#"{"do":"flood","size":1}"#,
    ];
    runs_out_of_time(&bench, &loaded, &configs).await;
}

#[tokio::test]
async fn more_random_bytes_at_once_than_the_limit_are_a_trap() {
    let bench = Bench::new(&[]);
    let loaded = bench.prepared(guests::misbehave_with_wasi()).await;
    let config = r#"{"do":"random","size":1048577}"#;
    let error = bench.convert(&loaded, config).await.unwrap_err();
    let CallError::Trapped { message, .. } = &error else {
        panic!("{error}");
    };
    has!(message, "1048577");
    bench.works(&loaded).await;
}

#[tokio::test]
async fn a_lead_whose_name_has_many_megabytes_ends_the_call() {
    let (bench, loaded) = Bench::misbehaving(&[("output_mib", "1")]).await;
    for word in ["name", "long-attribute"] {
        let config = format!(r#"{{"do":"{word}","size":2000000}}"#);
        let error = bench.convert(&loaded, &config).await.unwrap_err();
        assert_eq!(error, too_much_output(1), "{word}");
        bench.works(&loaded).await;
    }
    let figure = "2 answers of 2 MB where 1 MiB is allowed: both calls ended as faults, the next call succeeds";
    figures::record("hostile", None, None, figure);
}

#[tokio::test]
async fn sender_checks_and_handshakes_that_loop_run_out_of_time() {
    let (bench, loaded) = Bench::misbehaving(&[DEADLINE]).await;
    let plugins = &bench.plugins;
    let config = r#"{"do":"loop-in-checks"}"#;
    let checks =
        unless_busy(|| plugins.sender_checks(&loaded, "lane", config, CallBudget::Worker)).await;
    assert_eq!(without_place(checks.unwrap_err()), OUT_OF_TIME);
    let answer = unless_busy(|| {
        let asked = delivery(r#"{"do":"loop-in-handshake"}"#);
        plugins.handshake(&loaded, "lane", asked, CallBudget::Worker)
    });
    assert_eq!(without_place(answer.await.unwrap_err()), OUT_OF_TIME);
    bench.works(&loaded).await;
}

#[tokio::test]
async fn a_component_whose_describe_loops_is_refused() {
    let bench = Bench::new(&[DEADLINE]);
    let looping = Variant::default().describe("loop");
    let error = bench.refused(looping.component()).await;
    let LoadError::Tried { function, source } = &error else {
        panic!("{error}");
    };
    let source = without_place(source.clone());
    assert_eq!((*function, source), ("describe", OUT_OF_TIME));
    let loaded = bench.misbehave().await;
    bench.works(&loaded).await;
}

#[tokio::test]
async fn an_interpreter_that_loops_prints_or_fills_its_memory_is_ended() {
    let bench = Bench::new(&[DEADLINE]);
    let loaded = bench.prepared(guests::misbehave_python()).await;
    let configs = [r#"{"do":"loop"}"#, r#"{"do":"print"}"#];
    runs_out_of_time(&bench, &loaded, &configs).await;
    // Whether it reaches its memory limit or its deadline first depends on the
    // machine, and an interpreter that is refused memory may end by itself.
    let filled = bench.convert(&loaded, r#"{"do":"fill"}"#).await;
    let error = filled.unwrap_err();
    assert!(error.is_fault(), "{error}");
    bench.works(&loaded).await;
}
