//! A version becomes active on every host, or on none.

use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{self, AcceptedWords, DeployError};
use leadhost_store::Activation;
use leadhost_tests::guests::version;
use leadhost_tests::{Host, On, Service, eventually, fields, has, lacks, until};
use serde_json::Value;

use super::fleet;
use crate::ingest::harm;
use crate::ingest::traffic::Traffic;

fn served(host: &Host) -> Option<Digest> {
    let active = host.app.core.plugins.active("misbehave")?;
    Some(active.digest.clone())
}

#[track_caller]
fn all_serve(hosts: &[&Host], digest: &Digest) {
    for host in hosts {
        assert_eq!(served(host).as_ref(), Some(digest));
    }
}

async fn serves(host: &Host, digest: &Digest) {
    let serves = async || served(host).as_ref() == Some(digest);
    eventually("the host serves it", serves).await;
}

/// Uploads and activates this version. No host is behind.
async fn activated(host: &Host, wasm: Vec<u8>) -> Activation {
    let uploaded = host.upload(wasm, "test").await.unwrap();
    let activated = uploaded.activation.expect("it was asked for");
    assert!(activated.behind.is_empty(), "{:?}", activated.behind);
    activated.activation
}

/// Reads what `leadhost plugin list` reads of the plugin.
async fn listed(host: &Host) -> Value {
    let key = host.admin_key().await;
    let answer = host.admin("GET", "/admin/v1/plugins").bearer(&key).send();
    let answer = answer.await.expect(200).json();
    answer["plugins"][0].clone()
}

#[tokio::test]
async fn an_activation_serves_on_every_host_when_it_is_answered() {
    let [one, two, three] = available!(fleet(["one", "two", "three"]));
    let all = [&one, &two, &three];
    let first = one.converter(version("1.0.0")).await;
    all_serve(&all, &first);
    let second = activated(&two, version("1.1.0")).await;
    all_serve(&all, &second.digest);
    fields!(listed(&three).await, {
        "generation": second.generation, "servedBy": ["one", "three", "two"], "behind": [],
    });

    let back = three.roll_back("misbehave").await.unwrap();
    assert!(back.behind.is_empty());
    assert!(back.activation.generation > second.generation);
    all_serve(&all, &first);
}

#[tokio::test]
async fn a_swap_under_load_on_three_hosts_loses_nothing_and_ends_the_old_version() {
    let hosts = available!(fleet(["one", "two", "three"]));
    let old = hosts[0].converter(version("1.0.0")).await;
    let declared = hosts[0].declare(&harm("good", "", 0)).await;
    let asks = (0..12).map(|number| hosts[number % 3].post(&declared.address("good")));
    let traffic = Traffic::start(asks).await;
    let new = activated(&hosts[1], version("1.1.0")).await.digest;
    let mut sent = 0;
    for (is_after, answer) in traffic.end().await {
        let answer = answer.expect(200);
        assert_eq!(answer.json()["status"], "converted");
        let ran = hosts[0].delivery(&answer).await.summary.ran;
        let ran = ran.expect("it ran").digest;
        assert!([&old, &new].contains(&&ran));
        assert!(!is_after || ran == new, "begun after convergence");
        sent += 1;
    }
    assert_eq!(hosts[2].rows(&declared, "deals").await.len(), sent);
}

#[tokio::test]
async fn a_lost_announcement_is_found_by_polling() {
    let [one, two] = available!(fleet(["one", "two"]));
    one.converter(version("1.0.0")).await;
    let words = AcceptedWords::default();
    let stored = deploy::upload(&one.app.pipeline, version("1.1.0"), "test", false, &words);
    let digest = stored.await.unwrap().record.digest;
    // The store is changed without an announcement.
    let changed = one.store().activate("misbehave", &digest, one.now());
    changed.await.unwrap();
    serves(&one, &digest).await;
    serves(&two, &digest).await;
}

