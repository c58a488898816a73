//! Faults between the service, its store and a messaging provider, with real
//! processes and sockets: hosts die, or are frozen in the middle of a call and
//! continue; adapters are swapped; the provider resets, hangs and answers nonsense;
//! the database is unavailable. In every case: nothing acknowledged is lost, no
//! message is sent twice, no forbidden message is sent, and every status and answer
//! is stored where it belongs.
//!
//! The sizes are those of a usual run; `LEADHOST_LONG_BAD_DAYS=1` makes the outages
//! as long as real ones.

mod crossed;
mod database;
mod killed;
mod reckoning;
mod stopped;
mod swapped;
mod trouble;
mod way;

use leadhost::clock::{Clock as _, SystemClock};
use leadhost_tests::load::{Load, Notifications, Plan, Targets, Unacknowledged, What};
use leadhost_tests::provider::Callback;
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{Ask, On, Service, guests, until};
use serde_json::Value;
use tempfile::TempDir;

use crate::bad_days::{gateways, size};
use crate::crash::start_on;

/// The flags of every host here: few connections, so that a lost one matters; leases
/// and waits that end within a test.
const FLAGS: [&str; 6] = [
    "--set",
    "store.connections=6",
    "--set",
    "worker.lease_seconds=3",
    "--set",
    "messages.backoff_first_seconds=1",
];

const ADAPTER: &str = "adapter-whatsapp-cloud";

/// The instance that sends.
const FRONT: &str = "front";

/// Calls that have begun and not ended, by the store.
const SENDING: &str = "select count(*) from messages where state = 'sending'";

/// A store with one workspace and one instance, its provider, and folders for hosts.
struct World {
    on: On,
    whatsapp: WhatsApp,
    folders: Vec<TempDir>,
    keys: Value,
}

