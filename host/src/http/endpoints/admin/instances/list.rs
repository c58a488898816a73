//! `GET /admin/v1/instances`.

use hyper::StatusCode;
use serde_json::json;

use super::{all, shown};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let store = &*call.http.core.store;
    let mut instances = Vec::new();
    for instance in all(store).await? {
        let templates = instance.templates(store).await?;
        instances.push(shown(&instance, templates.as_ref()));
    }
    Ok(reply::json(
        StatusCode::OK,
        &json!({ "instances": instances }),
    )?)
}
