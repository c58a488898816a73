//! `POST /admin/v1/connections/{id or name}/pause`: stops its fetches. What
//! comes in is still accepted, and waits.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::find;
use crate::domain::connection::Pause;
use crate::http::body::Unread;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::fleet;
use crate::store::Announcement;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default = "by_an_operator")]
    reason: String,
}

fn by_an_operator() -> String {
    "by an operator".to_owned()
}

pub async fn pause(call: &Call<'_>, which: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: Request = read_json(call, body).await?;
    let store = &call.app.store;
    let connection = find(&**store, which).await?;
    let pause = Pause {
        since: call.app.clock.now(),
        reason: request.reason,
    };
    store.pause_connection(&connection.id, Some(&pause)).await?;
    fleet::tell(call.app, Announcement::Connections).await;
    reply::json(
        StatusCode::OK,
        &json!({ "id": connection.id, "paused": true }),
    )
}
