//! Plugins: what is refused before it serves, what a call may cost, and swaps
//! under load.

use std::path::Path;

use leadhost::clock::ManualClock;
use leadhost::config::Config;
use leadhost::domain::plugin::PluginDelivery;
use leadhost::domain::time::Micros;
use leadhost::plugin::{Budget, Plugins};
use leadhost_tests::guests;

fn plugins(data_dir: &Path, overrides: &[(&str, &str)]) -> Plugins {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (format!("plugins.{key}"), (*value).to_owned()))
        .collect();
    let config = Config::load(None, &overrides).unwrap();
    let clock = ManualClock::at(Micros(1_772_452_800_000_000));
    Plugins::new(&config.plugins, data_dir, clock).unwrap()
}

fn delivery(config: &str) -> PluginDelivery {
    PluginDelivery {
        id: "018f0000-0000-7000-8000-000000000001".to_owned(),
        received_at: "2026-03-02T12:00:00.000000Z".to_owned(),
        method: "POST".to_owned(),
        path: "/ingest-lead/x".to_owned(),
        query: vec![("a".to_owned(), "1".to_owned())],
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: b"{}".to_vec(),
        config: config.to_owned(),
        context: vec![("region".to_owned(), "BR".to_owned())],
    }
}

#[tokio::test]
async fn a_component_that_keeps_the_contract_converts() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = plugins(folder.path(), &[]);
    let prepared = plugins.prepare(guests::misbehave()).await.unwrap();
    let loaded = prepared.loaded;
    assert_eq!(loaded.description.name, "misbehave");
    assert_eq!(loaded.contract, "leadhost:converter@1.0.0");
    assert_eq!(prepared.checks.checks[0].scheme, "hmac-sha256");

    let answer = plugins
        .convert(&loaded, "lane", delivery("{}"), Budget::Worker)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(answer.items.len(), 1);
}
