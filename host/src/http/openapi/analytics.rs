//! `/v1/analytics`: what was counted of a workspace's conversations and tickets, and
//! until when.

use serde_json::{Map, Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::http::terms::{one_of, pattern, time, word};
use crate::domain::analytics::{Granularity, MetricSet};
use crate::domain::workspace::AgentKind;
use crate::domain::zone;
use crate::http::endpoints::analytics::freshness::Freshness;
use crate::http::error::Family;
use crate::http::lines::NDJSON;
use crate::http::route::Access;
use crate::limits;

pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let counts = MetricSet::ALL.map(|set| counts(schemas, set));
    counts.into_iter().chain([freshness(schemas)]).collect()
}

/// What a set is called here: path, operation, title, row, answer.
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
    let begin = "What a row counts began in its period, whatever came of it later: so no other measure is above the \
         first. A period is named by its first local day; periods and combinations without any are left out. Agents \
         that are the workspace's own are left out unless `agent_type` or `agent_id` is named. Lists are separated by \
         commas. Send the `ETag` of the last answer as `If-None-Match`: while nothing has changed it is answered 304.";
    let granularities = Granularity::ALL.map(Granularity::as_str);
    let operation = of(path)
        .named(id, "data", summary)
        .describe(&format!("{begin} At most {} rows.", limits::ANALYTICS_ROWS))
        .parameter(Parameter::path(
            "granularity",
            one_of(&granularities, ""),
            "How long a period is; weeks begin on Monday.",
        ))
        .parameter(
            Parameter::query(
                "from",
                time(""),
                "The lower bound, inclusive: a local day of `tz`, or a time with its offset, taken down to a quarter of \
                 an hour. Left out: the local day 30 days ago. Not before 1980.",
            )
            .example("2026-03-01"),
        )
        .parameter(
            Parameter::query(
                "to",
                time(""),
                "The upper bound, exclusive, taken up to a quarter of an hour. Left out: now.",
            )
            .example("2031-03-31T12:15:30Z"),
        )
        .parameter(
            Parameter::query(
                "tz",
                word(),
                &format!(
                    "The zone of the days, by its name in the IANA database. Left out: {}.",
                    zone::DEFAULT
                ),
            )
            .example("Europe/Lisbon"),
        )
        .parameter(
            Parameter::query(
                "group_by",
                listed("(agent_type|agent_id|source)"),
                "By what rows are told apart beside their period; each is a member of the rows.",
            )
            .example("agent_type,source"),
        )
        .parameter(Parameter::query(
            "agent_type",
            listed(&format!("({})", AgentKind::ALL.map(AgentKind::as_str).join("|"))),
            "Of agents of these types only, internal ones too. `agent_types` is the same.",
        ))
        .parameter(Parameter::query(
            "agent_id",
            listed("[+-]?[0-9]{1,18}"),
            "Of these agents only, internal ones too. `agent_ids` is the same.",
        ))
        .parameter(Parameter::query(
            "source",
            pattern(&sources(), ""),
            "From these sources only. `sources` is the same.",
        ));
    let example = json!({"one": {"summary": "A week with conversations", "value": example(set)}});
    answered(operation, &answer, &example, "Rows and what they are of.")
        .header(200, "X-Data-As-Of", "DataAsOf")
        .header(304, "X-Data-As-Of", "DataAsOf")
        .refuses(&[400, 404])
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
    let examples = json!({"fresh": {"summary": "Everything is counted", "value": example}});
    let operation = of("/v1/analytics/freshness")
        .named("freshness", "data", "Tells until when everything is counted")
        .describe(
            "Everything before `as_of` is in the counts. Counts are stale when that is twelve hours ago, or when \
             nothing is known: `as_of` is null then.",
        );
    answered(operation, &answer, &examples, "Each metric set.")
}

/// An answer in either form, or none for who has it.
fn answered(
    operation: Operation,
    schema: &Value,
    examples: &Value,
    description: &str,
) -> Operation {
    let description = format!(
        "{description} For whoever names `{NDJSON}` in `Accept`: a row a line, then a line with all the rest."
    );
    let content = json!({"application/json": {"schema": schema, "examples": examples}});
    operation
        .answers_content(200, &description, content)
        .header(200, "ETag", "ETag")
        .answers_nothing(304, "The copy that `If-None-Match` names is as good.")
        .header(304, "ETag", "ETag")
}

fn of(path: &'static str) -> Operation {
    Operation::new("get", path, Family::Data, Access::WorkspaceKey)
}

/// A list of members, each as the expression says.
fn listed(member: &str) -> Value {
    pattern(&format!("^ *{member} *(, *{member} *)*$"), "")
}

/// Members that are not blank.
fn sources() -> String {
    let visible =
        r"[^,\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    let member = format!("[^,]*{visible}[^,]*");
    format!("^{member}(,{member})*$")
}

/// A row, as it is written from the set's own measures.
pub fn row(set: MetricSet) -> Value {
    let period = json!({
        "type": "string",
        "format": "date",
        "description": "The first local day of the period.",
    });
    let asked = "There when `group_by` names it; null where there is none.";
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
            "tz": {"type": "string", "description": "As it was asked for."},
            "from": moment("The effective lower bound, inclusive: a whole quarter of an hour."),
            "to": moment("The effective upper bound, exclusive."),
            "as_of": {
                "type": ["string", "null"],
                "format": "date-time",
                "description": "Everything before is counted; null when nothing was.",
            },
            "stale": {"type": "boolean", "description": "Older than twelve hours, or unknown."},
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
