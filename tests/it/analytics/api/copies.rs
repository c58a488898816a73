//! Conditional requests, and the age of the answers.

use leadhost_tests::{Answer, Json, On};
use serde_json::{Value, json};

use super::{Board, DAY};

leadhost_tests::on_every_store! {
    a_client_that_has_the_answer_is_not_sent_it_again,
    a_304_is_answered_without_the_counts,
    another_question_has_another_etag,
    the_etag_changes_exactly_when_the_answer_changes,
    a_copy_is_known_in_every_coding_and_form,
    freshness_agrees_with_the_answers,
}

const TARGET: &str = "conversations/day?to=2030-02-01";

async fn again(board: &Board, target: &str, tags: &str) -> Answer {
    board.ask(target).header("if-none-match", tags).send().await
}

async fn a_client_that_has_the_answer_is_not_sent_it_again(on: On) {
    let mut board = Board::new(on).await;
    board.people_write("voice", 2).await;
    board.count().await;
    let first = board.get(TARGET).await.expect(200);
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    for tags in [
        tag.clone(),
        tag.trim_start_matches("W/").to_owned(),
        format!("\"other\", {tag}"),
        "*".to_owned(),
    ] {
        let copy = again(&board, TARGET, &tags).await.expect(304);
        assert!(copy.body.is_empty());
        let names = "etag x-data-as-of cache-control vary ratelimit-limit";
        for name in names.split(' ') {
            assert_eq!(copy.header(name), first.header(name), "{name}");
        }
        assert_eq!(copy.header("cache-control"), "private, no-cache");
        assert_eq!(copy.header("content-type"), "");
    }
    for tags in ["\"other\"", "", "W/", tag.trim_end_matches('"')] {
        again(&board, TARGET, tags).await.expect(200);
    }
    let head = board.host.ask("HEAD", &format!("/v1/analytics/{TARGET}"));
    let head = head.header("authorization", &board.bearer());
    let head = head.send().await.expect(200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("etag"), tag);
    assert_eq!(head.header("x-data-as-of"), first.header("x-data-as-of"));
}

async fn a_304_is_answered_without_the_counts(on: On) {
    let mut board = Board::new(on).await;
    board.people_write("voice", 1).await;
    board.host.advance(DAY).await;
    board.count().await;
    let target = "conversations/day?to=2030-01-16";
    let tag = board.tag(target).await;
    // The counts are no longer readable.
    board.break_days().await;
    board.get(target).await.expect(500);
    again(&board, target, &tag).await.expect(304);
    board.get("freshness").await.expect(200);
}

async fn another_question_has_another_etag(on: On) {
    let mut board = Board::new(on).await;
    board.people_write("voice", 1).await;
    board.count().await;
    let mut tags = Vec::new();
    for target in [
        "conversations/day",
        "conversations/week",
        "tickets/day",
        "conversations/day?tz=Brazil/East",
        "conversations/day?from=2030-01-01",
        "conversations/day?to=2030-01-02",
        "conversations/day?group_by=source,agent_id",
        "conversations/day?group_by=agent_id,source",
        "conversations/day?agent_type=ai",
        "conversations/day?agent_id=1",
        "conversations/day?source=1",
        "conversations/day?source=1,2",
    ] {
        tags.push(board.tag(target).await);
    }
    let other = board.host.workspace("other").await;
    let ask = board.host.get("/v1/analytics/conversations/day");
    let answer = ask.bearer(&other.workspace_key).send().await.expect(200);
    tags.push(answer.header("etag").to_owned());
    let count = tags.len();
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), count, "{tags:?}");
}

