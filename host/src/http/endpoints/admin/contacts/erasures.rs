//! `GET /admin/v1/erasures?workspace=&before=&limit=`, newest first: the erased persons by ids
//! alone, what was removed, and which of the remaining parts still exist. An erasure without
//! `doneAt` was interrupted or is still running.

use hyper::StatusCode;

use super::{counts, remaining};
use crate::admin_api::contacts::{ErasureView, Erasures};
use crate::domain::id::ErasureId;
use crate::http::call::Call;
use crate::http::endpoints::admin::{last_of_full, page_limit, workspaces};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::store::{Erasure, ErasureFilter};

/// Returns a page of the erasures.
///
/// # Errors
///
/// A parameter is invalid, there is no such workspace, or the store cannot be read.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let mut filter = ErasureFilter {
        limit: page_limit(&query)?,
        ..ErasureFilter::default()
    };
    if let Some(text) = query.filled(&["workspace"]) {
        filter.workspace = Some(workspaces::find(&*call.http.core.store, text).await?.id);
    }
    if let Some(text) = query.filled(&["before"]) {
        let id: ErasureId = text
            .parse()
            .map_err(|_| ApiError::BadRequest(format!("`{text}` is not the id of an erasure.")))?;
        filter.before = Some(id);
    }
    let erasures = call.http.core.store.erasures(&filter).await?;
    let next = last_of_full(&erasures, filter.limit).map(|erasure| erasure.id);
    let erasures = erasures.into_iter().map(to_view).collect();
    reply::json(StatusCode::OK, &Erasures { erasures, next })
}

fn to_view(erasure: Erasure) -> ErasureView {
    ErasureView {
        id: erasure.id,
        workspace_id: erasure.workspace_id,
        contact_id: erasure.contact_id,
        found_by: erasure.found_by,
        key_id: erasure.key_id,
        began_at: erasure.began_at,
        done_at: erasure.done_at,
        erased: counts(erasure.erased),
        remaining: remaining(erasure.remaining.for_display()),
    }
}
