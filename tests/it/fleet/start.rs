//! Hosts that start at once on an empty database do not get in each other's way.

use std::path::Path;

use leadhost_tests::postgres;
use leadhost_tests::{On, Service};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_start_at_once_one_makes_the_first_key_and_the_workspace() {
    let Some(database) = postgres::empty_database().await else {
        return;
    };
    let on = On::Postgres(std::sync::Arc::new(database));
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
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
        let found = folders
            .iter()
            .filter(|folder| folder.path().join(name).exists());
        assert_eq!(found.count(), 1, "{name}");
    }
    let said = services.iter().filter(|service| {
        let log = service.log();
        log.contains("an admin key was made by another host")
            && log.contains("the workspace of --first-apply is there already")
    });
    assert_eq!(said.count(), 1, "the other one says where they are");
    for service in &services {
        let ready = service.ask("gateway", "GET", "/health/ready");
        ready.send().await.expect(200);
    }
}
