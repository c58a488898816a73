//! Versions are swapped atomically while calls run.

use std::sync::Arc;

use leadhost_domain::plugin::Digest;
use leadhost_golden::{append_section, pack};
use leadhost_plugin::{CallBudget, Loaded, NotInstalled};
use leadhost_tests::guests;

use super::{Bench, delivery};

async fn another(bench: &Bench) -> Arc<Loaded> {
    let bytes = append_section(&guests::misbehave(), &pack(&[]).unwrap()).unwrap();
    bench.prepared(bytes).await
}

#[tokio::test]
async fn a_prepared_version_is_nowhere_until_it_is_installed_and_serves_when_activated() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let plugins = &bench.plugins;
    assert!(plugins.by_digest(&loaded.digest).is_none());
    assert!(plugins.active("misbehave").is_none());
    let unknown = plugins.activate("misbehave", &loaded.digest).unwrap_err();
    assert_eq!(unknown, NotInstalled(loaded.digest.clone()));

    plugins.install(&loaded);
    assert!(plugins.by_digest(&loaded.digest).is_some());
    assert!(plugins.active("misbehave").is_none());
    let before = plugins.activate("misbehave", &loaded.digest).unwrap();
    assert!(before.is_none());
    let expect = Digest::compute(&guests::misbehave());
    assert_eq!(plugins.active("misbehave").unwrap().digest, expect);
    let ran = loaded.ran_with(7);
    assert_eq!((&*ran.version, ran.config_version), ("1.0.0", 7));
}

#[tokio::test]
async fn a_call_in_flight_finishes_on_the_version_that_it_began_with() {
    let bench = Bench::new(&[]);
    let old = bench.misbehave().await;
    let new = another(&bench).await;
    assert_ne!(old.digest, new.digest);
    let plugins = &bench.plugins;
    plugins.install(&old);
    plugins.install(&new);
    plugins.activate("misbehave", &old.digest).unwrap();

    let serving = plugins.active("misbehave").unwrap();
    let in_flight = {
        let plugins = plugins.clone();
        tokio::spawn(async move {
            plugins
                .convert(
                    &serving,
                    "lane",
                    delivery(r#"{"do":"burn","size":1000000}"#),
                    CallBudget::Worker,
                )
                .await
        })
    };
    while plugins.load() != (0, 1) && !in_flight.is_finished() {
        tokio::task::yield_now().await;
    }
    let before = plugins.activate("misbehave", &new.digest).unwrap().unwrap();
    assert_eq!(before.digest, old.digest);
    plugins.retire(&old.digest);
    drop((before, old));

    assert_eq!(plugins.active("misbehave").unwrap().digest, new.digest);
    let answer = in_flight.await.unwrap().unwrap().unwrap();
    assert_eq!(answer.notes.len(), 1);
}

#[tokio::test]
async fn a_retired_version_is_removed_even_if_it_was_active() {
    let (bench, loaded) = Bench::misbehaving(&[]).await;
    let plugins = &bench.plugins;
    plugins.install(&loaded);
    plugins.activate("misbehave", &loaded.digest).unwrap();
    assert!(plugins.list()[0].active);
    plugins.retire(&loaded.digest);
    assert!(plugins.active("misbehave").is_none());
    assert!(plugins.by_digest(&loaded.digest).is_none());
    assert!(plugins.list().is_empty());
}
