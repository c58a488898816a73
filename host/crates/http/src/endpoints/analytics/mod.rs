//! `GET /v1/analytics/{set}/{granularity}`: counts by the local days, weeks or months of a time
//! zone, and by who handled them. `GET /v1/analytics/freshness`: up to when everything is
//! counted.
//!
//! An answer is as of one moment: its body, `X-Data-As-Of` and freshness take it from one
//! value. Its tag stands for the question, with its range in whole quarters of an hour, and for
//! the state of the counts. A client that names the tag in `If-None-Match` is answered without
//! reading the counts.

mod answer;
pub mod fresh;
pub mod freshness;
pub mod query;
pub mod range;
pub mod table;

use hyper::header::{CACHE_CONTROL, ETAG, VARY};

use self::fresh::Fresh;
use self::query::AnalyticsQuery;
use self::table::AnalyticsTable;
use crate::conditional;
use crate::endpoints::prelude::*;
use crate::lines::{self, NDJSON};
use crate::terms::one_of;
use leadhost_domain::analytics::{Granularity, MetricSet};
use leadhost_domain::zone;
use leadhost_store::{RollupCells, RollupState};

/// Increased when the same counts are answered in another shape.
const SHAPE: u32 = 1;

const AS_OF: HeaderName = HeaderName::from_static("x-data-as-of");

describe!(conversations, |operation| describe_counts(
    operation.id("countConversations"),
    MetricSet::Conversations,
    "ConversationCounts",
    "ConversationAnalytics"
));
pub async fn conversations(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    granularity: &str,
) -> ApiResult {
    counts(call, caller, MetricSet::Conversations, granularity).await
}

describe!(tickets, |operation| describe_counts(
    operation.id("countTickets"),
    MetricSet::Tickets,
    "TicketCounts",
    "TicketAnalytics"
));
pub async fn tickets(call: &Call<'_>, caller: &WorkspaceCaller, granularity: &str) -> ApiResult {
    counts(call, caller, MetricSet::Tickets, granularity).await
}

/// Describes the counts of a metric set. `names` are the schemas' names: of a row and of the answer.
fn describe_counts<'s>(
    mut operation: Operation<'s>,
    set: MetricSet,
    row_name: &str,
    answer_name: &str,
) -> Operation<'s> {
    let row = operation.written(row_name, row(set));
    let answer = operation.written(answer_name, described_answer(&row));
    let begin = "A row counts conversations or tickets that began in its period, regardless of later changes, so no other measure \
         exceeds the first. A period is named by its first local day. Periods and combinations without counts are left \
         out. The workspace's own (internal) agents are left out unless `agent_type` or `agent_id` is given. Lists are \
         separated by commas. Send the `ETag` of the last answer as `If-None-Match`: while nothing has changed, the \
         answer is 304.";
    let mut example = json!({"period": "2026-03-02", "agent_type": "ai", "source": "landing-page"});
    for (measure, count) in set.measures().iter().zip([42, 31, 11, 6, 4]) {
        example[*measure] = json!(count);
    }
    let operation = query::described(operation)
        .summary(&format!("Counts {} by day, week or month", set.as_str()))
        .describe(format!("{begin} At most {} rows.", limits::ANALYTICS_ROWS));
    answered(
        operation,
        &answer,
        "The rows, with the parameters that were applied.",
    )
    .shows(
        "one",
        "A week with conversations",
        json!({
            "granularity": "week",
            "tz": "Europe/Lisbon",
            "from": "2026-03-01T00:00:00.000000Z",
            "to": "2026-03-31T12:30:00.000000Z",
            "as_of": "2026-03-31T12:15:30.250000Z",
            "stale": false,
            "group_by": ["agent_type", "source"],
            "data": [example],
            "count": 1,
        }),
    )
    .answers_unchanged()
    .header(200, "X-Data-As-Of", "DataAsOf")
    .header(304, "X-Data-As-Of", "DataAsOf")
    .refuses(&[400, 404])
}

fn answered<'s>(operation: Operation<'s>, schema: &Value, description: &str) -> Operation<'s> {
    operation.answers_lines(200, description, schema)
}

/// Returns the schema of a row, built from the set's own measures.
pub fn row(set: MetricSet) -> Value {
    let asked = "Present if `group_by` names it. Null if there is none.";
    let mut properties = Map::new();
    properties.insert(
        "period".to_owned(),
        json!({
            "type": "string",
            "format": "date",
            "description": "The first local day of the period.",
        }),
    );
    for (name, kind) in [
        ("agent_type", "string"),
        ("agent_id", "integer"),
        ("source", "string"),
    ] {
        let dimension = json!({"type": [kind, "null"], "description": asked});
        properties.insert(name.to_owned(), dimension);
    }
    for measure in set.measures() {
        let count = json!({"type": "integer", "minimum": 0});
        properties.insert((*measure).to_owned(), count);
    }
    let mut required = vec!["period"];
    required.extend(set.measures());
    json!({"type": "object", "required": required, "properties": properties})
}

