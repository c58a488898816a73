//! `POST /admin/v1/instances/{number or name}/resume`: its messages go out
//! again, those that waited first.

use hyper::StatusCode;
use serde_json::json;

use super::channel;
use crate::http::call::Call;
use crate::http::endpoints::admin::connections::set_pause;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn resume(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let channel = channel(&*call.http.core.store, which).await?;
    set_pause(call, &channel, None).await?;
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "id": channel.agent, "paused": false }),
    )?)
}
