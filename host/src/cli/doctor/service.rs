use super::clocks;
use super::finding::Findings;
use super::remote_servers;
use crate::cli::overview;
use crate::cli::prelude::*;
use leadhost_admin_api::overview::ServiceOverview;
use leadhost_domain::clock::Clock as _;

const ABOUT: &str = "service";

pub async fn check(client: &AdminClient, findings: &mut Findings) -> CommandResult {
    match overview::readiness(client).await? {
        Some(ready) if ready.reasons.is_empty() => {
            findings.ok(ABOUT, "The service is live and ready.");
        }
        Some(ready) => findings.problem(
            ABOUT,
            format!("The service is not ready: {}.", ready.reasons.join("; ")),
            "Look at its log, and at the findings about its folder, disk and database: `leadhost doctor` on its machine has them.",
        ),
        None => findings.warning(
            ABOUT,
            "The service is live; its readiness is not known, because /health/ready is not passed on.",
            "Ask for it on the machine of the service.",
        ),
    }
    let before = SystemClock.now();
    let answer = client.get("/admin/v1/status").await?;
    let after = SystemClock.now();
    let overview = overview::read(client, answer).await?;
    // Hosts on PostgreSQL take their time from the database.
    let whose = match overview.status.connections {
        Some(_) => "the database, from which the hosts take their time,".to_owned(),
        None => format!("the host {}", overview.status.host.name),
    };
    clocks::compare(&whose, overview.status.now, before, after, findings);
    hosts(&overview, findings);
    secrets(&overview, findings);
    remote_servers::check(&overview, findings).await;
    Ok(())
}

fn hosts(overview: &ServiceOverview, findings: &mut Findings) {
    const ABOUT: &str = "hosts";
    let hosts = &overview.status.hosts;
    for host in overview.status.silent_hosts() {
        findings.warning(
            ABOUT,
            format!(
                "The host {} has sent no heartbeat since {}.",
                host.name, host.seen_at
            ),
            "Start it again, unless you removed it.",
        );
    }
    for host in hosts.iter().filter(|host| host.alive) {
        if let Some(difference) = host.clock_difference() {
            findings.problem(
                "clock",
                format!("The clock of the host {} is {difference}.", host.name),
                "Synchronise the clocks of its machine and of the database's by NTP.",
            );
        }
    }
    let versions: std::collections::BTreeSet<&str> = hosts
        .iter()
        .filter(|host| host.alive)
        .map(|host| host.version.as_str())
        .collect();
    match versions.len() {
        0 | 1 => findings.ok(
            ABOUT,
            format!(
                "The service has {} live.",
                crate::cli::output::count(
                    hosts.iter().filter(|host| host.alive).count().max(1) as u64,
                    "host",
                    "hosts"
                )
            ),
        ),
        _ => findings.warning(
            ABOUT,
            format!(
                "The hosts run several versions: {}.",
                versions.into_iter().collect::<Vec<_>>().join(", ")
            ),
            "Finish the upgrade.",
        ),
    }
}

fn secrets(overview: &ServiceOverview, findings: &mut Findings) {
    const ABOUT: &str = "secrets";
    let missing = overview.missing_secrets();
    if missing.is_empty() {
        findings.ok(
            ABOUT,
            "Every connection and instance has the secrets that it needs.",
        );
    }
    for one in missing {
        findings.problem(
            ABOUT,
            format!(
                "The {} {} lacks the secret {}.",
                one.kind, one.name, one.secret
            ),
            "Name it in the workspace file, and run leadhost apply FILE.",
        );
    }
}
