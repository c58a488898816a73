//! `GET /admin/v1/instances`.

use hyper::StatusCode;
use serde_json::json;

use super::{all, shown};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;

pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &*call.app.store;
    let mut instances = Vec::new();
    for instance in all(store).await? {
        let templates = instance.templates(store).await?;
        instances.push(shown(&instance, templates.as_ref()));
    }
    reply::json(StatusCode::OK, &json!({ "instances": instances }))
}
