//! Hosts that start at once on an empty database do not disturb each other.

use std::path::Path;

use base64::Engine as _;
use leadhost_tests::components::target;
use leadhost_tests::postgres;
use leadhost_tests::service::serve;
use leadhost_tests::{On, Service, has};

/// Hosts that share a database share its sealing key.
fn folders_of_two_hosts() -> [tempfile::TempDir; 2] {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let key = base64::engine::general_purpose::STANDARD.encode([7; 32]);
    for folder in &folders {
        std::fs::write(folder.path().join("sealing.key"), &key).unwrap();
    }
    folders
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_hosts_that_start_at_once_makes_the_first_key_and_the_workspace() {
    let database = available!(postgres::empty_database());
    let on = On::Postgres(std::sync::Arc::new(database));
    let folders = folders_of_two_hosts();
    let file = folders[0].path().join("workspace.toml");
    let text = "[workspace]\nslug = \"demo\"\nname = \"Demo\"\n[[partners]]\nname = \"acme\"\n";
    std::fs::write(&file, text).unwrap();
    let start = |folder: &Path| {
        let (on, folder, file) = (on.clone(), folder.to_owned(), file.display().to_string());
        tokio::task::spawn_blocking(move || {
            Service::start_on(&on, &folder, &["--first-apply", &file])
        })
    };
    let (one, two) = tokio::join!(start(folders[0].path()), start(folders[1].path()));
    let services = [one.unwrap(), two.unwrap()];
    for name in ["admin.key", "keys.json"] {
        let has_it = |folder: &&tempfile::TempDir| folder.path().join(name).exists();
        let found = folders.iter().filter(has_it);
        assert_eq!(found.count(), 1, "{name}");
    }
    let said = services.iter().filter(|service| {
        let log = service.log();
        log.contains("another host created the admin key")
            && log.contains("workspace of --first-apply already exists")
    });
    assert_eq!(said.count(), 1, "the other one says where they are");
    for service in &services {
        let ready = service.ask("gateway", "GET", "/health/ready");
        ready.send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_an_inbox_leaves_the_first_apply_to_the_host_that_has_it() {
    let database = available!(postgres::empty_database());
    let on = On::Postgres(std::sync::Arc::new(database));
    let folders = folders_of_two_hosts();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart/workspace.toml");
    let apply = ["--first-apply", file.to_str().unwrap()];
    let first = Service::start_on(&on, folders[0].path(), &apply);
    let log = first.log();
    has!(log, "workspace of --first-apply not applied");
    let inbox = target().join("plugins");
    let inbox = ["--inbox", inbox.to_str().unwrap()];
    let second = Service::start_on(&on, folders[1].path(), &[&apply[..], &inbox].concat());
    let has_keys = folders
        .each_ref()
        .map(|folder| folder.path().join("keys.json").exists());
    assert_eq!(has_keys, [false, true]);
    assert!(first.stop() && second.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_has_one_host_whichever_the_store() {
    let on = available!(On::postgres());
    let folder = tempfile::tempdir().unwrap();
    let addresses = folder.path().join("service.json");
    let service = Service::start_on(&on, folder.path(), &[]);
    let before = std::fs::read(&addresses).unwrap();
    for url in [on.url(), ""] {
        let ended = serve(folder.path(), &["--store-url", url]);
        assert_eq!(ended.status.code(), Some(1));
        let said = String::from_utf8_lossy(&ended.stderr);
        has!(said, "is served by another process");
    }
    assert_eq!(std::fs::read(&addresses).unwrap(), before);
    assert!(service.stop());
    assert!(!addresses.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_the_key_of_the_others_does_not_start_and_makes_none() {
    let on = available!(On::postgres());
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = Service::start_on(&on, one.path(), &[]);
    let is_refused = |because: &str| {
        let ended = serve(two.path(), &["--store-url", on.url()]);
        assert_eq!(ended.status.code(), Some(1));
        has!(String::from_utf8_lossy(&ended.stderr), because);
    };
    is_refused("LEADHOST_SEALING_KEY");
    assert!(!two.path().join("sealing.key").exists());
    let key = base64::engine::general_purpose::STANDARD.encode([9; 32]);
    std::fs::write(two.path().join("sealing.key"), key).unwrap();
    is_refused("this host has key");

    let again = tempfile::tempdir().unwrap();
    let key = one.path().join("sealing.key");
    std::fs::copy(key, again.path().join("sealing.key")).unwrap();
    let second = Service::start_on(&on, again.path(), &[]);
    assert!(first.stop() && second.stop());
}
