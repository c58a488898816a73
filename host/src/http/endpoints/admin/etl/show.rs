//! `GET /admin/v1/etl`: how far each metric set is counted, what lags behind, and which builds
//! are in progress.

use hyper::StatusCode;

use super::{WorkspaceNames, freshness};
use crate::admin_api::etl::{BuildView, EtlStatus, MetricSetView, WorkspaceBehind};
use crate::domain::zone;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::reply::{self, ApiResponse};

/// Returns the state of the analytics.
///
/// # Errors
///
/// [`ApiError::Store`] if the store cannot be read.
pub async fn show(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let http = call.http;
    let names = WorkspaceNames::load(&*http.core.store).await?;
    let mut metric_sets = Vec::new();
    for status in http.core.store.rollup_status().await? {
        let freshness = freshness(http, &status);
        let behind = status.behind.into_iter();
        let making = status.making.into_iter();
        metric_sets.push(MetricSetView {
            freshness,
            job: status.set.job().to_owned(),
            ended_at: status.finished_at,
            changes: status.changes,
            behind: behind
                .map(|(id, as_of)| WorkspaceBehind {
                    workspace: names.name(id),
                    as_of,
                })
                .collect(),
            making: making
                .map(|(build, read_to)| BuildView {
                    workspace: names.name(build.workspace),
                    build: build.number,
                    read_to: (read_to.0 > 0).then_some(read_to),
                })
                .collect(),
            cubes: status.cubes,
            cubes_making: status.cubes_making,
        });
    }
    let answer = EtlStatus {
        tzdata: zone::tzdata().to_owned(),
        refresh_seconds: http.core.config.analytics.refresh_seconds,
        metric_sets,
    };
    reply::json(StatusCode::OK, &answer)
}
