//! `POST /admin/v1/etl/rebuilds {workspace, metricSet}`: begins a new build beside the one that
//! serves. A name that is left out stands for all.

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Map, json};

use crate::domain::analytics::MetricSet;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::admin::{read_json, workspaces};
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};
use crate::pipeline::fleet;
use crate::store::Announcement;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Request {
    workspace: Option<String>,
    metric_set: Option<String>,
}

/// # Errors
///
/// The body is invalid, the metric set or the workspace is unknown, or the store fails.
pub async fn rebuild(call: &Call<'_>, body: Unread) -> Result<Reply, ApiError> {
    let request: Request = read_json(call, body).await?;
    let store = &*call.http.core.store;
    let sets = match &request.metric_set {
        None => MetricSet::ALL.to_vec(),
        Some(text) => vec![MetricSet::from_text(text).ok_or_else(|| unknown(text))?],
    };
    let workspace = match &request.workspace {
        None => None,
        Some(text) => Some(workspaces::find(store, text).await?),
    };
    let mut begun = Map::new();
    for set in sets {
        let id = workspace.as_ref().map(|workspace| workspace.id);
        let count = store.rollup_rebuild(set, id).await?;
        begun.insert(set.as_str().to_owned(), json!(count));
    }
    fleet::tell(&call.http.pipeline, Announcement::Analytics).await;
    reply::json(
        StatusCode::ACCEPTED,
        &json!({
            "workspace": workspace.map(|workspace| workspace.slug),
            "begun": begun,
        }),
    )
}

fn unknown(text: &str) -> ApiError {
    let known = MetricSet::ALL.map(MetricSet::as_str).join(" and ");
    ApiError::BadRequest(format!(
        "There is no metric set `{text}`: there are {known}."
    ))
}
