//! `POST /admin/v1/instances/{number or name}/sync-templates`: asks its provider
//! for the templates now.

use std::sync::Arc;

use hyper::StatusCode;

use super::{channel, summary};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::templates;

pub async fn sync(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let channel = channel(&*call.http.core.store, which).await?;
    let live = call.http.pipeline.connections.get(&channel.id).await;
    let live = live
        .map_err(ApiError::internal)?
        .ok_or_else(|| ApiError::NotFound(format!("Instance `{}` is gone.", channel.name)))?;
    let http = Arc::clone(call.http);
    let asked = call
        .http
        .core
        .spawn(async move { templates::sync(&http.pipeline, &live).await });
    let list = asked.await.map_err(ApiError::internal)??;
    if let Some(error) = &list.error {
        return Err(ApiError::unprocessable(format!(
            "The templates of `{}` cannot be listed: {error}",
            channel.name
        )));
    }
    Ok(reply::json(StatusCode::OK, &summary(&list))?)
}
