//! `leadhost status`: shows the state of the running service and its backlog.

use clap::Args;
use serde_json::Value;

use super::client::Reach;
use super::failure::Failure;
use super::output::say;
use super::table::{cell, short, table, time};

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    reach: Reach,
}

impl Status {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.reach.client()?;
        let status = client.get("/admin/v1/status").await?;
        client.print(&status, show);
        Ok(())
    }
}

fn show(status: &Value) {
    let backlog = &status["backlog"];
    say(&format!(
        "leadhost {}, {}",
        cell(&status["version"]),
        if status["draining"] == true {
            "stopping"
        } else {
            "running"
        }
    ));
    say(&format!(
        "waiting: {} to convert, {} to fetch (oldest {}); failed {}, parked {}, quarantined {}",
        backlog["queued"],
        backlog["fetches"],
        time(&backlog["oldestWaiting"]),
        backlog["failed"],
        backlog["parked"],
        backlog["quarantined"],
    ));
    say(&format!(
        "messages: {} to send, {} with an unknown outcome",
        backlog["sends"], backlog["unknown"],
    ));
    say(&format!("analytics: {}", analytics(status)));
    say(&format!("sealing key {}", cell(&status["sealingKey"])));
    let pool = &status["connections"];
    if !pool.is_null() {
        say(&format!(
            "database: {} of {} connections open, {} idle; {} operations in progress",
            pool["open"], pool["most"], pool["idle"], pool["asked"],
        ));
    }
    show_hosts(status);
    say("");
    let plugins: Vec<Vec<String>> = status["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|plugin| {
            vec![
                cell(&plugin["name"]),
                cell(&plugin["version"]),
                short(&plugin["digest"]),
                cell(&plugin["generation"]),
                on_hosts(plugin),
            ]
        })
        .collect();
    if plugins.is_empty() {
        say("No plugin is active: `leadhost plugin activate FILE`.");
    } else {
        say(&table(
            &["PLUGIN", "VERSION", "DIGEST", "GENERATION", "HOSTS"],
            &plugins,
        ));
    }
}

/// Returns the as-of time of each metric set, on one line.
fn analytics(status: &Value) -> String {
    let sets = status["analytics"].as_array().into_iter().flatten();
    let sets = sets.map(|set| {
        let stale = if set["stale"] == true { " (stale)" } else { "" };
        format!(
            "{} as of {}{stale}",
            cell(&set["metricSet"]),
            time(&set["asOf"])
        )
    });
    let sets: Vec<String> = sets.collect();
    format!(
        "{}; time zones {}",
        sets.join(", "),
        cell(&status["tzdata"])
    )
}

/// Prints the hosts of a fleet.
fn show_hosts(status: &Value) {
    let all = status["hosts"].as_array().map_or(&[][..], Vec::as_slice);
    // Hide the old entry of a host that was restarted.
    let is_back = |host: &Value| {
        let same = |other: &&Value| other["name"] == host["name"] && other["alive"] == true;
        host["alive"] != true && all.iter().any(|other| same(&other))
    };
    let hosts: Vec<Vec<String>> = all
        .iter()
        .filter(|host| !is_back(host))
        .map(|host| {
            let own = host["id"] == status["host"]["id"];
            let state = match (own, host["alive"] == true) {
                (true, _) => "this one",
                (false, true) => "alive",
                (false, false) => "no heartbeat",
            };
            vec![
                cell(&host["name"]),
                cell(&host["version"]),
                time(&host["startedAt"]),
                time(&host["seenAt"]),
                state.to_owned(),
            ]
        })
        .collect();
    if !hosts.is_empty() {
        say("");
        say(&table(
            &["HOST", "VERSION", "STARTED", "SEEN", "STATE"],
            &hosts,
        ));
    }
}

/// Returns how many hosts have activated the plugin, and how many have not yet.
fn on_hosts(plugin: &Value) -> String {
    if plugin["hosts"].is_null() {
        return "this one".to_owned();
    }
    let behind = plugin["behind"].as_array().map_or(0, Vec::len);
    match behind {
        0 => cell(&plugin["hosts"]),
        behind => format!("{} (not on {behind})", cell(&plugin["hosts"])),
    }
}
