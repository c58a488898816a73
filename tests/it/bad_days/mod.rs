//! Faults between hosts and PostgreSQL: it restarts, hangs, or is cut off; a host
//! dies, or is frozen and continues. Every acknowledged lead is stored exactly once, each request ends in
//! time with a helpful answer, and the service recovers by itself.
//!
//! Each test has its own server.

mod killed;
mod lead_form;
mod many_clients;
mod network;
mod paused;
mod refusals;
mod restarts;
mod standstill;

use std::sync::Arc;
use std::time::Duration;

use leadhost_tests::hosts::NewHosts;
use leadhost_tests::load::{Load, LoadResult, Targets};
use leadhost_tests::postgres::{self, Database, Server};
use leadhost_tests::{Hosts, On, Service, figures};

/// The flags of every host here: few connections, so that a lost one matters.
const FLAGS: [&str; 2] = ["--set", "store.connections=6"];

/// The bytes that a host may use in addition to its memory at rest.
const MORE: u64 = 48 << 20;

/// Hosts on a server of their own, which may fail.
struct Outage {
    server: Server,
    database: Arc<Database>,
    hosts: Hosts,
}

impl Outage {
    /// `None`, after printing the reason, if no server can be started.
    async fn new() -> Option<Self> {
        Self::with(|hosts| hosts).await
    }

    /// The same with these changes to the hosts before their first start.
    async fn with(change: impl FnOnce(NewHosts) -> NewHosts) -> Option<Self> {
        let server = postgres::private().await?;
        let database = Arc::new(server.database().await);
        let hosts = Hosts::portal(On::Postgres(Arc::clone(&database))).flags(&FLAGS);
        Some(Self {
            server,
            database,
            hosts: change(hosts).apply().await,
        })
    }

    /// Records a figure of these hosts on their database.
    fn record(&self, fault: &str, figure: &str) {
        figures::record(fault, Some(&self.hosts.on), None, figure);
    }

    /// Starts senders of the portal's leads to these hosts.
    fn load(&self, targets: &Targets, senders: usize) -> Load {
        self.hosts.load("lead", targets, senders)
    }

    /// Ends the senders. The host is ready again, and nothing acknowledged is lost or there twice.
    async fn recovers(&self, host: &Service, load: Load) -> LoadResult {
        becomes_ready(host).await;
        self.hosts.assert_kept(host, load).await
    }

    /// The number of connections from hosts to the database.
    async fn connections(&self) -> i64 {
        self.hosts
            .count(
                "select count(*) from pg_stat_activity
                 where datname = current_database() and application_name like 'leadhost%'",
            )
            .await
    }
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
    let ready = async || is_ready(host).await;
    leadhost_tests::eventually("the host is ready again", ready).await;
}

/// Lets the fault last this long. The pause is the fault itself; nothing waits for
/// its effect.
async fn lasts(time: Duration) {
    tokio::time::sleep(time).await;
}
