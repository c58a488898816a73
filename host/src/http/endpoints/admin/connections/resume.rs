//! `POST /admin/v1/connections/{id or name}/resume`: its fetches go on, those
//! that waited first.

use hyper::StatusCode;
use serde_json::json;

use super::{find, set_pause};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn resume(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let connection = find(&*call.http.core.store, which).await?;
    set_pause(call, &connection, None).await?;
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": false }),
    )?)
}
