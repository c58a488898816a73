//! The name of a delivery's sender, for which a command asks for the connections and instances.

use crate::cli::prelude::*;
use leadhost_admin_api::connections::Connections;
use leadhost_admin_api::instances::Instances;
use leadhost_admin_api::senders::WorkspacesOfSenders;

/// Reads the workspaces of connections and instances from the service. Empty if they cannot be read:
/// names are then shown alone.
pub async fn workspaces_of_senders(client: &AdminClient) -> WorkspacesOfSenders {
    let connections = client.get::<Connections>("/admin/v1/connections").await;
    let instances = client.get::<Instances>("/admin/v1/instances").await;
    let (Ok(connections), Ok(instances)) = (connections, instances) else {
        return WorkspacesOfSenders::default();
    };
    WorkspacesOfSenders::new(
        &connections.content.connections,
        &instances.content.instances,
    )
}

pub use leadhost_admin_api::deliveries::origin;
