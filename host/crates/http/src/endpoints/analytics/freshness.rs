//! `GET /v1/analytics/freshness`: up to when each metric set is counted. It is cheap to read
//! before a pull of counts.

use super::{answered, fresh::Fresh, marked};
use crate::conditional;
use crate::endpoints::prelude::*;
use crate::lines::{self, NDJSON};
use leadhost_domain::analytics::MetricSet;

#[derive(Serialize, ToSchema)]
pub struct Freshness {
    data: Vec<FreshnessRow>,
    #[schema(minimum = 0)]
    count: usize,
}

/// The freshness of a metric set's counts.
#[derive(Serialize, ToSchema)]
pub struct FreshnessRow {
    metricset: &'static str,
    /// The job that counts it.
    etl_job: &'static str,
    /// Everything before this time is counted. Null if nothing was counted.
    as_of: Option<Micros>,
    /// True if `as_of` is more than twelve hours ago, or unknown.
    stale: bool,
}

describe!(show, |mut operation| {
    let schema = operation.schema::<Freshness>();
    let operation = operation
        .id("freshness")
        .summary("Shows how fresh the counts are")
        .describe(
            "Everything before `as_of` is in the counts. Counts are stale if `as_of` is more than twelve hours ago or \
             unknown. If it is unknown, it is null.",
        );
    answered(operation, &schema, "Each metric set.").answers_unchanged()
});
pub async fn show(call: &Call<'_>, caller: &WorkspaceCaller) -> ApiResult {
    let now = call.http.core.clock.now();
    let mut data = Vec::new();
    for set in MetricSet::ALL {
        let state = call
            .http
            .core
            .store
            .rollup_state(caller.scope(), set)
            .await?;
        let Fresh { as_of, stale } = Fresh::from_state(&state, now);
        data.push(FreshnessRow {
            metricset: set.as_str(),
            etl_job: set.job(),
            as_of,
            stale,
        });
    }
    let answer = Freshness {
        count: data.len(),
        data,
    };
    let whole = serde_json::to_vec(&answer).map_err(ApiError::internal)?;
    let tag = conditional::tag(&whole);
    let request = &call.head.headers;
    let reply = if conditional::is_known(request, &tag) {
        reply::empty(StatusCode::NOT_MODIFIED)
    } else if lines::are_wanted(request) {
        reply::bytes_of(StatusCode::OK, NDJSON, in_lines(&answer)?)
    } else {
        reply::bytes_of(StatusCode::OK, reply::JSON, whole)
    };
    // The sets may differ in age, which the rows show.
    Ok(marked(reply, tag, None))
}

fn in_lines(answer: &Freshness) -> ApiResult<Vec<u8>> {
    let mut body = Vec::new();
    for row in &answer.data {
        serde_json::to_writer(&mut body, row).map_err(ApiError::internal)?;
        body.push(b'\n');
    }
    body.extend_from_slice(format!("{{\"count\":{}}}\n", answer.count).as_bytes());
    Ok(body)
}
