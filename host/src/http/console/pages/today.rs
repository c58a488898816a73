//! The first page: what is wrong, what waits, and the last deliveries.

use askama::Template;

use super::super::Visit;
use super::super::api::ApiRefusal;
use super::super::chart::Chart;
use super::super::frame::Frame;
use super::Filters;
use crate::admin_api::activity::{Activity, ActivityPeriod, ActivityRow};
use crate::admin_api::connections::{ConnectionView, Connections};
use crate::admin_api::deliveries::{Deliveries, DeliveryView};
use crate::admin_api::instances::Instances;
use crate::admin_api::plugins::PluginList;
use crate::admin_api::status::ServiceStatus;
use crate::domain::time::Micros;

#[derive(Template)]
#[template(path = "console/today.html")]
pub struct TodayPage {
    frame: Frame,
    status: ServiceStatus,
    problems: Vec<Problem>,
    changed: Vec<ConnectionView>,
    deliveries: Vec<DeliveryView>,
    activity: Activity,
    periods: [ActivityPeriod; ActivityPeriod::ALL.len()],
    charts: Vec<Chart>,
}

/// Something that an operator should look at, with the page that shows it.
struct Problem {
    text: String,
    to: String,
}

/// Returns the page.
///
/// # Errors
///
/// [`ApiRefusal`] if the state of the service cannot be read.
pub async fn show(visit: &Visit<'_>) -> Result<TodayPage, ApiRefusal> {
    let api = visit.api();
    let status: ServiceStatus = api.get("/status").await?;
    let connections: Connections = api.get("/connections").await?;
    let instances: Instances = api.get("/instances").await?;
    let plugins: PluginList = api.get("/plugins").await?;
    let deliveries: Deliveries = api.get("/deliveries?limit=15").await?;
    let filters = Filters::read(visit, &["period"]);
    let activity: Activity = api.get(&format!("/activity{}", filters.query())).await?;
    let charts = charts(&activity);
    let problems = problems(&status, &connections, &instances, &plugins);
    let changed = connections
        .connections
        .into_iter()
        .filter(|connection| connection.source_change.is_some())
        .collect();
    Ok(TodayPage {
        frame: visit.frame("", "Today"),
        status,
        problems,
        changed,
        deliveries: deliveries.deliveries,
        activity,
        periods: ActivityPeriod::ALL,
        charts,
    })
}

/// Draws what came in and went out, by connection and instance.
fn charts(activity: &Activity) -> Vec<Chart> {
    // `2026-03-02T12:15`, of which a chart needs as much as tells its slots apart.
    let name = |at: &Micros| {
        let text = at.text().replace('T', " ");
        let part = match activity.period {
            ActivityPeriod::Hour | ActivityPeriod::Day => text.get(11..16),
            ActivityPeriod::Week => text.get(5..16),
        };
        part.unwrap_or_default().to_owned()
    };
    let slots: Vec<String> = activity.slots.iter().map(name).collect();
    let chart = |id, title: &str, counts: fn(&ActivityRow) -> &Vec<u64>| {
        let series = activity.series.iter();
        let named = series.map(|row| (row.name.clone(), counts(row).clone()));
        Chart::new(id, title, slots.clone(), named)
    };
    vec![
        chart("leads", "Leads", |row| &row.leads),
        chart("deliveries", "Deliveries", |row| &row.deliveries),
        chart("messages", "Messages", |row| &row.messages),
        chart("failures", "Failures", |row| &row.failures),
    ]
}

fn problems(
    status: &ServiceStatus,
    connections: &Connections,
    instances: &Instances,
    plugins: &PluginList,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tell = |is_so: bool, text: String, to: String| {
        if is_so {
            problems.push(Problem { text, to });
        }
    };
    let backlog = &status.backlog;
    let waiting = [
        (
            backlog.parked,
            "deliveries cannot be converted: they failed three times",
            "/deliveries?status=parked",
        ),
        (
            backlog.failed,
            "deliveries failed and are tried again",
            "/deliveries?status=failed",
        ),
        (
            backlog.quarantined,
            "deliveries are in quarantine: their sender check failed",
            "/deliveries?status=quarantined",
        ),
        (
            backlog.unknown,
            "messages of which it is unknown whether they were sent",
            "/messages?state=unknown",
        ),
    ];
    for (count, text, to) in waiting {
        tell(count > 0, format!("{count} {text}"), to.to_owned());
    }
    for host in status.silent_hosts() {
        tell(
            true,
            format!("Host {} does not answer", host.name),
            "/service".to_owned(),
        );
    }
    for plugin in &plugins.plugins {
        let (name, to) = (&plugin.name, format!("/plugins/{}", plugin.name));
        let circuits = plugin.circuits.len();
        tell(
            circuits > 0,
            format!("{name} keeps failing for {circuits} connections"),
            to.clone(),
        );
        let behind = plugin.behind.as_ref().map_or(0, Vec::len);
        tell(
            behind > 0,
            format!("{behind} hosts do not serve the active version of {name}"),
            to.clone(),
        );
        let is_paused = plugin
            .rollout
            .as_ref()
            .is_some_and(|rollout| rollout.paused);
        tell(is_paused, format!("The rollout of {name} is paused"), to);
    }
    for refusal in &plugins.refusals {
        let text = format!("The inbox refused {}: {}", refusal.origin, refusal.reason);
        tell(true, text, "/plugins".to_owned());
    }
    for connection in &connections.connections {
        let is_paused = connection.paused.is_some();
        tell(
            is_paused,
            format!("Connection {} is paused", connection.name),
            "/connections".to_owned(),
        );
    }
    for instance in &instances.instances {
        let is_paused = instance.paused.is_some();
        tell(
            is_paused,
            format!("Instance {} is paused", instance.name),
            "/instances".to_owned(),
        );
        let templates = instance
            .settings
            .as_ref()
            .and_then(|settings| settings.templates.as_ref());
        let has_failed = templates.is_some_and(|templates| templates.error.is_some());
        tell(
            has_failed,
            format!("The templates of {} cannot be read", instance.name),
            "/instances".to_owned(),
        );
    }
    problems
}
