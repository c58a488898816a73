//! A host with scarce resources: few file descriptors, or little memory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use leadhost_tests::guests::Variant;
use leadhost_tests::load::{Follower, Targets};
use leadhost_tests::{Hosts, On, Service, eventually, figures, left_out};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::after;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    with_256_files_idle_connections_make_room_and_leads_are_still_accepted,
    in_256_megabytes_plugins_bodies_and_pages_fit_together,
}

const SENDERS: usize = 16;

/// Senders that leave most of the processor to the calls of plugins.
const FEW_SENDERS: usize = 2;

/// More connections than file descriptors.
const CROWD: usize = 800;

async fn with_256_files_idle_connections_make_room_and_leads_are_still_accepted(on: On) {
    let hosts = Hosts::portal(on).apply().await;
    let service = hosts.start_as(0, after("ulimit -n 256"), &[]).await;
    let targets = Targets::gateways(&[&service]);
    let load = hosts.load("lead", &targets, SENDERS);
    load.reaches(100).await;
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let stream = TcpStream::connect(service.address("gateway")).await;
        let mut stream = stream.expect("it listens");
        // Every second one sends a request.
        if number % 2 == 0 {
            let asked = stream.write_all(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n");
            // One that was closed meanwhile cannot.
            let _ = asked.await;
        }
        crowd.push(stream);
        if number % 100 == 0 {
            load.goes_on(10).await;
        }
    }
    load.goes_on(200).await;
    let live = service.ask("admin", "GET", "/health/live").send().await;
    live.expect(200);
    let sent = hosts.assert_kept(&service, load).await;
    let metrics = service.ask("admin", "GET", "/metrics").send().await;
    let metrics = metrics.expect(200);
    let away = number_of(metrics.text(), "leadhost_connections_sent_away_total");
    assert!(service.stop());
    let figure = format!(
        "256 files and {CROWD} idle connections, next to {SENDERS} senders: {} leads acknowledged, 0 lost, 0 twice, {away} idle connections closed; the longest time without an acknowledged lead {:.1} s",
        sent.acknowledged.len(),
        sent.longest_pause().as_secs_f64()
    );
    figures::record("files", Some(&hosts.on), None, &figure);
}

#[track_caller]
fn number_of(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().parse().ok());
    number.unwrap_or_else(|| panic!("the metric {name} is reported"))
}

/// The memory of the host: 256 MB.
const BYTES: u64 = 256_000_000;

/// Connections whose plugin fills nearly all the memory that a call may have.
const HEAVY: usize = 3;

/// Concurrent deliveries of nearly the largest size.
const LARGE: usize = 48;

