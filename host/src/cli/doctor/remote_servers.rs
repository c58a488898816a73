//! The remote servers of connections and instances: each allowed host is reached as a call of a plugin would
//! reach it, by the same rules, from this machine. No request is sent.

use futures_util::StreamExt as _;
use futures_util::stream;

use super::finding::Findings;
use crate::cli::prelude::*;
use leadhost_admin_api::overview::ServiceOverview;
use leadhost_domain::connection::AllowedHost;
use leadhost_domain::exchange::UrlScheme;
use leadhost_domain::workspace::name_in_workspace;
use leadhost_egress::Egress;

const ABOUT: &str = "remote servers";

/// Connects to the allowed hosts of all connections and instances.
pub async fn check(overview: &ServiceOverview, findings: &mut Findings) {
    let all = allowed(overview);
    if all.is_empty() {
        findings.ok(ABOUT, "No connection or instance calls another host.");
        return;
    }
    let egress = Egress::new(limits::DOCTOR_DEADLINE);
    let left_out = all.len().saturating_sub(limits::DOCTOR_REMOTE_SERVERS);
    let tried: Vec<_> = all
        .into_values()
        .take(limits::DOCTOR_REMOTE_SERVERS)
        .collect();
    let number = tried.len();
    let results: Vec<_> = stream::iter(tried)
        .map(|(host, names)| {
            let egress = egress.clone();
            async move { (egress.reach(&host).await, host, names) }
        })
        .buffered(limits::DOCTOR_REMOTE_SERVERS_AT_ONCE)
        .collect()
        .await;
    let mut reached = 0;
    for (result, host, names) in results {
        match result {
            Ok(()) => reached += 1,
            Err(error) => findings.problem(
                ABOUT,
                format!(
                    "{}://{} of {} cannot be reached from this machine: {error}.",
                    host.scheme, host.authority, names
                ),
                "Check its name, its certificate and the firewall, or remove it from `allow`.",
            ),
        }
    }
    if reached > 0 {
        findings.ok(
            ABOUT,
            format!("{reached} of {number} allowed hosts can be reached from this machine."),
        );
    }
    if left_out > 0 {
        findings.warning(
            ABOUT,
            format!("{left_out} further allowed hosts were not tried."),
            "Try those yourself.",
        );
    }
}

/// Returns each allowed host once, with the name of the first that may call it.
fn allowed(
    overview: &ServiceOverview,
) -> BTreeMap<(UrlScheme, String, bool), (AllowedHost, String)> {
    let connections = overview.connections.connections.iter();
    let connections = connections.map(|one| {
        (
            name_in_workspace(&one.workspace, &one.name),
            &one.bound.allow,
        )
    });
    let instances = overview.instances.instances.iter().filter_map(|one| {
        let settings = one.settings.as_ref()?;
        Some((
            name_in_workspace(&one.workspace, &one.name),
            &settings.bound.allow,
        ))
    });
    let mut found = BTreeMap::new();
    for (name, allow) in connections.chain(instances) {
        for host in allow {
            let key = (host.scheme, host.authority.clone(), host.private);
            found
                .entry(key)
                .or_insert_with(|| (host.clone(), name.clone()));
        }
    }
    found
}
