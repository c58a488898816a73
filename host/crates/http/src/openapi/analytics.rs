//! `/v1/analytics`: counts of a workspace's conversations and tickets, and how fresh they are.

use serde_json::{Map, Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::analytics::freshness::Freshness;
use crate::error::Family;
use crate::lines::NDJSON;
use crate::route::Access;
use crate::terms::{one_of, pattern, time, word};
use leadhost_domain::analytics::{Granularity, MetricSet};
use leadhost_domain::limits;
use leadhost_domain::workspace::AgentKind;
use leadhost_domain::zone;

/// Returns the operations of `/v1/analytics`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let counts = MetricSet::ALL.map(|set| counts(schemas, set));
    counts.into_iter().chain([freshness(schemas)]).collect()
}

/// Returns the document's names for a metric set: path, operation id, summary, row schema,
/// answer schema.
fn names(set: MetricSet) -> [&'static str; 5] {
    match set {
        MetricSet::Conversations => [
            "/v1/analytics/conversations/{granularity}",
            "countConversations",
            "Counts conversations by day, week or month",
            "ConversationCounts",
            "ConversationAnalytics",
        ],
        MetricSet::Tickets => [
            "/v1/analytics/tickets/{granularity}",
            "countTickets",
            "Counts tickets by day, week or month",
            "TicketCounts",
            "TicketAnalytics",
        ],
    }
}

fn counts(schemas: &mut Schemas, set: MetricSet) -> Operation {
    let [path, id, summary, row_name, answer_name] = names(set);
    let row = schemas.written(row_name, row(set));
    let answer = schemas.written(answer_name, answer(&row));
    let begin = "A row counts conversations or tickets that began in its period, regardless of later changes, so no other measure \
         exceeds the first. A period is named by its first local day. Periods and combinations without counts are left \
         out. The workspace's own (internal) agents are left out unless `agent_type` or `agent_id` is given. Lists are \
         separated by commas. Send the `ETag` of the last answer as `If-None-Match`: while nothing has changed, the \
         answer is 304.";
    let operation = operation(path)
        .named(id, "data", summary)
        .describe(&format!("{begin} At most {} rows.", limits::ANALYTICS_ROWS));
    let operation = with_question(operation);
    let example = json!({"one": {"summary": "A week with conversations", "value": example(set)}});
    answered(
        operation,
        &answer,
        &example,
        "The rows, with the parameters that were applied.",
    )
    .header(200, "X-Data-As-Of", "DataAsOf")
    .header(304, "X-Data-As-Of", "DataAsOf")
    .refuses(&[400, 404])
}

/// Adds the parameters of a question.
pub fn with_question(operation: Operation) -> Operation {
    let granularities = Granularity::ALL.map(Granularity::as_str);
    operation
        .parameter(Parameter::path(
            "granularity",
            one_of(&granularities, ""),
            "The length of a period. Weeks begin on Monday.",
        ))
        .parameter(
            Parameter::query(
                "from",
                time(""),
                "The lower bound, inclusive: a local day of `tz`, or a time with its offset, rounded down to a quarter \
                 of an hour. Default: the local day 30 days ago. Not before 1980.",
            )
            .example("2026-03-01"),
        )
        .parameter(
            Parameter::query(
                "to",
                time(""),
                "The upper bound, exclusive, rounded up to a quarter of an hour. Default: now.",
            )
            .example("2031-03-31T12:15:30Z"),
        )
        .parameter(
            Parameter::query(
                "tz",
                word(),
                &format!(
                    "The time zone of the days, by its IANA name. Default: {}.",
                    zone::DEFAULT
                ),
            )
            .example("Europe/Lisbon"),
        )
        .parameter(
            Parameter::query(
                "group_by",
                listed("(agent_type|agent_id|source)"),
                "The dimensions to group by, besides the period. Each becomes a member of the rows.",
            )
            .example("agent_type,source"),
        )
        .parameter(Parameter::query(
            "agent_type",
            listed(&format!("({})", AgentKind::ALL.map(AgentKind::as_str).join("|"))),
            "Only agents of these types, including internal ones. `agent_types` is an alias.",
        ))
        .parameter(Parameter::query(
            "agent_id",
            listed("[+-]?[0-9]{1,18}"),
            "Only these agents, including internal ones. `agent_ids` is an alias.",
        ))
        .parameter(Parameter::query(
            "source",
            pattern(&sources(), ""),
            "Only these sources. `sources` is an alias.",
        ))
}

