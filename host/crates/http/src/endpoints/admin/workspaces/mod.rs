pub mod analytics;
pub mod list;
pub mod parts;
pub mod products;

use crate::endpoints::admin::prelude::*;

/// Finds the workspace that an operator names, by id or slug.
pub async fn find(store: &Store, text: &str) -> ApiResult<Workspace> {
    let id: Option<WorkspaceId> = text.parse().ok();
    let all = store.workspaces().await?;
    all.into_iter()
        .find(|one| one.slug == text || Some(one.id) == id)
        .ok_or_else(|| {
            ApiError::NotFound(format!(
                "There is no workspace `{text}`; `leadhost workspace list` shows those that exist."
            ))
        })
}

pub async fn among(call: &Call<'_>, named: Option<&str>) -> ApiResult<Vec<Workspace>> {
    let store = &call.http.core.store;
    match named {
        Some(text) => Ok(vec![find(store, text).await?]),
        None => Ok(store.workspaces().await?),
    }
}

pub fn few_enough(among: &[Workspace]) -> ApiResult<()> {
    if among.len() <= limits::SEARCHED_WORKSPACES {
        return Ok(());
    }
    Err(ApiError::BadRequest(format!(
        "A search looks in at most {} workspaces: choose a workspace.",
        limits::SEARCHED_WORKSPACES
    )))
}
