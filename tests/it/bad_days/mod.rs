//! Faults between hosts and PostgreSQL: it restarts, hangs, is far away, or the
//! connection ends in the middle of a commit; a host dies, or is frozen and
//! continues. Every acknowledged lead is stored exactly once, each request ends in
//! time with a helpful answer, and the service recovers by itself.
//!
//! Each test has its own server. The sizes are those of a usual run;
//! `LEADHOST_LONG_BAD_DAYS=1` makes the outages as long as real ones.

mod commit;
mod crowd;
mod far;
mod killed;
mod lead_form;
mod network;
mod paused;
mod refusals;
mod restarts;
mod standstill;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use leadhost_tests::components::target;
use leadhost_tests::load::{Load, Plan, Targets, Unacknowledged, What};
use leadhost_tests::postgres::{self, Database, Server};
use leadhost_tests::{On, Service, figures};
use serde_json::Value;
use tempfile::TempDir;

/// The flags of every host here: few connections, so that a lost one matters.
const FLAGS: [&str; 2] = ["--set", "store.connections=6"];

/// The bytes that a host may use in addition to its memory at rest.
const MORE: u64 = 48 << 20;

const WORKSPACE: &str = r#"
[workspace]
slug = "bad-days"
name = "Bad days"
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

const PORTAL: &str = "converter-grupo-olx";

/// Returns a size that is larger in the long form.
pub(crate) fn size(here: usize, long: usize) -> usize {
    if is_long() { long } else { here }
}

fn is_long() -> bool {
    std::env::var_os("LEADHOST_LONG_BAD_DAYS").is_some_and(|value| value == "1")
}

/// A server, a database with one workspace, and folders for hosts.
struct World {
    server: Server,
    database: Arc<Database>,
    folders: Vec<TempDir>,
    keys: Value,
}

impl World {
    /// `None`, after printing the reason, if no server can be started.
    async fn new() -> Option<Self> {
        Self::with(1, "", &[]).await
    }

    /// For this many hosts, with more connections and their converters.
    async fn with(hosts: usize, more: &str, converters: &[&str]) -> Option<Self> {
        let server = postgres::private().await?;
        let database = Arc::new(server.database().await);
        let folders: Vec<_> = (0..hosts)
            .map(|_| tempfile::tempdir().expect("a folder"))
            .collect();
        let first = folders[0].path();
        let inbox = first.join("inbox");
        std::fs::create_dir(&inbox).expect("a folder");
        for name in [&[PORTAL], converters].concat() {
            let file = format!("{name}.wasm");
            let built = target().join("plugins").join(&file);
            std::fs::copy(&built, inbox.join(&file)).unwrap_or_else(|error| {
                panic!(
                    "{}: {error}; `cargo xtask plugins` builds it",
                    built.display()
                )
            });
        }
        let file = first.join("workspace.toml");
        std::fs::write(&file, format!("{WORKSPACE}{more}")).expect("a file");
        let paths = [inbox.display().to_string(), file.display().to_string()];
        let flags = ["--inbox", &paths[0], "--first-apply", &paths[1]];
        let service = serve(database.url(), first, &flags).await;
        assert!(service.stop());
        let keys = std::fs::read(first.join("keys.json")).expect("keys were written");
        for other in &folders[1..] {
            // Hosts on one database share one sealing key.
            let key = "sealing.key";
            std::fs::copy(first.join(key), other.path().join(key)).expect("a copy");
        }
        Some(Self {
            server,
            database,
            keys: serde_json::from_slice(&keys).expect("keys are JSON"),
            folders,
        })
    }

    /// The first host, directly on the database.
    async fn host(&self) -> Service {
        self.host_with(0, self.database.url(), &[]).await
    }

    async fn host_with(&self, number: usize, url: &str, flags: &[&str]) -> Service {
        serve(url, self.folders[number].path(), flags).await
    }

    /// Records a figure of these hosts on their database.
    fn tell(&self, fault: &str, figure: &str) {
        let on = On::Postgres(Arc::clone(&self.database));
        figures::tell(fault, Some(&on), None, figure);
    }

    /// The path for the portal's leads.
    fn path(&self) -> String {
        crate::crash::address(&self.keys)
    }

    /// A data client's key.
    fn key(&self) -> &str {
        self.keys["workspaceKey"].as_str().expect("a key")
    }

    /// Starts senders to these hosts.
    fn load(
        &self,
        name: &str,
        targets: &Targets,
        senders: usize,
        unacknowledged: Unacknowledged,
    ) -> Load {
        Load::start(Plan {
            targets: targets.clone(),
            what: What::Leads(self.path()),
            name: name.to_owned(),
            senders,
            unacknowledged,
            first: Vec::new(),
        })
    }

    /// Runs a query of one number directly on the database.
    async fn count(&self, query: &'static str) -> i64 {
        let mut connection = self.database.connect_as_admin().await;
        sqlx::query_scalar(query)
            .fetch_one(&mut connection)
            .await
            .expect("a number")
    }

    /// The number of deliveries in the database.
    async fn deliveries(&self) -> usize {
        let count = self.count("select count(*) from leadhost.deliveries").await;
        usize::try_from(count).expect("a count")
    }

    /// The number of connections from hosts to the database.
    async fn connections(&self) -> i64 {
        self.count(
            "select count(*) from pg_stat_activity
             where datname = current_database() and application_name like 'leadhost%'",
        )
        .await
    }
}

/// Starts a host, without blocking the threads of the test.
async fn serve(url: &str, folder: &Path, flags: &[&str]) -> Service {
    let folder: PathBuf = folder.to_owned();
    let flags: Vec<String> = [&["--store-url", url], &FLAGS[..], flags]
        .concat()
        .iter()
        .map(|&flag| flag.to_owned())
        .collect();
    tokio::task::spawn_blocking(move || {
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        // The flag overrides what the kit sets for a store.
        Service::start(&folder, &flags)
    })
    .await
    .expect("the service starts")
}

/// The addresses at which these hosts accept leads and notifications.
pub(crate) fn gateways(hosts: &[&Service]) -> Targets {
    Targets::new(hosts.iter().map(|host| host.address("gateway")))
}

/// Whether the host reports that it is ready.
async fn is_ready(host: &Service) -> bool {
    host.ask("gateway", "GET", "/health/ready")
        .try_send()
        .await
        .is_some_and(|answer| answer.status == 200)
}

/// Returns when the host is ready.
async fn becomes_ready(host: &Service) {
    leadhost_tests::until("the host is ready again", async || {
        is_ready(host).await.then_some(())
    })
    .await;
}

/// Lets the fault last this long. The pause is the fault itself; nothing waits for
/// its effect.
async fn lasts(time: Duration) {
    tokio::time::sleep(time).await;
}
