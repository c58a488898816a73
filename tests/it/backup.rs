//! A backup that is taken while leads come in is the store as it was at one moment: it holds
//! every lead acknowledged before it, nothing after a gap, and a service starts from it.

use std::path::{Path, PathBuf};

use leadhost_tests::load::{Load, LoadPlan, Targets, Unacknowledged, What, post, stamps};
use leadhost_tests::service::{Service, leadhost, refused, serve};
use leadhost_tests::{Hosts, On, eventually, figures, has, lacks};

/// Backups taken while leads come in.
fn copies() -> usize {
    figures::size("LEADHOST_COPIES", 4, 8)
}

/// Acknowledged leads between two backups.
const BETWEEN: usize = 150;

const SENDERS: usize = 8;

/// A backup, and how many leads each sender had acknowledged before it began.
struct Copied {
    file: PathBuf,
    before: Vec<usize>,
    after: Vec<usize>,
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_under_load_hold_every_acknowledged_lead_and_nothing_after_a_gap() {
    let hosts = Hosts::portal(On::Sqlite).apply().await;
    let (path, key) = (hosts.ingest("portal"), hosts.workspace_key());
    let service = hosts.start(0).await;
    // Each sends a lead after the previous one was acknowledged.
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            Load::start(LoadPlan {
                targets: Targets::gateways(&[&service]),
                what: What::Leads(path.clone()),
                name: format!("lead-{sender}"),
                senders: 1,
                unacknowledged: Unacknowledged::End,
                first: Vec::new(),
            })
        })
        .collect();
    let acknowledged = || -> Vec<_> { senders.iter().map(Load::acknowledged).collect() };

    let shelf = tempfile::tempdir().expect("a folder");
    let mut taken = Vec::new();
    for number in 0..copies() {
        eventually("leads are acknowledged", async || {
            let all: usize = acknowledged().iter().sum();
            all >= (number + 1) * BETWEEN
        })
        .await;
        let file = shelf.path().join(format!("copy-{number}.db"));
        let before = acknowledged();
        let backup = ["backup", &file.display().to_string()];
        let said = tokio::task::block_in_place(|| service.run(&backup));
        // At most one more is in flight.
        let after = acknowledged().iter().map(|count| count + 1).collect();
        has!(said, "checked", "To restore");
        taken.push(Copied {
            file,
            before,
            after,
        });
    }
    for sender in senders {
        let sent = sender.stop().await;
        let all = sent.attempts.len();
        assert_eq!(sent.count(200), all, "it keeps running during the copies");
    }

    let live = stamps(service.address("data"), key).await;
    // A pull that begins now ends after every backup.
    let page = hosts.client(&service, "/v1/export/deals?limit=1").send();
    let page = page.await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("a text");
    let cursor = format!("/v1/export/deals?limit=1&cursor={cursor}");
    assert!(service.stop());
    let private = std::fs::metadata(&taken[0].file).expect("a copy");
    let mode = std::os::unix::fs::PermissionsExt::mode(&private.permissions());
    assert_eq!(mode & 0o777, 0o600);

    for copy in &taken {
        let home = restored(hosts.folder(0), &copy.file);
        let service = Service::start(home.path(), &[]);
        let found = stamps(service.address("data"), key).await;
        let newest = found.values().max().expect("deals").clone();
        let mut until_then = live.clone();
        until_then.retain(|_, stamp| *stamp <= newest);
        assert_eq!(found, until_then, "a prefix, in the order of the stamps");
        for (sender, (before, after)) in copy.before.iter().zip(&copy.after).enumerate() {
            let is_there = |n: &usize| found.contains_key(&format!("lead-{sender}-0-{n}"));
            let there = (0..).take_while(is_there).count();
            let all = (0..*after).filter(is_there);
            assert!(there >= *before, "sender {sender}: {there} of {before}");
            assert_eq!(all.count(), there, "sender {sender}: a lead after a gap");
        }
        let answer = hosts.client(&service, &cursor).send().await;
        has!(answer.expect(400), "rebuild");
        // The restored service accepts new leads.
        let accepted = post(&mut None, service.address("gateway"), &path, "lead-after").await;
        assert_eq!(accepted, Some(true));
        assert!(service.stop());
    }
    let figure = format!(
        "{} copies while {} leads came in from {SENDERS} senders: each restored, 0 acknowledged before it missing, 0 gaps",
        taken.len(),
        live.len()
    );
    figures::record("backup", Some(&On::Sqlite), None, &figure);
}

