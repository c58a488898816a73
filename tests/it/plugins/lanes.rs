//! Connections share the processor: none blocks another, and a full queue is
//! reported at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leadhost_plugin::{CallBudget, CallError, Loaded};
use leadhost_tests::{eventually, figures};
use tokio::task::JoinHandle;

use super::{Bench, Converted, delivery};

const LONG: (&str, &str) = ("deadline_ms", "60000");

const LOOP: &str = r#"{"do":"loop"}"#;

type Call = JoinHandle<Converted>;

/// A call of the worker in its own task.
fn start(bench: &Bench, loaded: &Arc<Loaded>, lane: &'static str, config: &'static str) -> Call {
    let (plugins, loaded) = (bench.plugins.clone(), Arc::clone(loaded));
    tokio::spawn(async move {
        let call = plugins.convert(&loaded, lane, delivery(config), CallBudget::Worker);
        call.await
    })
}

async fn ready(bench: &Bench) -> Arc<Loaded> {
    let loaded = bench.misbehave().await;
    until(|| bench.plugins.load() == (0, 0)).await;
    loaded
}

/// The same, in a lane whose calls are known to be slow.
async fn ready_and_slow(bench: &Bench, lane: &'static str) -> Arc<Loaded> {
    let loaded = ready(bench).await;
    let slow = bench.convert_in(lane, &loaded, LOOP, CallBudget::Inline);
    let error = slow.await.unwrap_err();
    let expected = matches!(error, CallError::OutOfTime { inline: true, .. });
    assert!(expected, "{error}");
    until(|| bench.plugins.load() == (0, 0)).await;
    loaded
}

async fn quick(bench: &Bench, loaded: &Arc<Loaded>) {
    let call = bench.convert_in("quick", loaded, "{}", CallBudget::Inline);
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn one_slow_connection_does_not_hold_up_the_others() {
    let settings = [("threads", "2"), ("inline_ms", "5000"), LONG];
    let bench = Bench::new(&settings);
    let loaded = ready(&bench).await;
    let slow = (0..8).map(|_| start(&bench, &loaded, "slow", LOOP));
    let slow: Vec<Call> = slow.collect();
    // The lane's share of the slow calls runs; the others are refused because the
    // queue is full.
    until(|| bench.plugins.load() == (0, 2)).await;

    for _ in 0..20 {
        quick(&bench, &loaded).await;
    }
    // The slow ones still compute.
    until(|| bench.plugins.load() == (0, 2)).await;
    assert_eq!(slow.iter().filter(|call| call.is_finished()).count(), 6);
    let figure = "8 endless calls over one connection: 2 compute, 6 are refused because the queue is full, and 20 of 20 calls over another succeed meanwhile";
    figures::record("hostile", None, None, figure);
    for call in slow {
        if call.is_finished() {
            assert_eq!(call.await.unwrap().unwrap_err(), CallError::Busy);
        } else {
            call.abort();
        }
    }
    until(|| bench.plugins.load() == (0, 0)).await;
}

#[tokio::test]
async fn a_full_lane_is_busy_and_another_lane_is_not() {
    let bench = Bench::new(&[("threads", "1"), ("queue", "4"), LONG]);
    let loaded = ready_and_slow(&bench, "full").await;
    let running = start(&bench, &loaded, "full", LOOP);
    until(|| bench.plugins.load() == (0, 1)).await;
    let waiting = [(); 2].map(|()| start(&bench, &loaded, "full", LOOP));
    until(|| bench.plugins.load() == (2, 1)).await;

    let refused = bench.convert_in("full", &loaded, "{}", CallBudget::Worker);
    let error = refused.await.unwrap_err();
    assert_eq!(error, CallError::Busy);
    assert!(!error.is_fault());

    let other = start(&bench, &loaded, "other", "{}");
    other.await.unwrap().unwrap().unwrap();
    // If the machine is so busy that the other call became slow too, the
    // longest-running one was ended to make room for it.
    until(|| bench.plugins.load() == (2, 1) || running.is_finished()).await;
    if running.is_finished() {
        assert_eq!(running.await.unwrap().unwrap_err(), CallError::Busy);
    } else {
        running.abort();
    }
    for call in waiting {
        call.abort();
    }
}

#[tokio::test]
async fn a_request_is_answered_while_another_call_never_ends() {
    let settings = [("threads", "1"), ("inline_ms", "1000"), LONG];
    let bench = Bench::new(&settings);
    let loaded = ready(&bench).await;
    let call = start(&bench, &loaded, "slow", LOOP);
    until(|| bench.plugins.load() == (0, 1)).await;
    quick(&bench, &loaded).await;
    until(|| bench.plugins.load() == (0, 1)).await;
    call.abort();
}

#[tokio::test]
async fn a_call_ends_when_its_caller_goes_away() {
    let bench = Bench::new(&[("threads", "1"), LONG]);
    let loaded = ready(&bench).await;
    let call = start(&bench, &loaded, "lane", LOOP);
    until(|| bench.plugins.load() == (0, 1)).await;
    call.abort();
    bench.works(&loaded).await;
}

#[tokio::test]
async fn a_shutdown_fails_waiting_calls_and_does_not_end_running_ones() {
    let bench = Bench::new(&[("threads", "1"), LONG]);
    let loaded = ready_and_slow(&bench, "lane").await;
    let running = start(&bench, &loaded, "lane", LOOP);
    until(|| bench.plugins.load() == (0, 1)).await;
    let waiting = start(&bench, &loaded, "lane", "{}");
    until(|| bench.plugins.load() == (1, 1)).await;
    bench.plugins.close();
    assert_eq!(waiting.await.unwrap().unwrap_err(), CallError::ShuttingDown);
    let late = bench.convert(&loaded, "{}").await.unwrap_err();
    assert_eq!(late, CallError::ShuttingDown);
    // It computes until its deadline, or until its caller goes away.
    assert_eq!(bench.plugins.load(), (0, 1));
    assert!(!running.is_finished());
    running.abort();
    until(|| bench.plugins.load() == (0, 0)).await;
}

struct Hogs(Arc<AtomicBool>);

impl Hogs {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        for _ in 0..2 * cores {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(over)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_call_that_never_ends_is_ended_when_others_want_every_processor() {
    let bench = Bench::new(&[("inline_ms", "20"), ("deadline_ms", "200")]);
    let loaded = ready_and_slow(&bench, "lane").await;
    let hogs = Hogs::start();
    let call = start(&bench, &loaded, "lane", LOOP).await;
    let error = call.unwrap().unwrap_err();
    drop(hogs);
    let expected = matches!(error, CallError::OutOfTime { inline: false, .. });
    assert!(expected, "{error}");
}

async fn until(condition: impl Fn() -> bool) {
    eventually("a load of the threads", async || condition()).await;
}
