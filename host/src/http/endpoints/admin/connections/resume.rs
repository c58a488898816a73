//! `POST /admin/v1/connections/{id or name}/resume`: its fetches go on, those
//! that waited first.

use hyper::StatusCode;
use serde_json::json;

use super::find;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::fleet;
use crate::store::Announcement;

pub async fn resume(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let store = &call.app.store;
    let connection = find(&**store, which).await?;
    store.pause_connection(&connection.id, None).await?;
    fleet::tell(call.app, Announcement::Connections).await;
    call.app.pipeline.wake();
    reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": false }),
    )
}
