//! `GET /admin/v1/instances/{number or name}`: with its templates.

use hyper::StatusCode;
use serde_json::json;

use super::{find, shown};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

pub async fn show(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let store = &*call.http.core.store;
    let instance = find(store, which).await?;
    let templates = instance.templates(store).await?;
    let mut answer = shown(&instance, templates.as_ref());
    if let Some(list) = &templates {
        answer["templates"]["list"] = json!(list.templates);
    }
    Ok(reply::json(StatusCode::OK, &answer)?)
}
