//! `POST /admin/v1/plugins/check`: the body is a component. It is compiled,
//! tried and compared with what serves, and nothing is kept.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{component, refusal};
use crate::http::body::Unread;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::{self, deploy};

pub async fn check(call: &Call<'_>, body: Unread) -> Result<Reply, ApiError> {
    let wasm = component(call, body).await?;
    let app = Arc::clone(call.app);
    let checked = pipeline::spawn(call.app, async move { deploy::check(&app, wasm).await });
    let report = checked
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    reply::json(
        StatusCode::OK,
        &json!({
            "name": report.description.name,
            "version": report.description.version,
            "digest": report.digest,
            "kind": report.kind,
            "contract": report.contract,
            "golden": report.golden,
            "concerns": report.concerns,
        }),
    )
}
