//! A disk that is really full: a small file system, if the machine lets the test
//! mount one. Reads still work, also after a start, writes are refused with a reason, and once there
//! is room the service accepts leads as before. A log that fills the disk is moved with the help of the reserve.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rusqlite::Connection;

use leadhost_tests::load::{export, post};
use leadhost_tests::{Hosts, On, Service, eventually, figures, has, left_out};

/// A file system in memory. It is unmounted when it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` if mounting is not permitted, which the run says.
    fn mount(mebibytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            left_out(
                "no small file system can be mounted here; other tests cover it by the store's own bound",
            );
        }
        mounted.then_some(Self(folder))
    }

    /// A service with a connection whose data folder is on it.
    async fn hosts(&self) -> Hosts {
        let folder = tempfile::tempdir_in(self.0.path()).expect("a folder");
        Hosts::portal(On::Sqlite).folder(folder).apply().await
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a file may still be open.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_only_writes_and_leads_are_accepted_again_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(32) else {
        return;
    };
    let hosts = disk.hosts().await;
    let (path, key) = (hosts.ingest("portal"), hosts.workspace_key());
    let service = hosts.start(0).await;

    let mut acknowledged = Vec::new();
    assert!(take(&service, &path, "before", &mut acknowledged).await);
    let filler = hosts.folder(0).join("filler");
    fill(&filler);

    // Some pages inside the store's files may be free: they are used up first.
    let mut number = 0;
    while take(
        &service,
        &path,
        &format!("while-{number}"),
        &mut acknowledged,
    )
    .await
    {
        number += 1;
        assert!(number < 20_000, "a full disk refuses leads");
    }
    let lost = async |acknowledged: &[String]| {
        let seen = export(service.address("data"), key).await;
        let lost = acknowledged.iter().filter(|id| !seen.contains_key(*id));
        lost.cloned().collect::<Vec<_>>()
    };
    assert_eq!(lost(&acknowledged).await, [""; 0], "reads still work");

    std::fs::remove_file(&filler).expect("the filler is there");
    let freed = Instant::now();
    eventually("leads are accepted again once there is room", async || {
        take(&service, &path, "after", &mut acknowledged).await
    })
    .await;
    let recovered = freed.elapsed();
    let said = service.run(&["status"]);
    let named = said
        .lines()
        .find(|line| line.contains("refused with 507 between"));
    has!(
        named.unwrap_or(&said),
        "refused with 507 between",
        "of leads/portal"
    );
    assert_eq!(lost(&acknowledged).await, [""; 0]);
    let figure = format!(
        "a file system of 32 MiB that is full: leads refused, exports still served, leads accepted {:.1} s after there was room, 0 of {} acknowledged lost",
        recovered.as_secs_f64(),
        acknowledged.len()
    );
    figures::record("full", Some(&On::Sqlite), None, &figure);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_starts_on_a_full_disk_serves_reads_and_accepts_leads_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(32) else {
        return;
    };
    let hosts = disk.hosts().await;
    let (path, key) = (hosts.ingest("portal"), hosts.workspace_key());
    let mut acknowledged = Vec::new();
    let service = hosts.start(0).await;
    assert!(take(&service, &path, "before", &mut acknowledged).await);
    let filler = hosts.folder(0).join("filler");
    fill(&filler);
    service.stop();

    let service = hosts.start(0).await;
    assert!(!take(&service, &path, "while", &mut Vec::new()).await);
    let seen = export(service.address("data"), key).await;
    assert!(seen.contains_key("before"), "{seen:?}");
    let live = service.ask("gateway", "GET", "/health/live").send().await;
    assert_eq!(live.status, 200);
    let ready = service.ask("gateway", "GET", "/health/ready").send().await;
    has!(ready.text(), "no room left on the disk");
    let said = service.run(&["status"]);
    has!(said, "free space on the disk of the data folder");
    assert!(service.log().contains("disk is full, writes are refused"));

    std::fs::remove_file(&filler).expect("the filler is there");
    eventually("leads are accepted without another start", async || {
        take(&service, &path, "after", &mut acknowledged).await
    })
    .await;
    // The room is kept again for the next time.
    let reserve = hosts.folder(0).join("leadhost.reserve");
    assert!(reserve.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fills_the_disk_is_moved_with_the_room_of_the_reserve() {
    let Some(disk) = SmallDisk::mount(64) else {
        return;
    };
    let hosts = disk.hosts().await;
    let path = hosts.ingest("portal");
    let service = hosts.start(0).await;
    let file = hosts.folder(0).join("leadhost.db");
    // A reader keeps the log: what it does not need grows, and the file of the database does not.
    let reader = Connection::open(&file).expect("the store");
    reader
        .execute_batch("begin; select * from store")
        .expect("it reads");
    let log = || std::fs::metadata(file.with_extension("db-wal")).map_or(0, |log| log.len());
    let mut number = 0;
    let mut post = async || {
        number += 1;
        assert!(number < 20_000, "the log grows until the disk is full");
        take(&service, &path, &number.to_string(), &mut Vec::new()).await
    };
    while log() < 16 << 20 {
        assert!(post().await);
    }
    // Nobody can remove this: it stands for a small volume.
    fill(&hosts.folder(0).join("filler"));
    while post().await {}

    drop(reader);
    eventually("the log is moved and leads are accepted", async || {
        post().await && log() < 16 << 20
    })
    .await;
}

/// Sends a lead. Returns whether it was acknowledged.
async fn take(service: &Service, path: &str, id: &str, acknowledged: &mut Vec<String>) -> bool {
    let took = post(&mut None, service.address("gateway"), path, id).await == Some(true);
    if took {
        acknowledged.push(id.to_owned());
    }
    took
}

/// Writes until the disk is full.
fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).expect("a file");
    let block = [0; 4096];
    while file.write_all(&block).is_ok() {}
}
