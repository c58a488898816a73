//! `GET /v1/reports/message_errors`: failures that the channel reports, once
//! each, in windows and pages.

use leadhost_tests::{Declared, Host, Json, On, has};
use serde_json::{Value, json};

use super::{events, report, voice};

leadhost_tests::on_every_store! {
    a_failure_is_one_row_and_its_repeat_adds_none,
    the_ids_of_the_rows_that_exist_are_listed,
    all_pages_end_at_the_bound_of_the_first_page,
    wrong_requests_are_refused_in_the_data_api_s_format,
    rows_leave_as_lines_too,
    filters_hold_together_and_unknown_ones_are_ignored,
    a_cursor_keeps_its_window_and_its_filters,
}

fn failed(id: &str, code: &str) -> Value {
    json!({ "status": { "id": id, "status": "failed", "code": code, "text": "Not there" } })
}

const SINCE: &str = "updated_since=2030-01-15";

async fn rows(host: &Host, declared: &Declared, query: &str) -> Vec<Value> {
    let page = report(host, declared, query).await.expect(200).json();
    assert_eq!(page["count"], page["data"].list().len());
    page["data"].list().clone()
}

async fn a_failure_is_one_row_and_its_repeat_adds_none(on: On) {
    let (host, declared) = voice(on).await;
    let some = [
        failed("m-1", "131026"),
        failed("m-1", "131026"),
        failed("m-1", "131049"),
    ];
    events(&host, &declared, &some).await.expect(200);
    let before = rows(&host, &declared, SINCE).await;
    assert_eq!(before.len(), 2);
    let row = &before[0];
    assert_eq!(row["external_id"], "m-1");
    assert_eq!(row["error_code"], "131026");
    assert_eq!(row["error_description"], "Not there");
    assert_eq!(row["channel"], "sandbox");
    // The message is unknown: the row has nulls, and every key.
    for field in "message_id conversation_id deal_id recipient_id template_name".split(' ') {
        assert!(row.get(field).expect(field).is_null(), "{field}");
    }
    host.advance(60).await;
    events(&host, &declared, &[failed("m-1", "131026")])
        .await
        .expect(200);
    assert_eq!(rows(&host, &declared, SINCE).await, before);
}

async fn the_ids_of_the_rows_that_exist_are_listed(on: On) {
    let (host, declared) = voice(on).await;
    let some = [failed("m-1", "131026"), failed("m-2", "131026")];
    events(&host, &declared, &some).await.expect(200);
    let ask = async |rest: &str| {
        let ask = host.get(&format!("/v1/reports/{rest}"));
        let key = format!("Bearer {}", declared.key("workspace"));
        ask.header("authorization", &key).send().await
    };
    let kept = rows(&host, &declared, SINCE).await;
    let kept: Vec<_> = kept.iter().map(|row| json!({"id": row["id"]})).collect();
    let first = ask("message_errors/ids?limit=1").await.expect(200).json();
    assert_eq!(first["data"], json!(kept[..1]));
    let cursor = first["next_cursor"].text();
    let second = ask(&format!("message_errors/ids?cursor={cursor}")).await;
    let second = second.expect(200).json();
    assert_eq!(second["data"], json!(kept[1..]));
    assert!(second["next_cursor"].is_null());
    ask(&format!("message_errors?cursor={cursor}"))
        .await
        .expect(400);
    ask("tickets/ids").await.expect(404);
}

async fn all_pages_end_at_the_bound_of_the_first_page(on: On) {
    let (host, declared) = voice(on).await;
    let some = (0..5).map(|number| failed(&format!("m-{number}"), "1"));
    let some: Vec<_> = some.collect();
    events(&host, &declared, &some).await.expect(200);
    let mut query = format!("{SINCE}&limit=2");
    let mut seen = Vec::new();
    loop {
        let page = report(&host, &declared, &query).await.expect(200).json();
        let data = page["data"].list();
        assert!(data.len() <= 2);
        seen.extend(data.iter().map(|row| row["external_id"].clone()));
        let given = [failed(&format!("new-{}", seen.len()), "1")];
        events(&host, &declared, &given).await.expect(200);
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        query = format!("limit=2&cursor={cursor}");
    }
    assert_eq!(seen, ["m-0", "m-1", "m-2", "m-3", "m-4"]);
    // The next pull begins at the greatest stamp, inclusively.
    let last = rows(&host, &declared, SINCE).await;
    let stamp = last[4]["cursor_at"].text();
    let next = rows(&host, &declared, &format!("updated_since={stamp}")).await;
    assert_eq!(next[0]["external_id"], "m-4");
    // `to` is exclusive.
    let first = last[0]["cursor_at"].text();
    let window = format!("updated_since={first}&to={stamp}");
    assert_eq!(rows(&host, &declared, &window).await.len(), 4);
    assert!(
        rows(
            &host,
            &declared,
            &format!("updated_since={first}&to={first}")
        )
        .await
        .is_empty()
    );
    // An end in the future means the current end of the feed.
    let ahead = format!("updated_since={first}&to=2030-02-01&limit=1");
    let page = report(&host, &declared, &ahead).await.expect(200).json();
    let cursor = page["next_cursor"].text();
    assert_eq!(
        rows(&host, &declared, &format!("cursor={cursor}&limit=1"))
            .await
            .len(),
        1
    );
}

