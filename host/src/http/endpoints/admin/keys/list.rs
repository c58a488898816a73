//! `GET /admin/v1/keys?workspace=`: all keys, including revoked and expired ones.

use std::collections::BTreeMap;

use hyper::StatusCode;

use super::to_view;
use crate::admin_api::keys::Keys;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

/// Returns the keys, without their texts.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is no such workspace, and [`ApiError::Store`] if the store
/// cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let store = &call.http.core.store;
    let query = call.query();
    let wanted = query.filled(&["workspace"]);
    let workspaces = store.workspaces().await?;
    let only = match wanted {
        None => None,
        Some(slug) => Some(
            workspaces
                .iter()
                .find(|one| one.slug == slug)
                .ok_or_else(|| {
                    ApiError::NotFound(format!(
                        "There is no workspace `{slug}`; `leadhost workspace list` shows those that exist."
                    ))
                })?
                .id,
        ),
    };
    let mut partners = BTreeMap::new();
    for workspace in &workspaces {
        for partner in store.partners(workspace.id).await? {
            partners.insert(partner.id, partner.name);
        }
    }
    let now = call.http.core.clock.now();
    let keys = store
        .keys(only)
        .await?
        .into_iter()
        .map(|key| {
            let workspace = workspaces
                .iter()
                .find(|one| Some(one.id) == key.workspace)
                .map(|one| one.slug.clone());
            let partner = key.partner.and_then(|id| partners.get(&id)).cloned();
            to_view(key, workspace, partner, now)
        })
        .collect();
    reply::json(StatusCode::OK, &Keys { keys })
}
