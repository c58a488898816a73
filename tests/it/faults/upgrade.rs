//! Two hosts on one database are replaced by another build, one after the other, while
//! leads come in and are read.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use leadhost_tests::load::{Follower, Load, Plan, Targets, Unacknowledged, What, assert_each_once};
use leadhost_tests::postgres::empty_database;
use leadhost_tests::program::binary;
use leadhost_tests::{On, figures};

use super::{key, start_as};
use crate::crash::{WORKSPACE, address, portal, start_on};

/// The variables for an earlier build, if the tester has one, and for the names of the
/// two builds.
const BEFORE: &str = "LEADHOST_PROGRAM_BEFORE";
const BUILDS: &str = "LEADHOST_BUILDS";

const SENDERS: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_replaced_one_by_one_cost_no_lead() {
    let Some(database) = empty_database().await else {
        return;
    };
    let on = On::Postgres(Arc::new(database));
    let before = std::env::var_os(BEFORE).map(PathBuf::from);
    let builds = match &before {
        Some(_) => std::env::var_os(BUILDS).unwrap_or_default(),
        None => "one build to itself".into(),
    };
    let before = before.unwrap_or_else(binary);
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [first, second] = [folders[0].path(), folders[1].path()];
    let inbox = first.join("inbox");
    std::fs::create_dir(&inbox).expect("a folder");
    std::fs::write(inbox.join("portal.wasm"), portal()).expect("a file");
    let file = first.join("workspace.toml");
    std::fs::write(&file, WORKSPACE).expect("a file");
    let paths = [inbox.display().to_string(), file.display().to_string()];
    let flags = ["--inbox", &paths[0], "--first-apply", &paths[1]];
    let service = start_as(Command::new(&before), &on, first, &flags).await;
    assert!(service.stop());
    let keys = std::fs::read(first.join("keys.json")).expect("keys were written");
    let keys = serde_json::from_slice(&keys).expect("keys are JSON");
    let sealing = "sealing.key";
    std::fs::copy(first.join(sealing), second.join(sealing)).expect("a copy");

    let mut hosts = Vec::new();
    for folder in [first, second] {
        hosts.push(start_as(Command::new(&before), &on, folder, &[]).await);
    }
    let gateways = Targets::new(hosts.iter().map(|host| host.address("gateway")));
    let readers = Targets::new(hosts.iter().map(|host| host.address("data")));
    let follower = Follower::start(readers.clone(), key(&keys));
    let load = Load::start(Plan {
        targets: gateways.clone(),
        what: What::Leads(address(&keys)),
        name: "lead".to_owned(),
        senders: SENDERS,
        unacknowledged: Unacknowledged::Again,
        first: Vec::new(),
    });
    load.reaches(200).await;
    for (place, folder) in [first, second].into_iter().enumerate() {
        let host = hosts.remove(0);
        let ended = tokio::task::block_in_place(|| host.stop());
        assert!(ended, "host {place} exits successfully");
        let host = start_on(&on, folder, &[]).await;
        gateways.replace(place, host.address("gateway"));
        readers.replace(place, host.address("data"));
        hosts.push(host);
        // Both builds serve side by side.
        load.goes_on(300).await;
    }
    let sent = load.stop().await;
    sent.assert_well_formed();
    let data = hosts[0].address("data");
    assert_each_once(data, key(&keys), &sent.acknowledged).await;
    follower.assert_saw_all(data, key(&keys)).await;
    let cut = sent
        .attempts
        .iter()
        .filter(|attempt| attempt.status.is_none());
    let figure = format!(
        "{}: 2 hosts replaced one by one beside {SENDERS} senders, {} leads acknowledged, 0 lost, 0 twice, {} requests refused or not connected, all accepted on retry; no row missed by an export client; the longest time without an acknowledged lead {:.1} s",
        builds.display(),
        sent.acknowledged.len(),
        cut.count() + sent.count(503),
        sent.longest_pause().as_secs_f64()
    );
    figures::tell("upgrade", Some(&on), None, &figure);
    for host in hosts {
        assert!(host.stop());
    }
}
