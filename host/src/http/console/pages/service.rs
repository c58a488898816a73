//! The service: its hosts, its backlog, how far analytics are counted, and the configuration in force.

use std::time::Duration;

use askama::Template;

use super::super::Visit;
use super::super::api::ApiRefusal;
use super::super::frame::{self, Frame};
use crate::admin_api::config::EffectiveConfig;
use crate::admin_api::etl::EtlStatus;
use crate::admin_api::status::ServiceStatus;
use crate::domain::{size, text};

#[derive(Template)]
#[template(path = "console/service.html")]
pub struct ServicePage {
    frame: Frame,
    status: ServiceStatus,
    etl: EtlStatus,
    config: EffectiveConfig,
}

/// Returns the page.
///
/// # Errors
///
/// [`ApiRefusal`] if the state of the service cannot be read.
pub async fn show(visit: &Visit<'_>) -> Result<ServicePage, ApiRefusal> {
    let api = visit.api();
    let status = api.get("/status").await?;
    let etl = api.get("/etl").await?;
    let config = api.get("/config").await?;
    Ok(ServicePage {
        frame: visit.frame("service", "Service"),
        status,
        etl,
        config,
    })
}
