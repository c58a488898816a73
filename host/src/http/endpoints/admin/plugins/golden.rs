//! `GET /admin/v1/plugins/{name}/versions/{digest}/golden?case=`: the golden cases that a stored version
//! carries, or one of them with its content.

use hyper::StatusCode;
use leadhost_golden::Case;

use super::whole;
use crate::admin_api::plugin_calls::{CarriedCase, CarriedCases};
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::plugin;

/// Returns the golden cases.
///
/// # Errors
///
/// [`ApiError::BadRequest`] if the beginning of the digest is too short or matches several versions,
/// [`ApiError::NotFound`] if it matches none or there is no such case, and [`ApiError::Store`] if the
/// store fails.
pub async fn show(call: &Call<'_>, name: &str, digest: &str) -> Result<ApiResponse, ApiError> {
    let record = whole(call.http, name, digest).await?;
    let gone = || {
        ApiError::NotFound(format!(
            "There is no version {digest} of `{name}` any more; `leadhost plugin list` shows those that exist."
        ))
    };
    let wasm = call.http.core.store.plugin_wasm(&record.digest).await?;
    let cases = plugin::carried_cases(wasm.ok_or_else(gone)?).await;
    let cases = cases.map_err(ApiError::internal)?;
    let query = call.query();
    let wanted = query.filled(&["case"]);
    let cases: Vec<CarriedCase> = match wanted {
        None => cases.iter().map(|case| view(case, false)).collect(),
        Some(wanted) => {
            let found = cases.iter().find(|case| case.name == wanted);
            let found = found.ok_or_else(|| {
                ApiError::NotFound(format!(
                    "{} of `{name}` has no golden case `{wanted}`.",
                    record.description.version
                ))
            })?;
            vec![view(found, true)]
        }
    };
    let answer = CarriedCases {
        version: record.description.version,
        digest: record.digest,
        cases,
    };
    reply::json(StatusCode::OK, &answer)
}

fn view(case: &Case, with_content: bool) -> CarriedCase {
    CarriedCase {
        name: case.name.clone(),
        about: case.about.clone(),
        call: case.call.name().to_owned(),
        body_bytes: case.body.len() as u64,
        body: case.body_text().filter(|_| with_content).map(str::to_owned),
        expect: case.expect.clone().filter(|_| with_content),
    }
}
