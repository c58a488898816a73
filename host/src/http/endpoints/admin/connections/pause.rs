//! `POST /admin/v1/connections/{id or name}/pause`: stops its fetches. What
//! comes in is still accepted, and waits.

use hyper::StatusCode;
use serde_json::json;

use super::{PauseRequest, find, set_pause};
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn pause(call: &Call<'_>, which: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: PauseRequest = read_json(call, body).await?;
    let connection = find(&*call.http.core.store, which).await?;
    let pause = request.pause(call.http.core.clock.now());
    set_pause(call, &connection, Some(&pause)).await?;
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": true }),
    )?)
}
