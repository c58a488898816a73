//! `GET /admin/v1/connections`.

use hyper::StatusCode;
use serde_json::json;

use super::shown;
use crate::domain::connection::ConnectionKind;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;

pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &call.app.store;
    let mut connections = Vec::new();
    for workspace in store.workspaces().await? {
        let partners = store.partners(workspace.id).await?;
        for connection in store.connections(Some(workspace.id)).await? {
            // Channels are listed with their instances.
            if connection.kind == ConnectionKind::Channel {
                continue;
            }
            let partner = partners
                .iter()
                .find(|partner| Some(partner.id) == connection.partner)
                .map_or("", |partner| partner.name.as_str());
            connections.push(shown(&connection, &workspace.slug, partner));
        }
    }
    reply::json(StatusCode::OK, &json!({ "connections": connections }))
}