fn freshness(schemas: &mut Schemas) -> Operation {
    let answer = schemas.answer::<Freshness>();
    let rows = MetricSet::ALL.map(|set| {
        json!({
            "metricset": set.as_str(),
            "etl_job": set.job(),
            "as_of": "2026-03-02T12:15:30.250000Z",
            "stale": false,
        })
    });
    let example = json!({"data": rows, "count": rows.len()});
    let examples = json!({"fresh": {"summary": "Fresh counts", "value": example}});
    let operation = operation("/v1/analytics/freshness")
        .named("freshness", "data", "Shows how fresh the counts are")
        .describe(
            "Everything before `as_of` is in the counts. Counts are stale if `as_of` is more than twelve hours ago or \
             unknown. If it is unknown, it is null.",
        );
    answered(operation, &answer, &examples, "Each metric set.")
}

/// Describes the answer in both formats, and the 304 for a client whose copy is current.
fn answered(
    operation: Operation,
    schema: &Value,
    examples: &Value,
    description: &str,
) -> Operation {
    let description = format!(
        "{description} With `{NDJSON}` in `Accept`: one row per line, then a line with the other members."
    );
    let content = json!({"application/json": {"schema": schema, "examples": examples}});
    operation
        .answers_content(200, &description, content)
        .header(200, "ETag", "ETag")
        .answers_nothing(304, "The copy that `If-None-Match` names is current.")
        .header(304, "ETag", "ETag")
}

fn operation(path: &'static str) -> Operation {
    Operation::new("get", path, Family::Data, Access::WorkspaceKey)
}

/// Returns the schema of a comma-separated list whose members match the expression.
fn listed(member: &str) -> Value {
    pattern(&format!("^ *{member} *(, *{member} *)*$"), "")
}

/// Returns the pattern of a comma-separated list whose members are not blank.
fn sources() -> String {
    let visible =
        r"[^,\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    let member = format!("[^,]*{visible}[^,]*");
    format!("^{member}(,{member})*$")
}

/// Returns the schema of a row, built from the set's own measures.
pub fn row(set: MetricSet) -> Value {
    let period = json!({
        "type": "string",
        "format": "date",
        "description": "The first local day of the period.",
    });
    let asked = "Present if `group_by` names it. Null if there is none.";
    let mut properties = Map::new();
    properties.insert("period".to_owned(), period);
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

fn answer(row: &Value) -> Value {
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
            "group_by": {"type": "array", "items": {"type": "string"}},
            "data": {"type": "array", "items": row},
            "count": {"type": "integer", "minimum": 0, "description": "Rows in `data`."},
        },
    })
}

fn example(set: MetricSet) -> Value {
    let mut row = json!({"period": "2026-03-02", "agent_type": "ai", "source": "landing-page"});
    for (measure, count) in set.measures().iter().zip([42, 31, 11, 6, 4]) {
        row[*measure] = json!(count);
    }
    json!({
        "granularity": "week",
        "tz": "Europe/Lisbon",
        "from": "2026-03-01T00:00:00.000000Z",
        "to": "2026-03-31T12:30:00.000000Z",
        "as_of": "2026-03-31T12:15:30.250000Z",
        "stale": false,
        "group_by": ["agent_type", "source"],
        "data": [row],
        "count": 1,
    })
}
