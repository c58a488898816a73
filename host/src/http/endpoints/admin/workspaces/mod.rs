//! Workspaces, and the parts of them that operators may change without the workspace's whole
//! file.

pub mod analytics;
pub mod list;
pub mod parts;
pub mod products;

use crate::domain::id::WorkspaceId;
use crate::domain::workspace::Workspace;
use crate::http::error::ApiError;
use crate::store::Store;

/// Finds the workspace that an operator names, by id or slug.
///
/// # Errors
///
/// [`ApiError::NotFound`] if there is none, and [`ApiError::Store`] if the store fails.
pub async fn find(store: &dyn Store, text: &str) -> Result<Workspace, ApiError> {
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