async fn the_etag_changes_exactly_when_the_answer_changes(on: On) {
    let mut board = Board::new(on).await;
    board.people_write("voice", 1).await;
    board.count().await;
    let first = board.tag(TARGET).await;
    let short = board.tag("conversations/day").await;

    // A round without changes renews the as-of of a fixed range and leaves its copy valid.
    // A range that ends now has another answer.
    board.host.advance(600).await;
    board.count().await;
    let copy = again(&board, TARGET, &first).await.expect(304);
    assert_eq!(copy.header("x-data-as-of"), board.host.now().text());
    again(&board, "conversations/day", &short).await.expect(200);
    let now = board.tag("conversations/day").await;
    board.host.advance(299).await;
    again(&board, "conversations/day", &now).await.expect(304);
    board.host.advance(2).await;
    again(&board, "conversations/day", &now).await.expect(200);

    // New messages count only after a round.
    board.people_write("voice", 1).await;
    again(&board, TARGET, &first).await.expect(304);
    board.count().await;
    let second = again(&board, TARGET, &first).await.expect(200);
    let second = second.header("etag").to_owned();
    assert_ne!(second, first);

    // After thirteen idle hours the answer is stale, and fresh again after a
    // round.
    board.host.advance(13 * 3_600).await;
    let old = again(&board, TARGET, &second).await.expect(200);
    assert_eq!(old.json()["stale"], true);
    board.count().await;
    let fresh = again(&board, TARGET, &second).await.expect(304);
    assert_eq!(fresh.header("x-data-as-of"), board.host.now().text());

    // The set of excluded agents is part of the answer.
    let file = super::FILE.replace("kind = \"human\"", "kind = \"human\"\ninternal = true");
    board.host.declare(&file).await;
    again(&board, TARGET, &second).await.expect(200);
}

async fn a_copy_is_known_in_every_coding_and_form(on: On) {
    let mut board = Board::new(on).await;
    for _ in 0..20 {
        board.people_write("voice", 1).await;
        board.host.advance(DAY).await;
    }
    board.count().await;
    let target = "conversations/day";
    let plain = board.get(target).await.expect(200);
    assert!(plain.body.len() > 1_024);
    for coding in ["gzip", "zstd"] {
        for accept in ["application/json", "application/x-ndjson"] {
            let ask = || board.ask(target).header("accept-encoding", coding);
            let small = ask().header("accept", accept).send().await.expect(200);
            assert_eq!(small.header("content-encoding"), coding);
            assert!(small.body.len() * 2 < plain.body.len());
            for name in ["etag", "vary", "cache-control", "x-data-as-of"] {
                assert_eq!(small.header(name), plain.header(name), "{coding} {accept}");
            }
            let copy = ask().header("if-none-match", plain.header("etag"));
            let copy = copy.header("accept", accept).send().await.expect(304);
            assert_eq!(copy.header("content-encoding"), "");
        }
    }
    assert_eq!(plain.header("vary"), "accept, accept-encoding");
    assert_eq!(plain.headers.get_all("vary").iter().count(), 1);
}

async fn freshness_agrees_with_the_answers(on: On) {
    let mut board = Board::new(on).await;
    let row = |set: &str, as_of: Value, stale: bool| json!({"metricset": set, "etl_job": format!("{set}_rollup"), "as_of": as_of, "stale": stale});
    let nothing = board.get("freshness").await.expect(200);
    let rows = ["conversations", "tickets"].map(|set| row(set, Value::Null, true));
    assert_eq!(nothing.json(), json!({"data": rows, "count": 2}));

    board.people_write("voice", 1).await;
    board.count().await;
    let now = json!(board.host.now().text());
    let tag = nothing.header("etag");
    again(&board, "freshness", tag).await.expect(200);
    let fresh = board.get("freshness").await.expect(200);
    let rows = ["conversations", "tickets"].map(|set| row(set, now.clone(), false));
    assert_eq!(fresh.json(), json!({"data": rows, "count": 2}));
    for set in ["conversations", "tickets"] {
        assert_eq!(board.page(&format!("{set}/week")).await["as_of"], now);
    }

    board.host.advance(12 * 3_600).await;
    let tag = fresh.header("etag");
    let copy = again(&board, "freshness", tag).await.expect(304);
    assert!(copy.body.is_empty());
    assert_eq!(copy.header("cache-control"), "private, no-cache");
    board.host.advance(1).await;
    let stale = again(&board, "freshness", tag).await.expect(200);
    assert_eq!(stale.json()["data"][0], row("conversations", now, true));

    let lines = board.ask("freshness");
    let lines = lines.header("accept", "application/x-ndjson").send().await;
    let lines = lines.expect(200);
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    let row = |line| serde_json::from_str::<Value>(line).expect("JSON");
    let lines: Vec<_> = lines.text().lines().map(row).collect();
    assert_eq!(lines[..2], stale.json()["data"].list()[..]);
    assert_eq!(lines[2], json!({"count": 2}));
}
