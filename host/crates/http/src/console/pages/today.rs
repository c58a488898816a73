use super::super::chart::Chart;
use super::super::outcome::alike;
use super::deliveries::table;
use super::words::slot_names;
use crate::console::pages::prelude::*;
use crate::endpoints::health;
use leadhost_admin_api::activity::{Activity, ActivityPeriod, ActivityRow};
use leadhost_admin_api::audit::Audit;
use leadhost_admin_api::deliveries::{Deliveries, DeliveryView};
use leadhost_admin_api::overview::{ServiceOverview, ServiceProblem};
use leadhost_admin_api::repairs::RepairList;
use leadhost_admin_api::rollouts::RolloutList;
use leadhost_admin_api::senders::WorkspacesOfSenders;
use leadhost_admin_api::status::ServiceStatus;

pub static ROUTES: &[Route] = pages! {
    GET "" => answer show();
    GET "/" => answer show();
};

#[derive(Template)]
#[template(path = "console/today.html")]
pub struct TodayPage {
    frame: Frame,
    status: ServiceStatus,
    problems: Vec<ServiceProblem>,
    /// How many problems are not shown.
    more: usize,
    young: Option<String>,
    deliveries: Vec<DeliveryView>,
    senders: WorkspacesOfSenders,
    activity: Activity,
    periods: [ActivityPeriod; ActivityPeriod::ALL.len()],
    charts: Vec<Chart>,
    problem: Option<ApiRefusal>,
}

async fn show(visit: &Visit<'_>) -> PageResult {
    let api = visit.api();
    let overview = overview(visit).await?;
    let deliveries: Deliveries = api.get("/deliveries?limit=15").await?;
    let Filtered { found, problem } = Filtered::<Activity>::for_period(visit, "/activity").await?;
    let mut problems = ServiceProblem::grouped(overview.problems());
    let more = problems.len().saturating_sub(limits::STATUS_PROBLEMS);
    problems.truncate(limits::STATUS_PROBLEMS);
    let senders = WorkspacesOfSenders::new(
        &overview.connections.connections,
        &overview.instances.instances,
    );
    let young = overview.young_sources();
    let shown = TodayPage {
        frame: visit.frame("today", "Today"),
        status: overview.status,
        problems,
        more,
        young,
        deliveries: grouped(deliveries.deliveries),
        senders,
        periods: ActivityPeriod::ALL,
        charts: charts(&found),
        activity: found,
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}

/// Leaves the newest of the deliveries of a connection that have one status and one reason, which says how many
/// they are.
fn grouped(deliveries: Vec<DeliveryView>) -> Vec<DeliveryView> {
    let key = |one: &DeliveryView| {
        let facts = &one.facts;
        let error = facts.error.clone()?;
        Some((facts.connection_id.clone(), facts.status, error))
    };
    let groups = alike(deliveries, key).into_iter();
    groups
        .map(|(mut delivery, number)| {
            let error = delivery.facts.error.take();
            delivery.facts.error = error.map(|error| match number {
                1 => error,
                _ => format!("{number} with one reason: {error}"),
            });
            delivery
        })
        .collect()
}

/// Draws what came in and went out, by connection and instance.
fn charts(activity: &Activity) -> Vec<Chart> {
    let slots = slot_names(activity.period, &activity.slots);
    let chart = |id, title: &str, counts: fn(&ActivityRow) -> Vec<u64>| {
        let series = activity.series.iter();
        let named = series.map(|row| (activity.name_of(row), counts(row)));
        Chart::new(id, title, slots.clone(), named).pending(activity.counted_at.is_none())
    };
    vec![
        chart("leads", "Leads", |row| row.leads.clone()),
        chart("deliveries", "Deliveries", |row| row.deliveries.clone()),
        chart("messages", "Messages", |row| row.messages.clone()),
        chart("failures", "Failures", |row| row.failures.clone()),
        chart("rejected", "Refused deliveries", |row| row.rejected.clone()),
    ]
}

/// Asks for everything in which something may be wrong.
async fn overview(visit: &Visit<'_>) -> PageResult<ServiceOverview> {
    let api = visit.api();
    let status: ServiceStatus = api.get("/status").await?;
    let last: RolloutList = api.get("/rollouts").await?;
    let rollbacks: Audit = api
        .get(&ServiceOverview::rollbacks_path(status.now))
        .await?;
    let repairs: RepairList = api.get("/repairs").await?;
    let mut ended_rollouts = Vec::new();
    for path in ServiceOverview::ended_rollouts_paths(status.now) {
        let ended: Audit = api.get(&path).await?;
        ended_rollouts.extend(ended.rows);
    }
    let mut overview = ServiceOverview {
        status,
        connections: api.get("/connections").await?,
        instances: api.get("/instances").await?,
        plugins: api.get("/plugins").await?,
        rollouts: last.rollouts,
        rollbacks: rollbacks.rows,
        ended_rollouts,
        repairs: repairs.repairs,
        unrepaired: Vec::new(),
        past_changes: Default::default(),
        last_hour: api.get("/activity?period=hour").await?,
        last_day: api.get("/activity?period=day").await?,
        quarantined: Vec::new(),
        not_ready: health::reasons(visit.call).await,
    };
    if overview.status.backlog.quarantined > 0 {
        let path = format!(
            "/deliveries?status=quarantined&limit={}",
            limits::QUARANTINE_LOOKED_AT
        );
        let newest: Deliveries = api.get(&path).await?;
        overview.quarantined = newest.deliveries;
    }
    for left in overview.versions_to_look_for() {
        let mut left = Some(left);
        while let Some(one) = left {
            let found: Deliveries = api.get(&one.deliveries_path()).await?;
            left = overview.looked_for(one, &found);
        }
    }
    Ok(overview)
}