fn described_answer(row: &Value) -> Value {
    let moment = |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    json!({
        "type": "object",
        "required": ["granularity", "tz", "from", "to", "as_of", "stale", "group_by", "data", "count"],
        "properties": {
            "granularity": one_of(&Granularity::ALL.map(Granularity::as_str), ""),
            "tz": {"type": "string", "description": "The time zone of the request."},
            "from": moment("The effective lower bound, inclusive, at a whole quarter of an hour."),
            "to": moment("The effective upper bound, exclusive."),
            "as_of": {
                "type": ["string", "null"],
                "format": "date-time",
                "description": "Everything before this time is counted. Null if nothing was counted.",
            },
            "stale": {"type": "boolean", "description": "True if `as_of` is more than twelve hours ago, or unknown."},
            "group_by": {"type": "array", "items": one_of(&query::Dimension::ALL.map(query::Dimension::as_str), "")},
            "data": {"type": "array", "items": row},
            "count": {"type": "integer", "minimum": 0, "description": "Rows in `data`."},
        },
    })
}

async fn counts(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    set: MetricSet,
    granularity: &str,
) -> ApiResult {
    let granularity = self::granularity(granularity)?;
    let now = call.http.core.clock.now();
    let question = AnalyticsQuery::read(&call.query(), set, granularity, now)?;
    // Even if the answer is 304: the zone is in use.
    let used = &call.http.pipeline.rollup;
    used.used(caller.scope().workspace(), question.zone.name(), now);
    let store = &call.http.core.store;
    let state = store.rollup_state(caller.scope(), set).await?;
    let tag = tag(call, caller, &question, &state, now);
    if conditional::is_known(&call.head.headers, &tag) {
        let reply = reply::empty(StatusCode::NOT_MODIFIED);
        return Ok(marked(reply, tag, Fresh::from_state(&state, now).as_of));
    }
    let cells = match range::pieces(&question, now) {
        Some(pieces) => {
            let query = pieces.query(&question);
            store.rollup_cells(caller.scope(), &query).await?
        }
        None => RollupCells {
            state,
            ..RollupCells::default()
        },
    };
    // The counts may have continued since: everything is answered for the state they have now.
    let fresh = Fresh::from_state(&cells.state, now);
    let tag = self::tag(call, caller, &question, &cells.state, now);
    let in_lines = lines::are_wanted(&call.head.headers);
    let body = combined(cells, move |cells| {
        let table = added_up(&question, cells)?;
        Ok(answer::write(&question, &table, fresh, in_lines))
    });
    let body = body.await?;
    let content_type = if in_lines { NDJSON } else { reply::JSON };
    let reply = reply::bytes_of(StatusCode::OK, content_type, body);
    Ok(marked(reply, tag, fresh.as_of))
}

pub fn granularity(text: &str) -> ApiResult<Granularity> {
    Granularity::from_text(text).ok_or_else(|| {
        let known = Granularity::ALL.map(Granularity::as_str).join(", ");
        ApiError::NotFound(format!("There is no such granularity; use one of {known}."))
    })
}

/// Makes an answer of counts: many of them on a thread of their own.
pub async fn combined<T: Send + 'static>(
    cells: RollupCells,
    combine: impl FnOnce(RollupCells) -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    if cells.cells.len() > limits::ANALYTICS_INLINE_CELLS {
        tokio::task::spawn_blocking(move || combine(cells))
            .await
            .map_err(ApiError::internal)?
    } else {
        combine(cells)
    }
}

pub fn added_up(question: &AnalyticsQuery, cells: RollupCells) -> ApiResult<AnalyticsTable> {
    if cells.too_many {
        return Err(ApiError::parameter(
            "The range has too many sources: ask for a shorter range.",
        ));
    }
    table::rows(question, cells, limits::ANALYTICS_ROWS).map_err(|table::TooMany| too_many_rows())
}

pub fn too_many_rows() -> ApiError {
    ApiError::parameter(format!(
        "The answer has more than {} rows: ask for a shorter range, longer periods, fewer dimensions, or some \
         agents or sources only.",
        limits::ANALYTICS_ROWS
    ))
}

fn tag(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    question: &AnalyticsQuery,
    state: &RollupState,
    now: Micros,
) -> HeaderValue {
    // After a restore, a version may have other counts.
    let whose = (call.http.core.store.id(), caller.scope().workspace());
    let stale = Fresh::from_state(state, now).stale;
    let counts = (state.version, &state.internal, stale);
    let text = serde_json::to_vec(&(SHAPE, whose, zone::tzdata(), question.words(), counts));
    conditional::tag(&text.expect("texts and numbers are JSON"))
}

fn marked(mut reply: ApiResponse, tag: HeaderValue, as_of: Option<Micros>) -> ApiResponse {
    let headers = reply.headers_mut();
    headers.insert(ETAG, tag);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    if let Some(as_of) = as_of {
        let text = HeaderValue::from_str(&as_of.text()).expect("digits and plain signs");
        headers.insert(AS_OF, text);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600 * 1_000_000;

    #[test]
    fn counts_are_stale_past_twelve_hours_or_when_nothing_is_known() {
        let check = |as_of: Option<i64>, now: i64, expect: bool| {
            let state = RollupState {
                as_of: as_of.map(Micros),
                ..RollupState::default()
            };
            assert_eq!(Fresh::from_state(&state, Micros(now)).stale, expect);
        };
        check(None, 0, true);
        check(Some(0), 0, false);
        check(Some(0), 12 * HOUR, false);
        check(Some(0), 12 * HOUR + 1, true);
        check(Some(HOUR), 0, false);
    }
}