async fn in_256_megabytes_plugins_bodies_and_pages_fit_together(on: On) {
    let Some(group) = Group::create(BYTES) else {
        left_out(
            "no control group with a memory limit can be created here, which needs root; the peak of a host with narrow bounds covers it",
        );
        return;
    };
    let anybody = Variant::default().check("").component();
    let mut hosts = Hosts::portal(on).component(anybody);
    let heavies = || (0..HEAVY).map(|number| format!("heavy-{number}"));
    for name in heavies() {
        hosts = hosts.workspace(&format!(
            "\n[[connections]]\nname = \"{name}\"\npartner = \"crm\"\nplugin = \"misbehave\"\nconfig = {{ do = \"touch\", size = 95 }}\n"
        ));
    }
    let hosts = hosts.apply().await;
    let join = format!("echo $$ > {}", group.processes().display());
    let flags = "--set plugins.inline_ms=50 --set plugins.deadline_ms=10000";
    let flags: Vec<_> = flags.split(' ').collect();
    let service = hosts.start_as(0, after(&join), &flags).await;
    let targets = Targets::gateways(&[&service]);
    let many = hosts.load("lead", &targets, SENDERS);
    let data = service.address("data");
    let follower = Follower::start(Targets::new([data]), hosts.workspace_key());
    many.reaches(100).await;

    let large = large(&service, &hosts.ingest("portal"));
    let mut heavy = 0;
    for name in heavies() {
        let path = hosts.ingest(&name);
        for _ in 0..2 {
            let response = service.ask("gateway", "POST", &path).body("{}");
            let response = response.try_send().await;
            assert_eq!(group.kills(), 0, "the process was killed for its memory");
            let response = response.expect("an answer").expect(200).json();
            assert_eq!(response["status"], "queued");
            heavy += 1;
        }
    }
    let (mut taken, mut shed) = (0, 0);
    for sender in large {
        match sender.await.expect("no panic") {
            Some(200) => taken += 1,
            // Asked to retry, or closed while it was still sending.
            Some(503) | None => shed += 1,
            Some(other) => panic!("{other}"),
        }
    }
    // Beside many senders the calls that fill their memory get nearly no processor time.
    let few = hosts.load("later", &targets, FEW_SENDERS);
    let sent = many.stop().await;
    let list = |name: &str| service.run(&["delivery", "list", "--connection", name, "--json"]);
    let mut waiting: Vec<String> = heavies().collect();
    eventually("each heavy connection has a call that ended", async || {
        waiting.retain(|name| {
            let list = list(name);
            !list.contains("\"failed\"") && !list.contains("\"parked\"")
        });
        waiting.is_empty()
    })
    .await;
    few.goes_on(100).await;
    let sent = sent.with(few.stop().await);
    sent.assert_well_formed();
    assert_eq!(group.kills(), 0, "a process was killed for its memory");
    let mut kept = 0;
    for name in heavies() {
        let list: Value = serde_json::from_str(&list(&name)).expect("JSON");
        let list = list.as_array().or(list["deliveries"].as_array());
        kept += list.map_or(0, Vec::len);
    }
    assert_eq!(kept, heavy, "every acknowledged delivery is kept");
    hosts.assert_each_once(&service, &sent.acknowledged).await;
    follower.assert_saw_all(data, hosts.workspace_key()).await;
    let most = group.most();
    assert!(service.stop());
    let figure = format!(
        "a control group of 256 MB: {} leads of {SENDERS} senders, {LARGE} deliveries of 3.9 MB at once ({taken} taken, {shed} asked to retry), {HEAVY} connections whose calls fill 95 MiB each ({heavy} deliveries, all kept and tried): 0 killed, 0 acknowledged lost, {} MB used at most, files that the kernel keeps included",
        sent.acknowledged.len(),
        most / 1_000_000
    );
    figures::record("memory", Some(&hosts.on), None, &figure);
}

fn large(service: &Service, path: &str) -> Vec<tokio::task::JoinHandle<Option<u16>>> {
    let padding = "x".repeat(3_900_000);
    let senders = (0..LARGE).map(|number| {
        let lead = format!(
            r#"{{"leadOrigin":"Grupo OLX","originLeadId":"large-{number}","name":"Ana","phone":"11987654321","message":"{padding}"}}"#
        );
        let ask = service.ask("gateway", "POST", path).body(lead);
        tokio::spawn(async move { ask.try_send().await.map(|answer| answer.status) })
    });
    senders.collect()
}

/// A control group with a memory limit, of either version. It is removed when it is
/// dropped.
struct Group(PathBuf);

impl Group {
    /// `None` if it cannot be created.
    fn create(bytes: u64) -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("leadhost-test-{}-{number}", std::process::id());
        let roots = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ];
        roots.iter().find_map(|(root, bound)| {
            let folder = Path::new(root).join(&name);
            std::fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            // If memory is not accounted, there is no such file.
            let bounded = group.0.join(bound).exists()
                && std::fs::write(group.0.join(bound), bytes.to_string()).is_ok();
            bounded.then_some(group)
        })
    }

    fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    fn read(&self, files: &[&str]) -> String {
        let read = |file| std::fs::read_to_string(self.0.join(file)).ok();
        files.iter().filter_map(read).collect()
    }

    /// The number of processes that the kernel killed for lack of memory.
    fn kills(&self) -> u64 {
        let text = self.read(&["memory.oom_control", "memory.events"]);
        number_of(&text, "oom_kill ")
    }

    /// The peak of used bytes.
    fn most(&self) -> u64 {
        let text = self.read(&["memory.max_usage_in_bytes", "memory.peak"]);
        text.trim().parse().expect("the kernel counts")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It stays while a process is in it, for example after a failed test.
        let _ = std::fs::remove_dir(&self.0);
    }
}
