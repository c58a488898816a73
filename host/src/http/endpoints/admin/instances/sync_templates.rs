//! `POST /admin/v1/instances/{number or name}/sync-templates`: asks its provider
//! for the templates now.

use std::sync::Arc;

use hyper::StatusCode;

use super::{channel, summary};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::router::Call;
use crate::pipeline::{self, templates};

pub async fn sync(call: &Call<'_>, which: &str) -> Result<Reply, ApiError> {
    let channel = channel(&*call.app.store, which).await?;
    let live = call.app.pipeline.connections.get(&channel.id).await;
    let live = live
        .map_err(ApiError::internal)?
        .ok_or_else(|| ApiError::NotFound(format!("Instance `{}` is gone.", channel.name)))?;
    let app = Arc::clone(call.app);
    let asked = pipeline::spawn(call.app, async move { templates::sync(&app, &live).await });
    let list = asked.await.map_err(ApiError::internal)??;
    if let Some(error) = &list.error {
        return Err(ApiError::unprocessable(format!(
            "The templates of `{}` cannot be listed: {error}",
            channel.name
        )));
    }
    reply::json(StatusCode::OK, &summary(&list))
}
