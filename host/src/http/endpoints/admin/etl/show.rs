//! `GET /admin/v1/etl`: how far each metric set is counted, what lags behind, and which builds
//! are in progress.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Names, freshness};
use crate::domain::zone;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, Reply};

/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn show(call: &Call<'_>) -> Result<Reply, ApiError> {
    let http = call.http;
    let names = Names::load(&*http.core.store).await?;
    let mut sets = Vec::new();
    for status in http.core.store.rollup_status().await? {
        let behind = status.behind.iter();
        let behind: Vec<Value> = behind
            .map(|(id, as_of)| json!({ "workspace": names.name(*id), "asOf": as_of }))
            .collect();
        let making = status.making.iter();
        let making: Vec<Value> = making
            .map(|(build, read_to)| {
                json!({
                    "workspace": names.name(build.workspace),
                    "build": build.number,
                    "readTo": (read_to.0 > 0).then_some(read_to),
                })
            })
            .collect();
        let mut set = freshness(http, &status);
        set["job"] = json!(status.set.job());
        set["endedAt"] = json!(status.finished_at);
        set["changes"] = json!(status.changes);
        set["behind"] = json!(behind);
        set["making"] = json!(making);
        set["cubes"] = json!(status.cubes);
        set["cubesMaking"] = json!(status.cubes_making);
        sets.push(set);
    }
    reply::json(
        StatusCode::OK,
        &json!({
            "tzdata": zone::tzdata(),
            "refreshSeconds": http.core.config.analytics.refresh_seconds,
            "metricSets": sets,
        }),
    )
}
