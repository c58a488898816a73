//! Faults between the service, its store and a messaging provider, with real
//! processes and sockets: hosts die, or are frozen in the middle of a call and
//! continue; adapters are swapped; the provider resets, hangs and answers nonsense;
//! the database is unavailable. In every case: nothing acknowledged is lost, no
//! message is sent twice, no forbidden message is sent, and every status and answer
//! is stored where it belongs.

mod adapter_swaps;
mod database;
mod frozen;
mod killed;
mod network_path;
mod provider_failures;
mod reconciliation;

use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_tests::load::{Load, Targets, What};
use leadhost_tests::provider::{Callback, WhatsApp};
use leadhost_tests::{Ask, Hosts, On, Service, eventually, guests, until};

use crate::messaging::fixture::{FRONT, instance};

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

const WORKSPACE: &str = r#"
[workspace]
slug = "bad-days"
name = "Bad days"
rate_limit = 1000000

[[partners]]
name = "crm"
"#;

/// Hosts that send through one instance, and its provider.
struct Messaging {
    hosts: Hosts,
    whatsapp: WhatsApp,
}

impl Messaging {
    /// For this many hosts, with the provider's templates known.
    async fn new(on: On, hosts: usize) -> Self {
        let whatsapp = WhatsApp::start();
        let instance = instance(FRONT, &whatsapp);
        let messaging = Self::with(on, hosts, whatsapp, &instance).await;
        let host = messaging.hosts.start(0).await;
        until("the templates are listed", async || {
            let path = format!("/instances/{FRONT}/sync-templates");
            let ask = messaging.hosts.operator(&host, "POST", &path);
            let list = ask.send().await.expect(200).json();
            list["approved"].as_u64().filter(|approved| *approved > 0)
        })
        .await;
        assert!(host.stop());
        messaging
    }

    /// The provider is reached at this address, and its templates are not listed.
    async fn reached_at(on: On, hosts: usize, whatsapp: WhatsApp, url: &str) -> Self {
        let waba = format!(r#"wabaId = "{}", "#, whatsapp.options().waba_id);
        let instance = instance(FRONT, &whatsapp);
        let instance = instance.replace(&waba, "").replace(&whatsapp.url(), url);
        Self::with(on, hosts, whatsapp, &instance).await
    }

    async fn with(on: On, hosts: usize, whatsapp: WhatsApp, instance: &str) -> Self {
        // Phones and the service have the same time.
        let now = SystemClock.now().0 / 1_000_000;
        whatsapp.set_time(u64::try_from(now).expect("a time after 1970"));
        let hosts = Hosts::on(on).count(hosts);
        let hosts = hosts.component(guests::rust_component(ADAPTER));
        let hosts = hosts.workspace(WORKSPACE).workspace(instance);
        let hosts = hosts.flags(&FLAGS).apply().await;
        Self { hosts, whatsapp }
    }

    /// From now on the provider sends its webhooks to this host.
    fn call_back(&self, host: &Service) {
        let url = self.hosts.webhook(host, FRONT);
        self.whatsapp.call_back(Callback::to(&url));
    }

    /// Starts partners that notify through these hosts.
    fn load(&self, name: &str, targets: &Targets, senders: usize) -> Load {
        let what = What::Notifications(self.hosts.notifications(FRONT));
        Load::until_acknowledged(name, targets, senders, what)
    }

    /// One notification with this id to this phone.
    fn notify(&self, host: &Service, id: &str, phone: &str) -> Ask {
        self.hosts.notify(host, FRONT, id, phone)
    }

    /// Waits until one row is counted.
    async fn until_one_is(&self, counted: &'static str) {
        let is_one = async || self.hosts.count(counted).await == 1;
        eventually(counted, is_one).await;
    }
}
