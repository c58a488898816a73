use hyper::StatusCode;

use crate::cli::client::ServiceRefusal;
use crate::cli::open_rollouts;
use crate::cli::overview;
use crate::cli::prelude::*;
use leadhost_admin_api::audit::Audit;
use leadhost_admin_api::deliveries::Deliveries;
use leadhost_admin_api::hosts::{HostView, ListedHost};
use leadhost_admin_api::overview::{ServiceOverview, ServiceProblem};
use leadhost_admin_api::repairs::RepairList;
use leadhost_admin_api::rollouts::RolloutList;
use leadhost_admin_api::status::ServiceStatus;
use leadhost_domain::host_names;

#[derive(Args)]
pub struct ShowStatus {}

impl ServiceCommand for ShowStatus {
    async fn run(self, client: AdminClient) -> CommandResult {
        let status = match client.try_get("/admin/v1/status").await? {
            Ok(status) => status,
            Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => {
                return Err(unavailable(&client, refusal).await);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        if client.json() {
            client.print(&status, |_: &ServiceStatus| {});
            return Ok(());
        }
        show(&status, client.flags());
        let ready = overview::readiness(&client).await?.unwrap_or_default();
        let mut overview = overview::read(&client, status).await?;
        overview.not_ready = ready.reasons;
        let last = client.get("/admin/v1/rollouts").await?;
        let RolloutList { rollouts } = last.content;
        overview.rollouts = rollouts;
        let path = ServiceOverview::rollbacks_path(overview.status.now);
        let rollbacks: Audit = client.get(&format!("/admin/v1{path}")).await?.content;
        overview.rollbacks = rollbacks.rows;
        for path in ServiceOverview::ended_rollouts_paths(overview.status.now) {
            let ended: Audit = client.get(&format!("/admin/v1{path}")).await?.content;
            overview.ended_rollouts.extend(ended.rows);
        }
        let repairs: RepairList = client.get("/admin/v1/repairs").await?.content;
        overview.repairs = repairs.repairs;
        for left in overview.versions_to_look_for() {
            let mut left = Some(left);
            while let Some(one) = left {
                let path = format!("/admin/v1{}", one.deliveries_path());
                let found: Deliveries = client.get(&path).await?.content;
                left = overview.looked_for(one, &found);
            }
        }
        if let Some(young) = overview.young_sources() {
            say!("\n{}", safe(&young));
        }
        show_problems(&overview.problems(), client.flags());
        Ok(())
    }
}

/// Returns the failure of a service that cannot tell its state, with its reasons.
async fn unavailable(client: &AdminClient, refusal: ServiceRefusal) -> CommandFailure {
    let failure = CommandFailure::from(refusal);
    match overview::readiness(client).await {
        Ok(Some(ready)) => {
            let found = ServiceProblem::from_readiness(&ready.reasons);
            let lines = found.iter().map(|one| line(one, client.flags()));
            let lines: Vec<String> = lines.collect();
            if lines.is_empty() {
                failure
            } else {
                failure.hint(lines.join("\n  "))
            }
        }
        Ok(None) | Err(_) => failure,
    }
}

fn line(problem: &ServiceProblem, flags: &ServiceFlags) -> String {
    let command = flags.command(&problem.command);
    safe(&format!("- {}: `{command}`", problem.what))
}

fn show_problems(found: &[ServiceProblem], flags: &ServiceFlags) {
    if found.is_empty() {
        say("\nNothing is wrong.");
        return;
    }
    say("\nWhat is wrong:");
    for problem in found.iter().take(limits::STATUS_PROBLEMS) {
        say(&line(problem, flags));
    }
    let rest = found.len().saturating_sub(limits::STATUS_PROBLEMS);
    if rest > 0 {
        say!(
            "- and {}",
            count(rest as u64, "more problem", "more problems")
        );
    }
}

fn show(status: &ServiceStatus, flags: &ServiceFlags) {
    let backlog = &status.backlog;
    say!(
        "leadhost {}, {}; engine {}",
        status.version,
        if status.draining {
            "stopping"
        } else {
            "running"
        },
        status.engine,
    );
    say!(
        "waiting: {} to convert, {} to fetch (oldest {}); failed {}, parked {}, quarantined {}",
        backlog.queued,
        backlog.fetches,
        optional(backlog.oldest_waiting.map(seconds)),
        backlog.failed,
        backlog.parked,
        backlog.quarantined,
    );
    say!(
        "messages: {} to send, {} with an unknown outcome",
        backlog.sends,
        backlog.unknown,
    );
    say!("analytics: {}", analytics(status));
    say!("sealing key {}", status.sealing_key);
    if let Some(pool) = &status.connections {
        say!(
            "database: {} of {} connections open, {} idle; {} in progress",
            pool.open,
            pool.most,
            pool.idle,
            count(pool.asked, "operation", "operations"),
        );
    }
    show_hosts(status);
    if status.plugins.is_empty() {
        let activate = flags.command("plugin publish FILE");
        say!("\nNo plugin is active: `{activate}`.");
    }
    say_more_rows(&status.plugins);
    let open = status.plugins.iter().filter_map(|plugin| {
        let rollout = plugin.rollout.as_ref()?;
        Some((plugin.name.as_str(), rollout))
    });
    open_rollouts::show(open);
}

/// Returns the as-of time of each metric set, on one line.
fn analytics(status: &ServiceStatus) -> String {
    let sets = status.analytics.iter().map(|set| {
        let stale = if set.stale { " (stale)" } else { "" };
        let as_of = optional(set.as_of.map(seconds));
        format!("{} as of {as_of}{stale}", set.metric_set.as_str())
    });
    let sets: Vec<String> = sets.collect();
    format!("{}; time zones {}", sets.join(", "), status.tzdata)
}

fn show_hosts(status: &ServiceStatus) {
    let all = &status.hosts;
    // Hide the old entry of a host that was restarted.
    let is_back = |host: &HostView| {
        let same = |other: &HostView| other.name == host.name && other.alive;
        !host.alive && all.iter().any(same)
    };
    let shown: Vec<&HostView> = all.iter().filter(|host| !is_back(host)).collect();
    let names = host_names::distinct(shown.iter().map(|host| (host.id, host.name.as_str())));
    let hosts: Vec<ListedHost<'_>> = shown
        .into_iter()
        .zip(names)
        .map(|(host, name)| ListedHost {
            host,
            name,
            is_own: host.id == status.host.id,
        })
        .collect();
    say_more_rows(&hosts);
}
