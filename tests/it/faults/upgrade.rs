//! Two hosts on one database are replaced by another build, one after the other, while
//! leads come in and are read.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use leadhost_tests::load::{Follower, Targets};
use leadhost_tests::postgres::empty_database;
use leadhost_tests::program::binary;
use leadhost_tests::{Hosts, On, figures};

/// The variables for an earlier build, if the tester has one, and for the names of the
/// two builds.
const BEFORE: &str = "LEADHOST_PROGRAM_BEFORE";
const BUILDS: &str = "LEADHOST_BUILDS";

const SENDERS: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_replaced_one_by_one_lose_no_lead() {
    let database = available!(empty_database());
    let on = On::Postgres(Arc::new(database));
    let before = std::env::var_os(BEFORE).map(PathBuf::from);
    let builds = match &before {
        Some(_) => std::env::var_os(BUILDS).unwrap_or_default(),
        None => "one build to itself".into(),
    };
    let before = before.unwrap_or_else(binary);
    let hosts = Hosts::portal(on).count(2);
    let hosts = hosts.program(Command::new(&before)).apply().await;
    let mut running = Vec::new();
    for number in 0..2 {
        let before = Command::new(&before);
        running.push(hosts.start_as(number, before, &[]).await);
    }
    let gateways = Targets::gateways(&[&running[0], &running[1]]);
    let readers = Targets::new(running.iter().map(|host| host.address("data")));
    let key = hosts.workspace_key();
    let follower = Follower::start(readers.clone(), key);
    let load = hosts.load("lead", &gateways, SENDERS);
    load.reaches(200).await;
    for place in 0..2 {
        let host = running.remove(0);
        let ended = tokio::task::block_in_place(|| host.stop());
        assert!(ended, "host {place} exits successfully");
        let host = hosts.start(place).await;
        gateways.replace(place, host.address("gateway"));
        readers.replace(place, host.address("data"));
        running.push(host);
        // Both builds serve side by side.
        load.goes_on(300).await;
    }
    let sent = hosts.assert_kept(&running[0], load).await;
    let data = running[0].address("data");
    follower.assert_saw_all(data, key).await;
    let attempts = sent.attempts.iter();
    let cut = attempts.filter(|attempt| attempt.status.is_none());
    let figure = format!(
        "{}: 2 hosts replaced one by one beside {SENDERS} senders, {} leads acknowledged, 0 lost, 0 twice, {} requests refused or not connected, all accepted on retry; no row missed by an export client; the longest time without an acknowledged lead {:.1} s",
        builds.display(),
        sent.acknowledged.len(),
        cut.count() + sent.count(503),
        sent.longest_pause().as_secs_f64()
    );
    figures::record("upgrade", Some(&hosts.on), None, &figure);
    for host in running {
        assert!(host.stop());
    }
}
