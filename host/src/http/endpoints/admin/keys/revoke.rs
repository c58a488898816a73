//! `DELETE /admin/v1/keys/{id}`: within a second the key opens nothing. The key
//! that asks cannot revoke itself: nobody would be left to make another.

use hyper::StatusCode;
use serde_json::json;

use crate::domain::id::KeyId;
use crate::http::auth::AdminCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::fleet;
use crate::store::Announcement;

pub async fn revoke(call: &Call<'_>, caller: &AdminCaller, id: &str) -> Result<Reply, ApiError> {
    let missing = || ApiError::NotFound(format!("There is no live key `{id}`."));
    let key: KeyId = id.parse().map_err(|_| missing())?;
    if key == caller.key() {
        return Err(ApiError::conflict(
            "This key is the one that asks: revoke it with another admin key.".to_owned(),
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
    fleet::tell(&call.http.pipeline, Announcement::Keys).await;
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "id": key, "revoked": true }),
    )?)
}
