use hyper::StatusCode;

use crate::cli::prelude::*;
use leadhost_admin_api::overview::ServiceOverview;
use leadhost_admin_api::status::ServiceStatus;

/// The answer of `GET /health/ready`.
#[derive(Debug, Default, Deserialize)]
pub struct Readiness {
    /// Why the service is not ready. Empty if it is.
    #[serde(default)]
    pub reasons: Vec<String>,
}

pub async fn read(
    client: &AdminClient,
    status: AdminAnswer<ServiceStatus>,
) -> CommandResult<ServiceOverview> {
    Ok(ServiceOverview {
        status: status.content,
        connections: client.get("/admin/v1/connections").await?.content,
        instances: client.get("/admin/v1/instances").await?.content,
        plugins: client.get("/admin/v1/plugins").await?.content,
        rollouts: Vec::new(),
        rollbacks: Vec::new(),
        ended_rollouts: Vec::new(),
        repairs: Vec::new(),
        unrepaired: Vec::new(),
        past_changes: Default::default(),
        last_hour: client.get("/admin/v1/activity?period=hour").await?.content,
        last_day: client.get("/admin/v1/activity?period=day").await?.content,
        quarantined: Vec::new(),
        not_ready: Vec::new(),
    })
}

/// Returns why the service is not ready. `None` if its answer cannot be read: a proxy may not pass the
/// path on.
pub async fn readiness(client: &AdminClient) -> CommandResult<Option<Readiness>> {
    Ok(match client.try_get("/health/ready").await? {
        Ok(ready) => Some(ready.content),
        Err(refusal) if refusal.status == StatusCode::SERVICE_UNAVAILABLE => {
            Readiness::deserialize(&refusal.body).ok()
        }
        Err(_) => None,
    })
}
