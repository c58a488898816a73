//! `GET /admin/v1/instances/{number or name}`: with its templates.

use hyper::StatusCode;
use serde_json::json;

use super::{find, shown};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;

pub async fn show(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let store = &*call.app.store;
    let instance = find(store, which).await?;
    let templates = instance.templates(store).await?;
    let mut answer = shown(&instance, templates.as_ref());
    if let Some(list) = &templates {
        answer["templates"]["list"] = json!(list.templates);
    }
    reply::json(StatusCode::OK, &answer)
}
