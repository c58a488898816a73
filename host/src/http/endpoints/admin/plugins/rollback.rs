//! `POST /admin/v1/plugins/{name}/rollback`: the version before serves again.

use std::sync::Arc;

use hyper::StatusCode;

use super::{activated, refusal};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::{self, deploy};

pub async fn roll_back(call: &Call<'_>, name: &str) -> Result<Reply, ApiError> {
    let (app, name) = (Arc::clone(call.app), name.to_owned());
    let swapped = pipeline::spawn(call.app, async move { deploy::rollback(&app, &name).await });
    let activation = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    reply::json(StatusCode::OK, &activated(call.app, &activation).await?)
}
