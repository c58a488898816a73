//! `POST /admin/v1/plugins?activate=true&accept=..`: the body is a component. It is stored, and
//! activated if the request asks for it and nothing speaks against it.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::json;

use super::{accepted, component, refusal, shown, while_wanted};
use crate::admin_api::plugins::DeployedPlugin;
use crate::http::auth::AdminCaller;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::flag;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::deploy;
use crate::pipeline::deploy::Origin;

/// # Errors
///
/// A parameter is invalid, the body cannot be read, the component or its activation is refused,
/// the client leaves, or the store fails.
pub async fn upload(
    call: &Call<'_>,
    caller: &AdminCaller,
    body: Unread,
) -> Result<Reply, ApiError> {
    let activate = flag(call, "activate")?;
    let query = call.query();
    let accept = accepted(caller, query.all("accept"))?;
    let wasm = component(call, body).await?;
    let http = Arc::clone(call.http);
    let origin = Origin::upload(caller.key());
    let tried = deploy::try_out(&http.pipeline, wasm.clone(), activate);
    let tried = while_wanted(call, tried).await?;
    let candidate = tried.version();
    call.audit(json!({
        "plugin": candidate.description.name,
        "version": candidate.description.version,
        "digest": candidate.digest,
        "accept": query.all("accept").collect::<Vec<_>>(),
    }));
    let deployed = call
        .http
        .core
        .spawn(async move { deploy::admit(&http.pipeline, tried, wasm, origin, &accept).await });
    let deployed = deployed
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    let record = deployed.record;
    let activation = deployed.activation.as_ref();
    call.audit(json!({
        "activated": activation.is_some(),
        "previous": activation.map(|one| &one.activation.previous),
    }));
    let answer = match deployed.activation {
        Some(activated) => shown(activated, Some(record)),
        None => DeployedPlugin {
            name: record.description.name,
            version: Some(record.description.version),
            digest: record.digest,
            previous: None,
            generation: None,
            activated_at: None,
            golden: Some(record.golden),
            active: false,
            behind: None,
            verification: None,
        },
    };
    reply::json(StatusCode::CREATED, &answer)
}
