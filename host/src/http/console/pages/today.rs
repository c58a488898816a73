//! The first page: what is wrong, what waits, and the last deliveries.

use askama::Template;

use super::super::Visit;
use super::super::api::ApiRefusal;
use super::super::frame::Frame;
use super::plugins;
use crate::admin_api::deliveries::{Deliveries, DeliveryView};
use crate::admin_api::overview::{ServiceOverview, ServiceProblem};
use crate::admin_api::status::ServiceStatus;
use crate::http::endpoints::health;
use crate::limits;

#[derive(Template)]
#[template(path = "console/today.html")]
pub struct TodayPage {
    frame: Frame,
    status: ServiceStatus,
    problems: Vec<ServiceProblem>,
    /// How many problems are not shown.
    more: usize,
    deliveries: Vec<DeliveryView>,
}

/// Returns the page.
///
/// # Errors
///
/// [`ApiRefusal`] if the state of the service cannot be read.
pub async fn show(visit: &Visit<'_>) -> Result<TodayPage, ApiRefusal> {
    let api = visit.api();
    let overview = overview(visit).await?;
    let deliveries: Deliveries = api.get("/deliveries?limit=15").await?;
    let mut problems = overview.problems();
    let more = problems.len().saturating_sub(limits::STATUS_PROBLEMS);
    problems.truncate(limits::STATUS_PROBLEMS);
    Ok(TodayPage {
        frame: visit.frame("", "Today"),
        status: overview.status,
        problems,
        more,
        deliveries: deliveries.deliveries,
    })
}

/// Asks for everything in which something may be wrong.
async fn overview(visit: &Visit<'_>) -> Result<ServiceOverview, ApiRefusal> {
    let api = visit.api();
    let status: ServiceStatus = api.get("/status").await?;
    let mut rollouts = Vec::new();
    for plugin in &status.plugins {
        rollouts.extend(plugins::last_rollout(visit, &plugin.name).await?);
    }
    Ok(ServiceOverview {
        status,
        connections: api.get("/connections").await?,
        instances: api.get("/instances").await?,
        plugins: api.get("/plugins").await?,
        rollouts,
        not_ready: health::reasons(visit.call).await,
    })
}