impl World {
    /// For this many hosts, with the provider's templates known.
    async fn new(on: On, hosts: usize) -> Self {
        let whatsapp = WhatsApp::start();
        let waba = format!(r#"wabaId = "{}", "#, whatsapp.options().waba_id);
        let url = whatsapp.url();
        let world = Self::with(on, hosts, whatsapp, &url, &waba).await;
        let host = world.host(0).await;
        until("the templates are listed", async || {
            let key = world.keys["adminKey"].as_str().expect("a key");
            let target = format!("/admin/v1/instances/{FRONT}/sync-templates");
            let ask = host.ask("admin", "POST", &target);
            let ask = ask.header("authorization", &format!("Bearer {key}"));
            let list = ask.send().await.expect(200).json();
            list["approved"].as_u64().filter(|approved| *approved > 0)
        })
        .await;
        assert!(host.stop());
        world
    }

    /// The provider is reached at this address, and its templates are not listed.
    async fn reached_at(on: On, hosts: usize, whatsapp: WhatsApp, url: &str) -> Self {
        Self::with(on, hosts, whatsapp, url, "").await
    }

    async fn with(on: On, hosts: usize, whatsapp: WhatsApp, url: &str, waba: &str) -> Self {
        // Phones and the service have the same time.
        let now = SystemClock.now().0 / 1_000_000;
        whatsapp.set_time(u64::try_from(now).expect("a time after 1970"));
        let folders: Vec<_> = (0..hosts)
            .map(|_| tempfile::tempdir().expect("a folder"))
            .collect();
        let first = folders[0].path();
        let inbox = first.join("inbox");
        std::fs::create_dir(&inbox).expect("a folder");
        let adapter = inbox.join(format!("{ADAPTER}.wasm"));
        std::fs::write(adapter, guests::rust_component(ADAPTER)).expect("a file");
        let file = first.join("workspace.toml");
        std::fs::write(&file, workspace(&whatsapp, url, waba)).expect("a file");
        let paths = [inbox.display().to_string(), file.display().to_string()];
        let flags = ["--inbox", &paths[0], "--first-apply", &paths[1]];
        let service = start_on(&on, first, &[&FLAGS[..], &flags].concat()).await;
        assert!(service.stop());
        let keys = std::fs::read(first.join("keys.json")).expect("keys were written");
        for other in &folders[1..] {
            share(first, other.path());
        }
        Self {
            on,
            whatsapp,
            keys: serde_json::from_slice(&keys).expect("keys are JSON"),
            folders,
        }
    }

    async fn host(&self, number: usize) -> Service {
        self.host_with(number, &[]).await
    }

    async fn host_with(&self, number: usize, flags: &[&str]) -> Service {
        let folder = self.folders[number].path();
        start_on(&self.on, folder, &[&FLAGS[..], flags].concat()).await
    }

    /// The address of the instance's webhooks on this host.
    fn webhook(&self, host: &Service) -> String {
        let path = self.keys["webhooks"][FRONT].as_str().expect("a path");
        format!("http://{}{path}", host.address("gateway"))
    }

    /// From now on the provider sends its webhooks to this host.
    fn call_back(&self, host: &Service) {
        self.whatsapp.call_back(Callback::to(&self.webhook(host)));
    }

    fn notifications(&self) -> Notifications {
        Notifications {
            instance: self.keys["instances"][FRONT].as_i64().expect("a number"),
            key: self.keys["partnerKey"].as_str().expect("a key").to_owned(),
        }
    }

    /// Starts partners that notify through these hosts.
    fn load(&self, name: &str, targets: &Targets, senders: usize) -> Load {
        Load::start(Plan {
            targets: targets.clone(),
            what: What::Notifications(self.notifications()),
            name: name.to_owned(),
            senders,
            unacknowledged: Unacknowledged::Again,
            first: Vec::new(),
        })
    }

    /// One notification with this id to this phone.
    fn notify(&self, host: &Service, id: &str, phone: &str) -> Ask {
        let notifications = self.notifications();
        let ask = host.ask("gateway", "POST", "/send-notification");
        ask.header("x-service-api-key", &notifications.key)
            .json(&notifications.body(id, phone))
    }

    /// A data client's key.
    fn key(&self) -> &str {
        self.keys["workspaceKey"].as_str().expect("a key")
    }

    /// Runs a query of one number directly on the store.
    async fn count(&self, query: &'static str) -> i64 {
        self.on.count(self.folders[0].path(), query).await
    }

    /// Waits until nothing is in flight any more: the work of dead hosts is taken
    /// over, and waiting messages are sent.
    async fn settles(&self) {
        until("no message is on its way", async || {
            let under_way = "select count(*) from messages where state in ('sending', 'waiting')";
            (self.count(under_way).await == 0).then_some(())
        })
        .await;
    }

    /// Waits until this many messages have an unknown outcome.
    async fn unknown(&self, many: i64) {
        until(&format!("{many} messages are unknown"), async || {
            let unknown = "select count(*) from messages where state = 'unknown'";
            (self.count(unknown).await == many).then_some(())
        })
        .await;
    }

    /// Waits until this many calls have begun, by the store.
    async fn sending(&self, many: i64) {
        until(&format!("{many} messages are being sent"), async || {
            (self.count(SENDING).await == many).then_some(())
        })
        .await;
    }
}

fn workspace(whatsapp: &WhatsApp, url: &str, waba: &str) -> String {
    let options = whatsapp.options();
    format!(
        r#"
[workspace]
slug = "bad-days"
name = "Bad days"
rate_limit = 1000000

[[partners]]
name = "crm"

[[instances]]
name = "{FRONT}"
number = "+{number}"
adapter = "whatsapp-cloud"
config = {{ phoneNumberId = "{phone}", {waba}graphUrl = "{url}" }}
allow = [{{ url = "{url}", private = true }}]
secrets = {{ access-token = "{token}", app-secret = "{secret}", verify-token = "{verify}" }}
"#,
        number = options.number,
        phone = options.phone_number_id,
        token = options.tokens[0],
        secret = options.app_secret,
        verify = options.verify_token,
    )
}

/// Hosts on one database share a sealing key, and the code that one of them has
/// compiled.
pub(crate) fn share(from: &std::path::Path, to: &std::path::Path) {
    for file in ["sealing.key", "admin.key"] {
        std::fs::copy(from.join(file), to.join(file)).expect("a copy");
    }
    let compiled = to.join("compiled");
    std::fs::create_dir(&compiled).expect("a folder");
    for file in std::fs::read_dir(from.join("compiled")).expect("a folder") {
        let file = file.expect("an entry");
        std::fs::copy(file.path(), compiled.join(file.file_name())).expect("a copy");
    }
}
