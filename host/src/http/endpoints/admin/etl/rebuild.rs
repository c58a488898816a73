//! `POST /admin/v1/etl/rebuilds {workspace, metricSet}`: begins a new build beside the one that
//! serves. A name that is left out stands for all.

use std::collections::BTreeMap;

use hyper::StatusCode;

use crate::admin_api::etl::{RebuildRequest, Rebuilds};
use crate::domain::analytics::MetricSet;
use crate::http::body::UnreadBody;
use crate::http::call::Call;
use crate::http::endpoints::admin::{read_json, workspaces};
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};
use crate::pipeline::fleet;
use crate::store::Announcement;

/// Begins new builds.
///
/// # Errors
///
/// The body is invalid, the metric set or the workspace is unknown, or the store fails.
pub async fn rebuild(call: &Call<'_>, body: UnreadBody) -> Result<ApiResponse, ApiError> {
    let request: RebuildRequest = read_json(call, body).await?;
    let store = &*call.http.core.store;
    let sets = match &request.metric_set {
        None => MetricSet::ALL.to_vec(),
        Some(text) => vec![MetricSet::from_text(text).ok_or_else(|| unknown(text))?],
    };
    let workspace = match &request.workspace {
        None => None,
        Some(text) => Some(workspaces::find(store, text).await?),
    };
    let mut begun = BTreeMap::new();
    for set in sets {
        let id = workspace.as_ref().map(|workspace| workspace.id);
        let count = store.rollup_rebuild(set, id).await?;
        begun.insert(set, count);
    }
    fleet::announce(&call.http.pipeline, Announcement::Analytics).await;
    let answer = Rebuilds {
        workspace: workspace.map(|workspace| workspace.slug),
        begun,
    };
    reply::json(StatusCode::ACCEPTED, &answer)
}

fn unknown(text: &str) -> ApiError {
    let known = MetricSet::ALL.map(MetricSet::as_str).join(" and ");
    ApiError::BadRequest(format!(
        "There is no metric set `{text}`: there are {known}."
    ))
}