async fn wrong_requests_are_refused_in_the_data_api_s_format(on: On) {
    let (host, declared) = voice(on).await;
    for query in [
        "",
        "updated_since=",
        "updated_since=soon",
        "updated_since=2029-12-01",
        "updated_since=2029-01-01&to=2029-02-02",
        "updated_since=2030-01-15&to=2030-01-14",
        "updated_since=2030-01-15&to=",
        "updated_since=2030-01-15&limit=ten",
        "cursor=None",
        "cursor=AAAA",
    ] {
        let answer = report(&host, &declared, query).await.expect(400).json();
        assert!(answer["error"].is_string(), "{query}: {answer}");
        assert!(answer["code"].is_string(), "{query}: {answer}");
        assert_eq!(answer.as_object().expect("an object").len(), 2, "{query}");
    }
    // Without `to`, a window of 31 days has a tolerance, so that a client need not be quick.
    report(&host, &declared, "updated_since=2029-12-15T11:30:00Z")
        .await
        .expect(200);
    report(&host, &declared, "updated_since=2029-12-15T10:30:00Z")
        .await
        .expect(400);
    let key = format!("Bearer {}", declared.key("workspace"));
    let ask = |target: &str| host.get(target);
    let unknown = ask("/v1/reports/other?updated_since=2030-01-15");
    let unknown = unknown.header("authorization", &key).send().await;
    let unknown = unknown.expect(404);
    has!(unknown.json()["error"], "message_errors");
    ask("/v1/reports/message_errors").send().await.expect(401);
}

async fn rows_leave_as_lines_too(on: On) {
    let (host, declared) = voice(on).await;
    let some = [failed("m-1", "1"), failed("m-2", "1")];
    events(&host, &declared, &some).await.expect(200);
    let ask = host.get(&format!("/v1/reports/message_errors?{SINCE}"));
    let key = format!("Bearer {}", declared.key("workspace"));
    let ask = ask.header("authorization", &key);
    let ask = ask.header("accept", "application/x-ndjson");
    let answer = ask.send().await.expect(200);
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2], json!({ "next_cursor": null, "count": 2 }));
    let is_so = answer.header("ratelimit-limit") == "1000000";
    assert!(is_so, "{:?}", answer.headers);
}

async fn filters_hold_together_and_unknown_ones_are_ignored(on: On) {
    let (host, declared) = voice(on).await;
    let some = [failed("m-1", "1"), failed("m-2", "1"), failed("m-3", "2")];
    events(&host, &declared, &some).await.expect(200);
    let agent = declared.instance("voice");
    let check = async |query: &str, expect: usize| {
        let found = rows(&host, &declared, &format!("{SINCE}&{query}")).await;
        assert_eq!(found.len(), expect, "{query}");
    };
    check("error_code=1", 2).await;
    check("error_code=1&external_id=m-2", 1).await;
    check("error_code=2&external_id=m-2", 0).await;
    check(&format!("agent_id={agent}"), 3).await;
    check(&format!("agent_id={}", agent + 1), 0).await;
    check("colour=red", 3).await;
    // What a client leaves blank is not given.
    check("deal_id=&error_code=2", 1).await;
    for unmatched in [
        "deal_id=7",
        "conversation_id=x",
        "conversation_id=018f0000-0000-7000-8000-000000000000",
        "agent_id=voice",
    ] {
        check(unmatched, 0).await;
    }
}

async fn a_cursor_keeps_its_window_and_its_filters(on: On) {
    let (host, declared) = voice(on).await;
    let some: Vec<_> = (0..6)
        .map(|number| {
            failed(
                &format!("m-{number}"),
                if number % 2 == 0 { "even" } else { "odd" },
            )
        })
        .collect();
    events(&host, &declared, &some).await.expect(200);
    let first = format!("{SINCE}&limit=1&error_code=odd");
    let page = report(&host, &declared, &first).await.expect(200).json();
    let cursor = page["next_cursor"].text();
    let codes = |rows: &[Value]| -> Vec<String> {
        rows.iter()
            .map(|row| row["error_code"].as_str().unwrap_or("").to_owned())
            .collect()
    };
    // Months later the window and its length are not checked again.
    host.advance(60 * 24 * 3_600).await;
    for more in ["", "&error_code=odd", "&updated_since=never", "&colour=red"] {
        let found = rows(&host, &declared, &format!("cursor={cursor}{more}")).await;
        assert_eq!(codes(&found), ["odd", "odd"], "{more}");
    }
    for other in ["&error_code=even", "&error_code=odd&agent_id=1"] {
        let answer = report(&host, &declared, &format!("cursor={cursor}{other}"))
            .await
            .expect(400);
        has!(answer.json()["error"], "filters");
    }
    // The cursor belongs to the report only.
    let ask = host.get(&format!("/v1/export/deals?cursor={cursor}"));
    let key = format!("Bearer {}", declared.key("workspace"));
    ask.header("authorization", &key).send().await.expect(400);
}
