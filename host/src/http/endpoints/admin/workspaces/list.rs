//! `GET /admin/v1/workspaces`, by slug.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::domain::workspace::Workspace;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut workspaces = call.http.core.store.workspaces().await?;
    workspaces.sort_by(|one, other| one.slug.cmp(&other.slug));
    let shown: Vec<_> = workspaces.iter().map(shown).collect();
    reply::json(StatusCode::OK, &json!({ "workspaces": shown }))
}

fn shown(workspace: &Workspace) -> Value {
    json!({
        "id": workspace.id,
        "slug": workspace.slug,
        "name": workspace.name,
        "region": workspace.region,
        "timeZone": workspace.time_zone,
        "rateLimit": workspace.rate_limit,
    })
}
