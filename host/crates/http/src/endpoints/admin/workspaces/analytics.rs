use crate::endpoints::admin::prelude::*;
use crate::endpoints::analytics::query::{AnalyticsQuery, Dimension};
use crate::endpoints::analytics::range::{self, SplitRange};
use crate::endpoints::analytics::table::{AnalyticsTable, DimensionValue};
use crate::endpoints::analytics::{self, fresh::Fresh};
use leadhost_admin_api::analytics::{AnalyticsSeries, WorkspaceAnalytics};
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::zone::Day;

describe!(counts, |operation| {
    analytics::query::described(operation)
        .summary("Counts conversations or tickets of a workspace by day, week or month")
        .describe(format!(
            "The question, its default values and its counts are the same as for the workspace's own data clients. A series has a count for \
             each period. At most {} periods of all series together.",
            limits::ANALYTICS_ROWS
        ))
        .answers::<WorkspaceAnalytics>(200, "The counts, with the parameters that were applied.")
        .refuses(&[400, 404])
});
pub async fn counts(call: &Call<'_>, workspace: &str, set: &str, granularity: &str) -> ApiResult {
    let store = &call.http.core.store;
    let workspace = super::find(store, workspace).await?;
    let set = MetricSet::from_text(set).ok_or_else(ApiError::no_metric_set)?;
    let granularity = analytics::granularity(granularity)?;
    let now = call.http.core.clock.now();
    let question = AnalyticsQuery::read(&call.query(), set, granularity, now)?;
    let used = &call.http.pipeline.rollup;
    used.used(workspace.id, question.zone.name(), now);
    let pieces = range::pieces(&question, now).unwrap_or_else(SplitRange::nothing);
    let query = pieces.query(&question);
    let cells = store.rollup_cells_of(workspace.id, &query).await?;
    let Fresh { as_of, stale } = Fresh::from_state(&cells.state, now);
    let group_by = question.group_by.iter();
    let mut answer = WorkspaceAnalytics {
        workspace: workspace.slug,
        metric_set: set,
        granularity,
        tz: question.zone.name().to_owned(),
        from: question.from.start(),
        to: question.to.start(),
        as_of,
        stale,
        group_by: group_by.map(|one| one.as_str().to_owned()).collect(),
        periods: Vec::new(),
        series: Vec::new(),
    };
    let periods = pieces.periods();
    let body = analytics::combined(cells, move |cells| {
        let table = analytics::added_up(&question, cells)?;
        answer.series = series(&question, &periods, &table)?;
        answer.periods = periods.iter().map(Day::to_string).collect();
        serde_json::to_vec(&answer).map_err(ApiError::internal)
    });
    Ok(reply::bytes_of(StatusCode::OK, reply::JSON, body.await?))
}

/// Turns rows into a series for each group, with a count for each period.
fn series(
    question: &AnalyticsQuery,
    periods: &[Day],
    table: &AnalyticsTable,
) -> ApiResult<Vec<AnalyticsSeries>> {
    // Periods without counts are in the answer too.
    if periods.len().saturating_mul(table.groups.len()) > limits::ANALYTICS_ROWS {
        return Err(analytics::too_many_rows());
    }
    let measures = question.set.measures();
    let empty = |group: &Vec<DimensionValue>| {
        let zeros = measures.iter();
        let mut series = AnalyticsSeries {
            agent_type: None,
            agent_id: None,
            source: None,
            counts: zeros
                .map(|name| ((*name).to_owned(), vec![0; periods.len()]))
                .collect(),
        };
        for (dimension, value) in question.group_by.iter().zip(group) {
            match (dimension, value) {
                (Dimension::AgentType, DimensionValue::Text(text)) => {
                    series.agent_type = Some(text.clone());
                }
                (Dimension::Source, DimensionValue::Text(text)) => {
                    series.source = Some(text.clone());
                }
                (Dimension::AgentId, DimensionValue::Agent(agent)) => {
                    series.agent_id = Some(agent.0);
                }
                _ => {}
            }
        }
        series
    };
    let mut all: Vec<AnalyticsSeries> = table.groups.iter().map(empty).collect();
    let mut is_counted = vec![false; all.len()];
    for row in &table.rows {
        let group = row.group as usize;
        let Ok(period) = periods.binary_search(&row.period) else {
            continue;
        };
        is_counted[group] = true;
        for (name, count) in measures.iter().zip(row.counts) {
            if let Some(counts) = all[group].counts.get_mut(*name) {
                counts[period] = count;
            }
        }
    }
    let mut is_counted = is_counted.into_iter();
    all.retain(|_| is_counted.next().unwrap_or_default());
    Ok(all)
}
