//! Writes an answer as JSON into one buffer. Rows are not built as values first, and members
//! that many rows share are serialised once.

use super::fresh::Fresh;
use super::query::{AnalyticsQuery, Dimension};
use super::table::{AnalyticsTable, DimensionValue};
use leadhost_domain::zone::Day;

pub fn write(
    question: &AnalyticsQuery,
    table: &AnalyticsTable,
    fresh: Fresh,
    in_lines: bool,
) -> Vec<u8> {
    let measures = question.set.measures();
    let groups: Vec<Vec<u8>> = table
        .groups
        .iter()
        .map(|group| members(&question.group_by, group))
        .collect();
    let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let names: usize = measures.iter().map(|name| name.len() + 8).sum();
    let mut body = Vec::with_capacity(table.rows.len() * (longest + names + 32) + 512);
    if !in_lines {
        body.push(b'{');
        head(&mut body, question, fresh);
        body.extend_from_slice(b",\"data\":[");
    }
    let mut period: (Option<Day>, String) = (None, String::new());
    for (place, row) in table.rows.iter().enumerate() {
        if place > 0 && !in_lines {
            body.push(b',');
        }
        if period.0 != Some(row.period) {
            period = (Some(row.period), row.period.to_string());
        }
        body.extend_from_slice(b"{\"period\":\"");
        body.extend_from_slice(period.1.as_bytes());
        body.push(b'"');
        body.extend_from_slice(&groups[row.group as usize]);
        for (name, count) in measures.iter().zip(row.counts) {
            body.extend_from_slice(b",\"");
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(b"\":");
            json(&mut body, &count);
        }
        body.push(b'}');
        if in_lines {
            body.push(b'\n');
        }
    }
    if in_lines {
        body.push(b'{');
        head(&mut body, question, fresh);
    } else {
        body.push(b']');
    }
    body.extend_from_slice(b",\"count\":");
    json(&mut body, &table.rows.len());
    body.push(b'}');
    if in_lines {
        body.push(b'\n');
    }
    body
}

fn head(body: &mut Vec<u8>, question: &AnalyticsQuery, fresh: Fresh) {
    let group_by: Vec<_> = question.group_by.iter().map(|one| one.as_str()).collect();
    member(body, "\"granularity\":", question.granularity.as_str());
    member(body, ",\"tz\":", question.zone.name());
    member(body, ",\"from\":", &question.from.start());
    member(body, ",\"to\":", &question.to.start());
    member(body, ",\"as_of\":", &fresh.as_of);
    member(body, ",\"stale\":", &fresh.stale);
    member(body, ",\"group_by\":", &group_by);
}

fn member(body: &mut Vec<u8>, name: &str, value: &(impl serde::Serialize + ?Sized)) {
    body.extend_from_slice(name.as_bytes());
    json(body, value);
}

/// Writes the dimensions of a row, each after a comma.
fn members(group_by: &[Dimension], group: &[DimensionValue]) -> Vec<u8> {
    let mut members = Vec::new();
    for (dimension, value) in group_by.iter().zip(group) {
        members.extend_from_slice(b",\"");
        members.extend_from_slice(dimension.as_str().as_bytes());
        members.extend_from_slice(b"\":");
        match value {
            DimensionValue::None => members.extend_from_slice(b"null"),
            DimensionValue::Agent(agent) => json(&mut members, &agent.0),
            DimensionValue::Text(text) => json(&mut members, text),
        }
    }
    members
}

fn json(body: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    serde_json::to_writer(body, value).expect("memory takes texts and numbers");
}

#[cfg(test)]
mod tests {
    use super::super::query::tests::read;
    use super::super::table::AnalyticsRow;
    use super::*;
    use leadhost_domain::analytics::Granularity;
    use leadhost_domain::id::AgentId;
    use leadhost_domain::time::Micros;

    fn table() -> AnalyticsTable {
        let row = |day: &str, group, counts| AnalyticsRow {
            period: Day::parse(day).expect("a day"),
            group,
            counts,
        };
        AnalyticsTable {
            groups: vec![
                vec![DimensionValue::None, DimensionValue::None],
                vec![
                    DimensionValue::Text("a \"b\"\n".to_owned()),
                    DimensionValue::Agent(AgentId(7)),
                ],
            ],
            rows: vec![
                row("2030-01-01", 0, [3, 2, 1, 0, 0]),
                row("2030-01-01", 1, [1, 0, 1, 0, 0]),
            ],
        }
    }

    const FRESH: Fresh = Fresh {
        as_of: Some(Micros(1_700_000_000_000_001)),
        stale: false,
    };
    const QUERY: &str = "group_by=source,agent_id&from=2030-01-01&to=2030-01-02";
    const HEAD: &str = r#""granularity":"day","tz":"America/Sao_Paulo","from":"2030-01-01T03:00:00.000000Z","to":"2030-01-02T03:00:00.000000Z","as_of":"2023-11-14T22:13:20.000001Z","stale":false,"group_by":["source","agent_id"]"#;
    const FIRST: &str = r#"{"period":"2030-01-01","source":null,"agent_id":null,"conversations_started":3,"conversations_answered":2,"conversations_no_response":1,"appointments":0,"transferred":0}"#;
    const SECOND: &str = r#"{"period":"2030-01-01","source":"a \"b\"\n","agent_id":7,"conversations_started":1,"conversations_answered":0,"conversations_no_response":1,"appointments":0,"transferred":0}"#;

    #[test]
    fn an_answer_is_one_json_document_or_one_row_per_line() {
        let question = read(Granularity::Day, QUERY).expect("a question");
        let text = |in_lines| {
            let body = write(&question, &table(), FRESH, in_lines);
            String::from_utf8(body).expect("UTF-8")
        };
        assert_eq!(
            text(false),
            format!("{{{HEAD},\"data\":[{FIRST},{SECOND}],\"count\":2}}")
        );
        assert_eq!(
            text(true),
            format!("{FIRST}\n{SECOND}\n{{{HEAD},\"count\":2}}\n")
        );
    }

    #[test]
    fn an_answer_without_rows_is_an_answer() {
        let question = read(Granularity::Month, "tz=UTC").expect("a question");
        let fresh = Fresh {
            as_of: None,
            stale: true,
        };
        let body = write(&question, &AnalyticsTable::default(), fresh, false);
        let value: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(value["as_of"], serde_json::Value::Null);
        assert_eq!(value["stale"], true);
        assert_eq!(value["data"], serde_json::json!([]));
        assert_eq!(value["group_by"], serde_json::json!([]));
        assert_eq!(value["count"], 0);
    }
}
