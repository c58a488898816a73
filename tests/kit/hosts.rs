//! Service processes on one store with one workspace, each with a data folder of its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::Ask;
use crate::components::component;
use crate::host_actions::eventually;
use crate::load::{Load, LoadResult, Notifications, Targets, What, assert_each_once};
use crate::on::On;
use crate::program::binary;
use crate::service::Service;

/// With a rate limit that lets a test read everything back quickly.
const PORTAL: &str = r#"
[workspace]
slug = "leads"
name = "Leads"
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

/// Hosts before their first start. `apply` makes them ready.
#[must_use]
pub struct NewHosts {
    hosts: Hosts,
    components: Vec<Vec<u8>>,
    file: String,
    program: Command,
}

/// The data folders of hosts, their store, and the keys and ids of its workspace. A test starts
/// and ends the processes itself.
pub struct Hosts {
    pub on: On,
    folders: Vec<TempDir>,
    flags: Vec<String>,
    keys: Value,
}

impl NewHosts {
    pub fn count(mut self, hosts: usize) -> Self {
        self.hosts.folders.resize_with(hosts, folder);
        self
    }

    pub fn folder(mut self, folder: TempDir) -> Self {
        self.hosts.folders[0] = folder;
        self
    }

    pub fn component(mut self, component: Vec<u8>) -> Self {
        self.components.push(component);
        self
    }

    pub fn workspace(mut self, more: &str) -> Self {
        self.file.push_str(more);
        self
    }

    /// Starts every host with these flags, also for the first time.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.hosts.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        self
    }

    /// Runs this program for the first start, as [`Hosts::start_as`] does.
    pub fn program(mut self, program: Command) -> Self {
        self.program = program;
        self
    }

    /// Starts the first host, which installs the components and applies the workspace file, and
    /// stops it. The other hosts get its keys.
    pub async fn apply(self) -> Hosts {
        let mut hosts = self.hosts;
        // Elsewhere than the data folder, which has only what the service writes.
        let inputs = folder();
        let inbox = inputs.path().join("inbox");
        std::fs::create_dir(&inbox).expect("a folder");
        for (number, component) in self.components.iter().enumerate() {
            let plugin = inbox.join(format!("plugin-{number}.wasm"));
            std::fs::write(plugin, component).expect("a file");
        }
        let file = inputs.path().join("workspace.toml");
        std::fs::write(&file, self.file).expect("a file");
        let paths = [inbox.display().to_string(), file.display().to_string()];
        let flags = ["--inbox", &paths[0], "--first-apply", &paths[1]];
        let service = hosts.start_as(0, self.program, &flags).await;
        assert!(service.stop());
        let keys = std::fs::read(hosts.folder(0).join("keys.json")).expect("keys were written");
        hosts.keys = serde_json::from_slice(&keys).expect("keys are JSON");
        for other in 1..hosts.folders.len() {
            share(hosts.folder(0), hosts.folder(other));
        }
        hosts
    }
}

impl Hosts {
    /// One host on this store, without components and with an empty workspace file.
    pub fn on(on: On) -> NewHosts {
        NewHosts {
            hosts: Self {
                on,
                folders: vec![folder()],
                flags: Vec::new(),
                keys: Value::Null,
            },
            components: Vec::new(),
            file: String::new(),
            program: Command::new(binary()),
        }
    }

    /// The same with a workspace that gets the leads of a portal: its partner is `crm`, its
    /// instance `assistant`, its connection `portal`.
    pub fn portal(on: On) -> NewHosts {
        let converter = component("plugins/converter-grupo-olx.wasm");
        Self::on(on).component(converter).workspace(PORTAL)
    }

    /// Starts the host with this number. The first one is 0.
    pub async fn start(&self, number: usize) -> Service {
        self.start_with(number, &[]).await
    }

    /// The same with more flags, which take precedence.
    pub async fn start_with(&self, number: usize, flags: &[&str]) -> Service {
        self.start_as(number, Command::new(binary()), flags).await
    }