#[tokio::test]
async fn a_copy_never_replaces_a_file_and_names_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |arguments: &[&str]| refused(folder.path(), 1, arguments);
    let to = folder.path().join("copy.db").display().to_string();
    assert!(fails(&["backup", &to]).contains("no store"));
    let nowhere = folder.path().join("nowhere");
    for to in ["", "copy.db"] {
        let to = nowhere.join(to).display().to_string();
        let message = fails(&["backup", &to]);
        let named = format!("the folder {}", nowhere.display());
        has!(message, &named, "does not exist: create it");
    }
    let service = Service::start(folder.path(), &[]);
    let said = service.run(&["backup", &to]);
    has!(said, "sealing.key");
    assert!(fails(&["backup", &to]).contains("never replaces"));
    // In a folder it chooses a name itself, and a partial file of an interrupted backup is not
    // in its way.
    let shelf = folder.path().join("shelf");
    std::fs::create_dir(&shelf).expect("a folder");
    let said = service.json(&format!("backup '{}'", shelf.display()));
    let made = PathBuf::from(said["to"].as_str().expect("a path"));
    assert_eq!(made.parent(), Some(shelf.as_path()));
    assert_eq!(made.metadata().expect("it").len(), said["bytes"]);
    std::fs::write(shelf.join("cut.db.part"), "half").expect("a file");
    let cut = shelf.join("cut.db").display().to_string();
    assert!(fails(&["backup", &cut]).contains("interrupted"));

    let to = shelf.join("pg.db").display().to_string();
    let url = "postgres://ana:hidden@db.example.com/leads";
    let message = fails(&["backup", &to, "--store-url", url]);
    has!(message, "pg_dump");
    lacks!(message, "hidden");
}

#[tokio::test]
async fn a_copy_next_to_the_log_of_another_file_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut service = Service::start(folder.path(), &[]);
    let copy = folder.path().join("copy.db");
    service.run(&["backup", &copy.display().to_string()]);
    service.run(&["apply", &workspace(folder.path()), "--dry-run"]);
    // Killed, so that its log remains.
    service.run(&["apply", &workspace(folder.path())]);
    service.kill();
    let log = folder.path().join("leadhost.db-wal");
    assert!(log.metadata().expect("a log").len() > 0);
    std::fs::copy(&copy, folder.path().join("leadhost.db")).expect("it is put back");
    let other = folder.path().join("other.db").display().to_string();
    for output in [
        serve(folder.path(), &[]),
        leadhost(folder.path(), &["backup", &other]),
    ] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        has!(said, "leadhost.db-wal");
    }
    for name in ["leadhost.db-wal", "leadhost.db-shm"] {
        std::fs::remove_file(folder.path().join(name)).expect("it was there");
    }
    assert!(Service::start(folder.path(), &[]).stop());
}

fn workspace(folder: &Path) -> String {
    let file = folder.join("workspace.toml");
    std::fs::write(&file, "[workspace]\nslug = \"one\"\nname = \"One\"\n").expect("a file");
    file.display().to_string()
}

/// Restores a folder as an operator does: the backup, and the key from where it is kept.
fn restored(from: &Path, copy: &Path) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::copy(copy, home.path().join("leadhost.db")).expect("the copy");
    for name in ["sealing.key", "sealing.id"] {
        std::fs::copy(from.join(name), home.path().join(name)).expect("the key");
    }
    home
}
