//! The service is killed repeatedly while leads come in: every acknowledged lead
//! is stored exactly once.

use std::path::Path;

use leadhost_tests::components::component;
use leadhost_tests::load::{Load, Plan, Sent, Targets, Unacknowledged, What, assert_each_once};
use leadhost_tests::{On, Service, figures};
use serde_json::Value;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    every_acknowledged_lead_survives_repeated_kills_exactly_once,
}

/// Kills in one run. On a database each takes more time, and the file's own
/// recovery is not part of it.
fn kills(on: &On) -> usize {
    let kills = figures::size("LEADHOST_KILLS", 100);
    match on {
        On::Sqlite => kills,
        On::Postgres(_) => kills * 2 / 5,
    }
}

/// Active senders when it is killed.
const SENDERS: usize = 16;

/// Acknowledged leads before a kill: the number differs from life to life, so that
/// a kill hits every point of a commit.
fn lifetime(life: usize) -> usize {
    40 + (life * 37) % 160
}

/// With a rate limit that lets the test read everything back quickly.
pub(crate) const WORKSPACE: &str = r#"
[workspace]
slug = "crash"
name = "Crash"
rate_limit = 1000000

[[partners]]
name = "crm"

[[instances]]
name = "assistant"

[[connections]]
name = "portal"
partner = "crm"
instance = "assistant"
plugin = "grupo-olx"
"#;

async fn every_acknowledged_lead_survives_repeated_kills_exactly_once(on: On) {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = prepare_on(&on, folder.path()).await;
    let path = address(&keys);

    let mut all = Sent::default();
    let kills = kills(&on);
    for life in 0..kills {
        let mut service = start_on(&on, folder.path(), &[]).await;
        let load = Load::start(Plan {
            targets: Targets::new([service.address("gateway")]),
            what: What::Leads(path.clone()),
            name: format!("lead-{life}"),
            senders: SENDERS,
            unacknowledged: Unacknowledged::End,
            first: std::mem::take(&mut all.unsure),
        });
        load.reaches(lifetime(life)).await;
        service.kill();
        all = all.with(load.stop().await);
    }
    all.assert_well_formed();
    assert!(all.acknowledged.len() >= kills * 40);

    let service = start_on(&on, folder.path(), &[]).await;
    let key = keys["workspaceKey"].as_str().expect("a key");
    assert_each_once(service.address("data"), key, &all.acknowledged).await;
    let figure = format!(
        "{kills} kills beside {SENDERS} senders, {} leads acknowledged, 0 lost, 0 twice",
        all.acknowledged.len()
    );
    figures::tell("kills", Some(&on), None, &figure);
}

/// The path for the portal's leads.
pub(crate) fn address(keys: &Value) -> String {
    let connection = keys["connections"]["portal"].as_str();
    format!("/ingest-lead/{}", connection.expect("a connection"))
}

/// Prepares a SQLite file with one converter and one workspace. Returns the keys.
pub(crate) async fn prepare(folder: &Path) -> Value {
    prepare_on(&On::Sqlite, folder).await
}

pub(crate) async fn prepare_on(on: &On, folder: &Path) -> Value {
    applied_on(on, folder, &portal(), WORKSPACE).await
}

/// The converter of the portal's leads.
pub(crate) fn portal() -> Vec<u8> {
    component("plugins/converter-grupo-olx.wasm")
}

/// Starts a service, installs one plugin, applies a workspace, and stops it.
/// Returns the keys.
pub(crate) async fn applied_on(on: &On, folder: &Path, component: &[u8], file: &str) -> Value {
    applied_with(on, folder, &[component], file).await
}

/// The same with several plugins.
pub(crate) async fn applied_with(
    on: &On,
    folder: &Path,
    components: &[&[u8]],
    file: &str,
) -> Value {
    let inbox = folder.join("inbox");
    std::fs::create_dir(&inbox).expect("a folder");
    for (number, component) in components.iter().enumerate() {
        let plugin = inbox.join(format!("plugin-{number}.wasm"));
        std::fs::write(plugin, component).expect("a file");
    }
    let workspace = folder.join("workspace.toml");
    std::fs::write(&workspace, file).expect("a file");
    let paths = [inbox.display().to_string(), workspace.display().to_string()];
    let flags = ["--inbox", &paths[0], "--first-apply", &paths[1]];
    let service = start_on(on, folder, &flags).await;
    let keys = std::fs::read(folder.join("keys.json")).expect("keys were written");
    assert!(service.stop());
    serde_json::from_slice(&keys).expect("keys are JSON")
}

pub(crate) async fn start(folder: &Path, flags: &[&str]) -> Service {
    start_on(&On::Sqlite, folder, flags).await
}

pub(crate) async fn start_on(on: &On, folder: &Path, flags: &[&str]) -> Service {
    let (on, folder) = (on.clone(), folder.to_owned());
    let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
    tokio::task::spawn_blocking(move || {
        Service::start_on(
            &on,
            &folder,
            &flags.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    })
    .await
    .expect("the service starts")
}
