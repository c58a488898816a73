//! `DELETE /admin/v1/keys/{id}`: within a second the key stops working. A key cannot revoke
//! itself: otherwise no key might be left to make another.

use hyper::StatusCode;

use crate::admin_api::keys::KeyRevoked;
use crate::domain::id::KeyId;
use crate::http::auth::AdminCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::fleet;
use crate::store::Announcement;

/// Revokes a key.
///
/// # Errors
///
/// There is no live key with this id, it is the caller's own key, or the store fails.
pub async fn revoke(
    call: &Call<'_>,
    caller: &AdminCaller,
    id: &str,
) -> Result<ApiResponse, ApiError> {
    let missing = || {
        ApiError::NotFound(format!(
            "There is no live key `{id}`; `leadhost key list` shows those that exist."
        ))
    };
    let key: KeyId = id.parse().map_err(|_| missing())?;
    if key == caller.key() {
        return Err(ApiError::conflict(
            "This request was made with the key itself: revoke it with another admin key."
                .to_owned(),
        ));
    }
    if !call
        .http
        .core
        .store
        .revoke_key(key, call.http.core.clock.now())
        .await?
    {
        return Err(missing());
    }
    fleet::announce(&call.http.pipeline, Announcement::Keys).await;
    let answer = KeyRevoked {
        id: key,
        revoked: true,
    };
    reply::json(StatusCode::OK, &answer)
}
