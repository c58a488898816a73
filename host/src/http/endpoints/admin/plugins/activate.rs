//! `POST /admin/v1/plugins/{name}/activate {digest, accept}`: activates a stored version. The
//! digest may be shortened as long as it names one version.

use std::sync::Arc;

use hyper::StatusCode;

use super::{accepted, activated, refusal};
use crate::admin_api::plugins::ActivateRequest;
use crate::domain::plugin::Digest;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::read_json;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::http::state::Http;
use crate::pipeline::deploy;

/// The least number of characters of a digest. Two versions may well share fewer.
const DIGEST_CHARACTERS: usize = 8;

/// # Errors
///
/// The body is invalid, the digest matches no stored version or several, the activation is
/// refused, or the store fails.
pub async fn activate(call: &Call<'_>, name: &str, body: Unread) -> Result<Reply, ApiError> {
    let request: ActivateRequest = read_json(call, body).await?;
    let accept = accepted(request.accept.iter().map(String::as_str))?;
    let digest = whole(call.http, name, &request.digest).await?;
    let (http, name) = (Arc::clone(call.http), name.to_owned());
    let swapped = call
        .http
        .core
        .spawn(async move { deploy::activate(&http.pipeline, &name, &digest, &accept).await });
    let swapped = swapped
        .await
        .map_err(ApiError::internal)?
        .map_err(refusal)?;
    reply::json(StatusCode::OK, &activated(call.http, swapped).await?)
}

/// Returns the one stored digest of this plugin with this beginning.
///
/// # Errors
///
/// The beginning is too short, or matches no version or several, or the store fails.
pub async fn whole(http: &Http, name: &str, start: &str) -> Result<Digest, ApiError> {
    if start.len() < DIGEST_CHARACTERS {
        return Err(ApiError::BadRequest(format!(
            "`{start}` is too short for a digest: at least {DIGEST_CHARACTERS} characters."
        )));
    }
    let start = start.to_ascii_lowercase();
    let mut found: Vec<Digest> = http
        .core
        .store
        .plugins()
        .await?
        .into_iter()
        .filter(|record| record.description.name == name && record.digest.0.starts_with(&start))
        .map(|record| record.digest)
        .collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(ApiError::NotFound(format!(
            "There is no version {start} of `{name}`; `leadhost plugin list` shows those that exist."
        ))),
        _ => Err(ApiError::BadRequest(format!(
            "Several versions of `{name}` begin with {start}: give more of the digest."
        ))),
    }
}
