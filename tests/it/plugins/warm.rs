//! Warm instances: which versions have them, that a call in one answers as in a fresh one, and
//! that they are bounded and end with their version.

use std::sync::Arc;

use leadhost_golden::{Call, Case, Delivery, append_custom, append_section, pack};
use leadhost_plugin::{Loaded, WarmLoad};
use leadhost_tests::{eventually, guests};

use super::Bench;

/// Larger than components that start fast.
const PADDING: usize = 2 << 20;

const NONE: WarmLoad = WarmLoad {
    instances: 0,
    bytes: 0,
};

/// Prepares a converter of this many bytes more, with a golden case for each configuration.
async fn prepared(
    bench: &Bench,
    component: Vec<u8>,
    configs: &[&str],
    padding: usize,
) -> Arc<Loaded> {
    let plain = bench.prepared(component.clone()).await;
    let mut cases = Vec::new();
    for (number, config) in configs.iter().enumerate() {
        let mut case = Case {
            delivery: Delivery {
                config: serde_json::from_str(config).unwrap(),
                ..Delivery::default()
            },
            ..Case::new(format!("case-{number}"), Call::Convert)
        };
        let answer = bench.plugins.answer_case(&plain, Arc::new(case.clone()));
        let answer = answer.await;
        case.expect = Some(answer.output.unwrap());
        cases.push(case);
    }
    let padded = append_custom(&component, "padding", &vec![b'x'; padding]).unwrap();
    let section = pack(&cases).unwrap();
    let packed = append_section(&padded, &section).unwrap();
    bench.prepared(packed).await
}

/// Activates the version and waits until its instances are ready.
async fn warmed(bench: &Bench, loaded: &Arc<Loaded>) -> WarmLoad {
    bench.plugins.install(loaded);
    let name = &loaded.description.name;
    leadhost_tests::until("a warm instance", async || {
        // While instances of earlier calls are freed, there may be no room for one: it is asked for again.
        bench.plugins.activate(name, &loaded.digest).unwrap();
        Some(bench.plugins.warm()).filter(|warm| warm.instances > 0)
    })
    .await
}

#[tokio::test]
async fn a_large_version_whose_golden_cases_hold_in_a_second_call_gets_warm_instances() {
    let bench = Bench::new(&[]);
    let loaded = prepared(&bench, guests::misbehave(), &["{}"], PADDING).await;
    assert!(loaded.may_be_warm());
    assert_eq!(bench.plugins.warm(), NONE, "it is not active");
    let warm = warmed(&bench, &loaded).await;
    assert_eq!(warm.instances, 1);
    assert!(warm.bytes > 0);
}

#[tokio::test]
async fn each_call_has_an_instance_of_its_own() {
    let bench = Bench::new(&[]);
    // The golden case leaves the counter alone.
    let loaded = prepared(&bench, guests::misbehave(), &["{}"], PADDING).await;
    for _ in 0..5 {
        warmed(&bench, &loaded).await;
        let answer = bench.convert(&loaded, r#"{"do":"count"}"#).await;
        assert_eq!(answer.unwrap().unwrap().notes, ["0"]);
    }
}

#[tokio::test]
async fn a_call_in_a_warm_instance_answers_as_in_a_fresh_one() {
    let cold = Bench::new(&[("warm_mib", "0")]);
    let warm = Bench::new(&[]);
    let fresh = prepared(&cold, guests::misbehave(), &["{}"], PADDING).await;
    let loaded = prepared(&warm, guests::misbehave(), &["{}"], PADDING).await;
    assert!(!fresh.may_be_warm());
    warmed(&warm, &loaded).await;
    let shown = |answer: leadhost_domain::plugin::ConverterOutput| format!("{:?}", answer.items);
    let expected = cold.works(&fresh).await;
    let answer = warm.works(&loaded).await;
    assert_eq!(shown(answer), shown(expected));
}

#[tokio::test]
async fn a_version_that_could_tell_its_calls_apart_or_starts_fast_is_called_in_fresh_instances() {
    let bench = Bench::new(&[]);
    let (plain, wasi) = (guests::misbehave(), guests::misbehave_with_wasi());
    let remembers = r#"{"do":"count"}"#;
    let reads_the_time = r#"{"do":"look-around","size":1}"#;
    for (what, component, configs, padding, may) in [
        ("remembers", &plain, &[remembers][..], PADDING, false),
        ("links WASI", &wasi, &["{}"], PADDING, true),
        ("reads the time", &wasi, &[reads_the_time], PADDING, false),
        ("is small", &plain, &["{}"], 1, false),
        ("has no golden case", &plain, &[], PADDING, false),
    ] {
        let loaded = prepared(&bench, component.clone(), configs, padding).await;
        assert_eq!(loaded.may_be_warm(), may, "it {what}");
    }
}

#[tokio::test]
async fn warm_instances_end_with_the_activity_of_their_version() {
    let bench = Bench::new(&[]);
    let loaded = prepared(&bench, guests::misbehave(), &["{}"], PADDING).await;
    warmed(&bench, &loaded).await;
    let next = bench.misbehave().await;
    bench.plugins.install(&next);
    let name = &next.description.name;
    bench.plugins.activate(name, &next.digest).unwrap();
    assert_eq!(bench.plugins.warm(), NONE);
    // A call on the version that still runs is answered, and starts fresh.
    bench.works(&loaded).await;

    warmed(&bench, &loaded).await;
    bench.plugins.retire(&loaded.digest);
    assert_eq!(bench.plugins.warm(), NONE);
}

#[tokio::test]
async fn a_version_that_never_serves_gives_its_room_back() {
    let bench = Bench::new(&[]);
    // A comparison calls a version that is neither installed nor active.
    let loaded = prepared(&bench, guests::misbehave(), &["{}"], PADDING).await;
    bench.works(&loaded).await;
    eventually("a warm instance", async || {
        bench.plugins.warm().instances > 0
    })
    .await;
    drop(loaded);
    eventually("the room of a version that is gone", async || {
        bench.plugins.warm() == NONE
    })
    .await;
}

#[tokio::test]
async fn an_instance_that_is_larger_than_all_may_be_together_is_not_kept() {
    let bench = Bench::new(&[("warm_mib", "1")]);
    let loaded = prepared(&bench, guests::misbehave(), &["{}"], PADDING).await;
    bench.plugins.install(&loaded);
    let name = &loaded.description.name;
    bench.plugins.activate(name, &loaded.digest).unwrap();
    eventually("the end of the attempt", async || {
        bench.plugins.load() == (0, 0)
    })
    .await;
    bench.works(&loaded).await;
    assert_eq!(bench.plugins.warm(), NONE);
}
