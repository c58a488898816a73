//! Bad days between hosts and PostgreSQL: it restarts, stands still, is far
//! away, or the connection ends in the middle of a commit; a host dies, or
//! sleeps and wakes. What was acknowledged is there, nothing is there twice, a
//! request ends in time with an answer that helps, and all goes on by itself.
//!
//! Each test has a server of its own. The sizes are those of every run of the
//! tests; with `LEADHOST_LONG_BAD_DAYS=1` the days are as long as real ones.

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

/// What every host here is started with: few connections, so that a lost one is felt.
const FLAGS: [&str; 2] = ["--set", "store.connections=6"];

/// Bytes that a host may hold beside what it held at rest.
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

/// A size that is larger in the long form.
pub(crate) fn size(here: usize, long: usize) -> usize {
    if is_long() { long } else { here }
}

fn is_long() -> bool {
    std::env::var_os("LEADHOST_LONG_BAD_DAYS").is_some_and(|value| value == "1")
}

/// A server, a database in it with one workspace, and folders for hosts.
struct World {
    server: Server,
    database: Arc<Database>,
    folders: Vec<TempDir>,
    keys: Value,
}

impl World {
    /// None, after saying so, where no server can be started.
    async fn new() -> Option<Self> {
        Self::with(1, "", &[]).await
    }

    /// For so many hosts, with more connections and their converters.
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
            // Hosts on one database seal with one key.
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

    /// The first host, on the database as it is.
    async fn host(&self) -> Service {
        self.host_with(0, self.database.url(), &[]).await
    }

    async fn host_with(&self, number: usize, url: &str, flags: &[&str]) -> Service {
        serve(url, self.folders[number].path(), flags).await
    }

    /// Tells a figure of these hosts on their database.
    fn tell(&self, fault: &str, figure: &str) {
        let on = On::Postgres(Arc::clone(&self.database));
        figures::tell(fault, Some(&on), None, figure);
    }

    /// Where the portal's leads go.
    fn path(&self) -> String {
        crate::crash::address(&self.keys)
    }

    /// A data client's.
    fn key(&self) -> &str {
        self.keys["workspaceKey"].as_str().expect("a key")
    }

    /// Senders to these hosts.
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

    /// A number that the database tells, past the service's verbs.
    async fn count(&self, query: &'static str) -> i64 {
        let mut connection = self.database.connect_as_admin().await;
        sqlx::query_scalar(query)
            .fetch_one(&mut connection)
            .await
            .expect("a number")
    }

    /// Deliveries that the database holds.
    async fn deliveries(&self) -> usize {
        let count = self.count("select count(*) from leadhost.deliveries").await;
        usize::try_from(count).expect("a count")
    }

    /// Connections that hosts have to the database.
    async fn connections(&self) -> i64 {
        self.count(
            "select count(*) from pg_stat_activity
             where datname = current_database() and application_name like 'leadhost%'",
        )
        .await
    }
}

/// Starts a host, off the threads that serve the test.
async fn serve(url: &str, folder: &Path, flags: &[&str]) -> Service {
    let folder: PathBuf = folder.to_owned();
    let flags: Vec<String> = [&["--store-url", url], &FLAGS[..], flags]
        .concat()
        .iter()
        .map(|&flag| flag.to_owned())
        .collect();
    tokio::task::spawn_blocking(move || {
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        // The flag is over what the kit sets for a store.
        Service::start(&folder, &flags)
    })
    .await
    .expect("the service starts")
}

/// Where these hosts take leads and notifications.
pub(crate) fn gateways(hosts: &[&Service]) -> Targets {
    Targets::new(hosts.iter().map(|host| host.address("gateway")))
}

/// Whether the host calls itself ready.
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

/// The fault lasts so long: this is the fault itself, and no waiting for its effect.
async fn lasts(time: Duration) {
    tokio::time::sleep(time).await;
}
