//! `POST /admin/v1/instances/{number or name}/pause`: stops its sending. What
//! partners send is still accepted, and waits; webhooks are still taken in.

use hyper::StatusCode;
use serde_json::json;

use super::channel;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::connections::{PauseRequest, set_pause};
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn pause(call: &Call<'_>, which: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: PauseRequest = read_json(call, body).await?;
    let channel = channel(&*call.http.core.store, which).await?;
    let pause = request.pause(call.http.core.clock.now());
    set_pause(call, &channel, Some(&pause)).await?;
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "id": channel.agent, "paused": true }),
    )?)
}
