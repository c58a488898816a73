//! A store with one workspace whose instance needs no network, and folders for the
//! service processes that run on it.

use std::path::Path;

use leadhost_tests::load::{Load, Notifications, Plan, Targets, Unacknowledged, What};
use leadhost_tests::{Ask, On, Service, guests, until};
use serde_json::Value;
use tempfile::TempDir;

use crate::crash::{applied_on, start_on};
use crate::messaging_faults::share;

/// The slug of the workspace.
pub const SLUG: &str = "counted";

/// Unanswered conversations change soon, and so do open tickets.
const WORKSPACE: &str = r#"
[workspace]
slug = "counted"
name = "Counted"
rate_limit = 1000000

[[partners]]
name = "crm"

[[instances]]
name = "front"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "1s"
[[instances.config.templates]]
name = "boas_vindas"
language = "pt_BR"
text = "Olá {{1}}, aqui é da {{2}}."
"#;

pub struct World {
    pub on: On,
    pub keys: Value,
    folders: Vec<TempDir>,
}

impl World {
    /// A world for this many hosts.
    pub async fn new(on: On, hosts: usize) -> Self {
        let folders: Vec<_> = (0..hosts)
            .map(|_| tempfile::tempdir().expect("a folder"))
            .collect();
        let first = folders[0].path();
        let keys = applied_on(&on, first, &guests::sandbox(), WORKSPACE).await;
        for other in &folders[1..] {
            share(first, other.path());
        }
        Self { on, keys, folders }
    }

    pub fn folder(&self, number: usize) -> &Path {
        self.folders[number].path()
    }

    /// Starts a service that runs its rounds without pause, with more flags.
    pub async fn host(&self, number: usize, flags: &[&str]) -> Service {
        // The work of a dead host is taken over soon.
        let often = [
            "--set",
            "analytics.refresh_seconds=0",
            "--set",
            "worker.lease_seconds=3",
        ];
        start_on(&self.on, self.folder(number), &[&often[..], flags].concat()).await
    }

    /// Partners that notify repeatedly through these hosts.
    pub fn load(&self, name: &str, targets: &Targets, senders: usize) -> Load {
        Load::start(Plan {
            targets: targets.clone(),
            what: What::Notifications(self.notifications()),
            name: name.to_owned(),
            senders,
            unacknowledged: Unacknowledged::Again,
            first: Vec::new(),
        })
    }

    /// Sends this many notifications in sequence, each to its own phone.
    pub async fn notify(&self, host: &Service, name: &str, count: usize) {
        let notifications = self.notifications();
        for number in 0..count {
            let phone = format!("+55119{:08}", number);
            let ask = host.ask("gateway", "POST", "/send-notification");
            ask.header("x-service-api-key", &notifications.key)
                .json(&notifications.body(&format!("{name}-{number}"), &phone))
                .send()
                .await
                .expect(200);
        }
    }

    fn notifications(&self) -> Notifications {
        Notifications {
            instance: self.keys["instances"]["front"].as_i64().expect("a number"),
            key: self.keys["partnerKey"].as_str().expect("a key").to_owned(),
        }
    }

    /// A data client's key.
    pub fn key(&self) -> &str {
        self.keys["workspaceKey"].as_str().expect("a key")
    }

    /// A request of an operator.
    pub fn operator(&self, host: &Service, method: &str, path: &str) -> Ask {
        let key = self.keys["adminKey"].as_str().expect("a key");
        let ask = host.ask("admin", method, &format!("/admin/v1{path}"));
        ask.header("authorization", &format!("Bearer {key}"))
    }

    /// Runs a query of one number directly on the store.
    pub async fn count(&self, query: &'static str) -> i64 {
        self.on.count(self.folder(0), query).await
    }

    /// Waits until no message is in flight.
    pub async fn settles(&self) {
        until("no message is on its way", async || {
            let under_way = "select count(*) from messages where state in ('sending', 'waiting')";
            (self.count(under_way).await == 0).then_some(())
        })
        .await;
    }

    /// Waits until everything that exists now is counted.
    pub async fn counted(&self, host: &Service) {
        until("there is nothing left to count", async || {
            let ask = self.operator(host, "POST", "/etl/runs");
            let ran = ask.send().await.expect(200).json();
            let failed = ran["runs"].as_array().expect("runs").iter();
            for run in failed {
                assert_eq!(run["failed"], serde_json::json!([]), "{run}");
            }
            (ran["more"] == false).then_some(())
        })
        .await;
    }
}