#[tokio::test]
async fn a_version_that_one_host_cannot_prepare_serves_on_none() {
    let [one] = available!(fleet(["one"]));
    let first = one.converter(version("1.0.0")).await;
    let two = one.beside("two").await;
    // No component is small enough for this host.
    let tight = one
        .beside_with("tight", |config| config.plugins.component_mib = 0)
        .await;
    let refused = one.upload(version("1.1.0"), "test").await;
    let error = refused.expect_err("one host cannot serve it");
    assert!(matches!(error, DeployError::Fleet(_)), "{error}");
    let message = error.to_string();
    has!(message, "tight: ");
    lacks!(message, "two: ");
    all_serve(&[&one, &two], &first);
    let active = one.store().activations().await.unwrap();
    assert_eq!(active[0].digest, first);
    assert!(one.store().proposals().await.unwrap().is_empty());

    // The list names the host that does not serve the active version.
    let plugin = listed(&two).await;
    assert_eq!(plugin["behind"][0]["host"], "tight");
    let reason = plugin["behind"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("0 MiB") || !reason.is_empty(), "{reason}");

    // A host that has left is not asked.
    tight.stop(std::time::Duration::from_secs(5)).await;
    eventually("the host has signed off", async || {
        let hosts = one.store().hosts().await.unwrap();
        !hosts.iter().any(|host| host.name == "tight")
    })
    .await;
    let second = activated(&one, version("1.1.0")).await;
    all_serve(&[&two], &second.digest);
}

#[tokio::test]
async fn a_host_that_joins_late_serves_the_same_versions() {
    let [one] = available!(fleet(["one"]));
    one.converter(version("1.0.0")).await;
    let digest = one.converter(version("1.1.0")).await;
    let late = one.beside("late").await;
    all_serve(&[&late], &digest);
    let declared = one.declare(&harm("good", "", 0)).await;
    let answer = late.post(&declared.address("good")).send().await;
    let ran = late.delivery(&answer.expect(200)).await.summary.ran;
    assert_eq!(ran.expect("it ran").digest, digest);
}

#[tokio::test]
async fn two_activations_of_one_name_at_once_are_one_after_the_other() {
    let [one, two] = available!(fleet(["one", "two"]));
    one.converter(version("1.0.0")).await;
    let (left, right) = tokio::join!(
        one.upload(version("1.1.0"), "test"),
        two.upload(version("1.2.0"), "test"),
    );
    let done: Vec<_> = [left, right]
        .into_iter()
        .filter_map(|result| match result {
            Ok(deployed) => deployed.activation,
            // The other activation was faster: it is in progress, already active, or newer.
            Err(DeployError::Fleet(_) | DeployError::Refused { .. }) => None,
            Err(error) => panic!("{error}"),
        })
        .collect();
    assert!(!done.is_empty());
    let active = one.store().activations().await.unwrap();
    let last = done.iter().max_by_key(|one| one.activation.generation);
    assert_eq!(active[0].digest, last.unwrap().activation.digest);
    for host in [&one, &two] {
        serves(host, &active[0].digest).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_host_serves_no_old_version_when_it_continues() {
    let on = available!(On::postgres());
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let awake = Service::start_on(&on, one.path(), &[]);
    let key = one.path().join("sealing.key");
    std::fs::copy(key, two.path().join("sealing.key")).unwrap();
    std::fs::copy(one.path().join("admin.key"), two.path().join("admin.key")).unwrap();
    let asleep = Service::start_on(&on, two.path(), &[]);

    let files = tempfile::tempdir().unwrap();
    let component = |name: &str| {
        let path = files.path().join(name);
        std::fs::write(&path, version(name)).unwrap();
        path.display().to_string()
    };
    awake.run(&["plugin", "publish", &component("1.0.0")]);
    let file = files.path().join("workspace.toml");
    let begin = "[workspace]\nslug = \"demo\"\nname = \"Demo\"\n[[partners]]\nname = \"acme\"\n";
    std::fs::write(&file, format!("{begin}{}", harm("good", "", 0))).unwrap();
    let applied = awake.json(&format!("apply '{}'", file.display()));
    let id = applied["connections"]["good"].as_str().unwrap();
    let target = format!("/ingest-lead/{id}");
    let send = async || asleep.ask("gateway", "POST", &target).send().await;
    send().await.expect(200);

    asleep.freeze();
    // The activation waits until the frozen host counts as dead.
    let second = component("1.1.0");
    tokio::task::block_in_place(|| awake.run(&["plugin", "publish", &second]));
    asleep.thaw();
    let digest = Digest::compute(&version("1.1.0")).to_string();
    until("it serves again", async || {
        let answer = send().await;
        if answer.status == 503 {
            assert!(!answer.header("retry-after").is_empty());
            return None;
        }
        let delivery = answer.expect(200).json();
        let delivery = delivery["deliveryId"].as_str().unwrap();
        let shown = awake.json(&format!("delivery show {delivery}"));
        assert!(shown.to_string().contains(&digest), "{shown}");
        Some(())
    })
    .await;
}
