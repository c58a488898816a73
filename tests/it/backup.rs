//! A backup that is taken while leads come in is the store as it was at one moment: it holds
//! every lead acknowledged before it, nothing after a gap, and a service starts from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hyper::Method;
use leadhost_tests::load::post;
use leadhost_tests::service::{Service, leadhost};
use leadhost_tests::{Ask, Hosts, On, figures, until};

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
    let load = SequentialLoad::begin(service.address("gateway"), &path);

    let shelf = tempfile::tempdir().expect("a folder");
    let mut taken = Vec::new();
    for number in 0..copies() {
        load.reach((number + 1) * BETWEEN).await;
        let file = shelf.path().join(format!("copy-{number}.db"));
        let before = load.acknowledged();
        let said = run(hosts.folder(0), &["backup", &file.display().to_string()]).await;
        let after = load.sent();
        assert!(
            said.contains("checked") && said.contains("To restore"),
            "{said}"
        );
        taken.push(Copied {
            file,
            before,
            after,
        });
    }
    load.end().await;

    let live = deals(service.address("data"), key).await;
    // A pull that begins now ends after every backup.
    let cursor = page(service.address("data"), key, "limit=1").await["next_cursor"].clone();
    let cursor = cursor.as_str().expect("a text");
    assert!(service.stop());
    let private = std::fs::metadata(&taken[0].file).expect("a copy");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&private.permissions()) & 0o777,
        0o600
    );

    for copy in &taken {
        let home = restored(hosts.folder(0), &copy.file);
        let service = Service::start(home.path(), &[]);
        let found = deals(service.address("data"), key).await;
        let newest = found.values().max().expect("deals").clone();
        let until_then: BTreeMap<_, _> = live
            .iter()
            .filter(|(_, stamp)| **stamp <= newest)
            .map(|(id, stamp)| (id.clone(), stamp.clone()))
            .collect();
        assert_eq!(found, until_then, "a prefix, in the order of the stamps");
        for (sender, (before, after)) in copy.before.iter().zip(&copy.after).enumerate() {
            let there = (0..)
                .take_while(|n| found.contains_key(&lead(sender, *n)))
                .count();
            let all = (0..*after).filter(|n| found.contains_key(&lead(sender, *n)));
            assert!(there >= *before, "sender {sender}: {there} of {before}");
            assert_eq!(all.count(), there, "sender {sender}: a lead after a gap");
        }
        let answer = ask(
            service.address("data"),
            key,
            &format!("limit=1&cursor={cursor}"),
        );
        let answer = answer.send().await.expect(400);
        assert!(answer.text().contains("rebuild"), "{}", answer.text());
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
    let fails = |arguments: &[&str]| {
        let output = leadhost(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let to = folder.path().join("copy.db").display().to_string();
    assert!(fails(&["backup", &to]).contains("no store"));
    let nowhere = folder.path().join("nowhere");
    for to in ["", "copy.db"] {
        let to = nowhere.join(to).display().to_string();
        let message = fails(&["backup", &to]);
        let named = format!("the folder {}", nowhere.display());
        assert!(message.contains(&named), "{message}");
        assert!(message.contains("does not exist: create it"), "{message}");
    }
    let service = Service::start(folder.path(), &[]);
    let said = service.run(&["backup", &to]);
    assert!(said.contains("sealing.key"), "{said}");
    assert!(fails(&["backup", &to]).contains("never replaces"));
    // In a folder it chooses a name itself, and a partial file of an interrupted backup is not
    // in its way.
    let shelf = folder.path().join("shelf");
    std::fs::create_dir(&shelf).expect("a folder");
    let said = service.run(&["backup", &shelf.display().to_string(), "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let made = PathBuf::from(said["to"].as_str().expect("a path"));
    assert_eq!(made.parent(), Some(shelf.as_path()));
    assert_eq!(made.metadata().expect("it").len(), said["bytes"]);
    std::fs::write(shelf.join("cut.db.part"), "half").expect("a file");
    let cut = shelf.join("cut.db").display().to_string();
    assert!(fails(&["backup", &cut]).contains("interrupted"));

    let message = fails(&[
        "backup",
        &shelf.join("pg.db").display().to_string(),
        "--store-url",
        "postgres://ana:hidden@db.example.com/leads",
    ]);
    assert!(message.contains("pg_dump"), "{message}");
    assert!(!message.contains("hidden"), "{message}");
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
    for arguments in [
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ][..],
        &[
            "backup",
            &folder.path().join("other.db").display().to_string(),
        ],
    ] {
        let output = leadhost(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(said.contains("leadhost.db-wal"), "{said}");
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

async fn run(folder: &Path, arguments: &[&str]) -> String {
    let folder = folder.to_owned();
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = leadhost(&folder, &arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).expect("UTF-8")
    })
    .await
    .expect("the command ends")
}

fn lead(sender: usize, number: usize) -> String {
    format!("lead-{sender}-{number}")
}

fn ask(to: std::net::SocketAddr, key: &str, query: &str) -> Ask {
    Ask::new(to, Method::GET, &format!("/v1/export/deals?{query}"))
        .header("authorization", &format!("Bearer {key}"))
}

async fn page(to: std::net::SocketAddr, key: &str, query: &str) -> serde_json::Value {
    ask(to, key, query).send().await.expect(200).json()
}

/// Returns every deal's stamp by its external id.
async fn deals(to: std::net::SocketAddr, key: &str) -> BTreeMap<String, String> {
    let mut deals = BTreeMap::new();
    let mut from = String::new();
    loop {
        let page = page(to, key, &format!("limit=1000{from}")).await;
        for row in page["data"].as_array().expect("rows") {
            let text = |name: &str| row[name].as_str().expect("a text").to_owned();
            let twice = deals.insert(text("external_id"), text("cursor_at"));
            assert_eq!(twice, None, "a lead came twice");
        }
        match page["next_cursor"].as_str() {
            Some(next) => from = format!("&cursor={next}"),
            None => return deals,
        }
    }
}

/// Senders that each send a lead after the previous one was acknowledged.
struct SequentialLoad {
    ended: Arc<AtomicBool>,
    acknowledged: Arc<Vec<AtomicUsize>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl SequentialLoad {
    fn begin(to: std::net::SocketAddr, path: &str) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let acknowledged: Arc<Vec<AtomicUsize>> =
            Arc::new((0..SENDERS).map(|_| AtomicUsize::new(0)).collect());
        let tasks = (0..SENDERS)
            .map(|sender| {
                let (ended, acknowledged) = (Arc::clone(&ended), Arc::clone(&acknowledged));
                let path = path.to_owned();
                tokio::spawn(async move {
                    let mut connection = None;
                    for number in 0.. {
                        if ended.load(Ordering::SeqCst) {
                            break;
                        }
                        let answer = post(&mut connection, to, &path, &lead(sender, number)).await;
                        assert_eq!(
                            answer,
                            Some(true),
                            "the service keeps running during the copies"
                        );
                        acknowledged[sender].store(number + 1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        Self {
            ended,
            acknowledged,
            tasks,
        }
    }

    fn acknowledged(&self) -> Vec<usize> {
        let each = self.acknowledged.iter();
        each.map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// At most one more is in flight.
    fn sent(&self) -> Vec<usize> {
        self.acknowledged().iter().map(|count| count + 1).collect()
    }

    async fn reach(&self, leads: usize) {
        until("leads are acknowledged", async || {
            let failed = self.tasks.iter().any(tokio::task::JoinHandle::is_finished);
            assert!(!failed, "a sender gave up");
            (self.acknowledged().iter().sum::<usize>() >= leads).then_some(())
        })
        .await;
    }

    async fn end(self) {
        self.ended.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.expect("a sender ends by itself");
        }
    }
}