    /// The same with another program, as [`Service::start_as`] does. It does not block the
    /// threads of the test.
    pub async fn start_as(&self, number: usize, program: Command, flags: &[&str]) -> Service {
        let (on, folder) = (self.on.clone(), self.folder(number).to_owned());
        let mut all = self.flags.clone();
        all.extend(flags.iter().map(|&flag| flag.to_owned()));
        tokio::task::spawn_blocking(move || {
            let flags: Vec<_> = all.iter().map(String::as_str).collect();
            Service::start_as(program, &on, &folder, &flags)
        })
        .await
        .expect("the service starts")
    }

    pub fn folder(&self, number: usize) -> &Path {
        self.folders[number].path()
    }

    /// An operator's key.
    pub fn admin_key(&self) -> &str {
        self.keys["adminKey"].as_str().expect("a key")
    }

    /// The key of the only partner.
    pub fn partner_key(&self) -> &str {
        self.keys["partnerKey"].as_str().expect("a key")
    }

    /// A data client's key.
    pub fn workspace_key(&self) -> &str {
        self.keys["workspaceKey"].as_str().expect("a key")
    }

    pub fn instance(&self, name: &str) -> i64 {
        self.keys["instances"][name].as_i64().expect("a number")
    }

    pub fn ingest(&self, connection: &str) -> String {
        let id = self.keys["connections"][connection].as_str();
        format!("/ingest-lead/{}", id.expect("a connection"))
    }

    /// The address for the webhooks of an instance on this host.
    pub fn webhook(&self, host: &Service, instance: &str) -> String {
        let path = self.keys["webhooks"][instance].as_str().expect("a path");
        format!("http://{}{path}", host.address("gateway"))
    }

    /// Notifications of the partner through this instance.
    pub fn notifications(&self, instance: &str) -> Notifications {
        Notifications {
            instance: self.instance(instance),
            key: self.partner_key().to_owned(),
        }
    }

    /// One of them, with this id, to this phone.
    pub fn notify(&self, host: &Service, instance: &str, id: &str, phone: &str) -> Ask {
        let ask = host.ask("gateway", "POST", "/send-notification");
        ask.header("x-service-api-key", self.partner_key())
            .json(&self.notifications(instance).body(id, phone))
    }

    pub fn client(&self, host: &Service, target: &str) -> Ask {
        let key = self.workspace_key();
        let ask = host.ask("data", "GET", target);
        ask.header("authorization", &format!("Bearer {key}"))
    }

    /// An operator's request to the admin API, to a path below its version.
    pub fn operator(&self, host: &Service, method: &str, path: &str) -> Ask {
        let ask = host.ask("admin", method, &format!("/admin/v1{path}"));
        ask.header("authorization", &format!("Bearer {}", self.admin_key()))
    }

    pub async fn count(&self, query: &'static str) -> i64 {
        self.on.count(self.folder(0), query).await
    }

    /// Starts senders of the portal's leads to these hosts.
    pub fn load(&self, name: &str, targets: &Targets, senders: usize) -> Load {
        let leads = What::Leads(self.ingest("portal"));
        Load::until_acknowledged(name, targets, senders, leads)
    }

    /// Ends them, and checks that every answer was right and that the export of this host has
    /// each acknowledged lead exactly once.
    pub async fn assert_kept(&self, host: &Service, load: Load) -> LoadResult {
        let sent = load.stop().await;
        sent.assert_well_formed();
        self.assert_each_once(host, &sent.acknowledged).await;
        sent
    }

    /// Checks that the export of this host has each of these leads exactly once.
    pub async fn assert_each_once(&self, host: &Service, leads: &BTreeSet<String>) {
        assert_each_once(host.address("data"), self.workspace_key(), leads).await;
    }

    /// Waits until no message is in flight: the work of dead hosts is taken over, and waiting
    /// messages are sent.
    pub async fn settles(&self) {
        eventually("no message is on its way", async || {
            let under_way = "select count(*) from messages where state in ('sending', 'waiting')";
            self.count(under_way).await == 0
        })
        .await;
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Hosts on one database share its sealing key. The admin key is for commands against them.
fn share(from: &Path, to: &Path) {
    for file in ["sealing.key", "admin.key"] {
        std::fs::copy(from.join(file), to.join(file)).expect("a copy");
    }
}
