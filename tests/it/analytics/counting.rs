//! Service processes that send through an instance without a network, and count.

use leadhost_tests::load::{Load, Targets, What};
use leadhost_tests::{Hosts, Json, On, Service, guests, until};

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

pub struct CountingHosts {
    pub hosts: Hosts,
}

impl CountingHosts {
    /// For this many hosts.
    pub async fn new(on: On, hosts: usize) -> Self {
        let hosts = Hosts::on(on)
            .count(hosts)
            .component(guests::sandbox())
            .workspace(WORKSPACE)
            .apply()
            .await;
        Self { hosts }
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
        let flags = [&often[..], flags].concat();
        self.hosts.start_with(number, &flags).await
    }

    /// Partners that notify repeatedly through these hosts.
    pub fn load(&self, name: &str, targets: &Targets, senders: usize) -> Load {
        let what = What::Notifications(self.hosts.notifications("front"));
        Load::until_acknowledged(name, targets, senders, what)
    }

    /// Sends this many notifications in sequence, each to its own phone.
    pub async fn notify(&self, host: &Service, name: &str, count: usize) {
        for number in 0..count {
            let (id, phone) = (format!("{name}-{number}"), format!("+55119{number:08}"));
            let ask = self.hosts.notify(host, "front", &id, &phone);
            ask.send().await.expect(200);
        }
    }

    /// Waits until everything that exists now is counted.
    pub async fn counted(&self, host: &Service) {
        until("there is nothing left to count", async || {
            let ask = self.hosts.operator(host, "POST", "/etl/runs");
            let ran = ask.send().await.expect(200).json();
            let failed = ran["runs"].list().iter();
            for run in failed {
                assert_eq!(run["failed"], serde_json::json!([]), "{run}");
            }
            (ran["more"] == false).then_some(())
        })
        .await;
    }
}
