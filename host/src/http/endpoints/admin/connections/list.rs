//! `GET /admin/v1/connections`.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::json;
use tokio::time::Instant;

use super::{senders, shown};
use crate::domain::connection::ConnectionKind;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

/// How long plugins are asked, all of them together.
const ASKING: Duration = Duration::from_secs(5);

pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &call.http.core.store;
    let mut connections = Vec::new();
    let until = Instant::now() + ASKING;
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
            let mut shown = shown(&connection, &workspace.slug, partner);
            shown["senders"] = json!(senders(call.http, &connection, until).await);
            connections.push(shown);
        }
    }
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "connections": connections }),
    )?)
}
