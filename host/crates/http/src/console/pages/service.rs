use super::super::frame;
use crate::console::pages::prelude::*;
use leadhost_admin_api::config::EffectiveConfig;
use leadhost_admin_api::etl::EtlStatus;
use leadhost_admin_api::hosts::ListedHost;
use leadhost_admin_api::status::ServiceStatus;
use leadhost_domain::size;

pub static ROUTES: &[Route] = pages! { GET "/service" => page show(); };

#[derive(Template)]
#[template(path = "console/service.html")]
pub struct ServicePage {
    frame: Frame,
    status: ServiceStatus,
    etl: EtlStatus,
    config: EffectiveConfig,
}

impl ServicePage {
    fn hosts(&self) -> Table {
        let hosts = self.status.hosts.iter().map(|host| ListedHost {
            host,
            name: host.name.clone(),
            is_own: host.id == self.status.host.id,
        });
        Table::of(&hosts.collect::<Vec<_>>(), "")
    }

    fn disk_advice(&self) -> Option<String> {
        let disk = self.status.disk.as_ref()?;
        let free = disk.free_bytes?;
        if free >= limits::DOCTOR_LOW_DISK_BYTES {
            return None;
        }
        let mut settings = self.config.settings.iter();
        let days = settings.find(|one| one.key == "retention.deliveries_days")?;
        Some(format!(
            "Make room on the disk of the data folder {}: with less than {} free the service is not ready, and it refuses writes with 507 while the files have no room. It needs no restart afterwards. retention.deliveries_days is {}: with fewer days the store keeps fewer bodies, and reuses their room. `leadhost doctor` says what takes the room.",
            disk.folder,
            size::readable(disk.reserve_bytes),
            days.value
        ))
    }
}

async fn show(visit: &Visit<'_>) -> PageResult<ServicePage> {
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
