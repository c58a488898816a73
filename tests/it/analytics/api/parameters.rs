//! Valid and invalid parameters of the analytics API.

use leadhost_tests::{Answer, Host, Json, On, fields, has};
use serde_json::json;

use super::Board;

leadhost_tests::on_every_store! {
    parameters_that_cannot_be_read_are_refused_with_the_expected_form,
    unknown_things_are_not_found,
    equivalent_spellings_are_one_question,
    the_default_is_thirty_days_in_sao_paulo,
    every_answer_shows_the_rate_and_a_rate_refusal_costs_nothing,
}

#[track_caller]
fn refused(answer: &Answer, what: &str) -> String {
    let body = answer.json();
    let keys: Vec<_> = body.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["code", "error"], "{what}");
    assert!(!answer.headers.contains_key("etag"), "{what}");
    assert!(answer.headers.contains_key("ratelimit"), "{what}");
    body["error"].text().to_owned()
}

async fn parameters_that_cannot_be_read_are_refused_with_the_expected_form(on: On) {
    let board = Board::new(on).await;
    for (query, said) in [
        ("from=", "`from` must be a day such as"),
        ("from=yesterday", "leave it out for 30 days ago"),
        ("from=2030-01-01T00:00:00", "with its offset"),
        ("from=2030-02-30", "`from`"),
        ("from=1e9", "`from`"),
        ("from=%00", "`from`"),
        ("to=", "leave it out for now"),
        ("to=2030-13-01", "`to`"),
        ("from=2030-01-10&to=2030-01-10", "must be before `to`"),
        ("from=2030-01-10&to=2030-01-09", "must be before `to`"),
        (
            "from=2030-01-10T00:00:00Z&to=2030-01-10T00:00:00%2B00:00",
            "before `to`",
        ),
        ("from=2031-01-01", "before now"),
        ("to=2020-01-01", "give `from` too"),
        ("from=1979-12-31", "1980-01-01"),
        ("from=1980-01-01&tz=UTC&to=1979-01-01", "before `to`"),
        ("tz=Nowhere/At_All", "IANA"),
        ("tz=america/sao_paulo", "spelled exactly as in the database"),
        ("tz=UTC%2B3", "IANA"),
        ("tz=..%2F..%2Fetc%2Fpasswd", "IANA"),
        ("group_by=period", "agent_type, agent_id, source"),
        ("group_by=AGENT_ID", "agent_type, agent_id, source"),
        ("agent_type=bot", "ai or human"),
        ("agent_id=voice", "numbers"),
    ] {
        for set in ["conversations", "tickets"] {
            let answer = board.get(&format!("{set}/day?{query}")).await.expect(400);
            let message = refused(&answer, query);
            has!(message, said; "{query}");
        }
    }
}

async fn unknown_things_are_not_found(on: On) {
    let board = Board::new(on).await;
    for target in [
        "conversations/hour",
        "conversations/Day",
        "conversations/days?from=",
        "tickets/year",
    ] {
        let answer = board.get(target).await.expect(404);
        let message = refused(&answer, target);
        has!(message, "day, week, month"; "{target}");
    }
    for target in ["deals/day", "freshness/day"] {
        let answer = board.get(target).await.expect(404).json();
        let message = answer["error"].text();
        has!(message, "conversations, tickets"; "{target}");
    }
    for target in ["conversations", "conversations/day/x"] {
        let answer = board.get(target).await.expect(404).json();
        assert!(answer["error"].is_string(), "{target}");
    }
    // Without a key nothing is revealed.
    for target in ["conversations/hour", "tickets/day?tz=x", "freshness"] {
        let ask = board.host.get(&format!("/v1/analytics/{target}"));
        ask.send().await.expect(401);
    }
    let post = board.host.post("/v1/analytics/conversations/day");
    let post = post.header("authorization", &board.bearer());
    let post = post.send().await.expect(405);
    assert_eq!(post.header("allow"), "GET, HEAD");
}

async fn equivalent_spellings_are_one_question(on: On) {
    let mut board = Board::new(on).await;
    board.people_write("voice", 2).await;
    board.host.advance(1).await;
    board.count().await;
    for (one, other) in [
        ("", "sort=asc&limit=ten&cursor=x"),
        ("group_by=source", "group_by=source,source"),
        (
            "group_by=source,agent_id",
            "group_by=%20source%20,%20agent_id",
        ),
        (
            "group_by=source,agent_id",
            "group_by=source&group_by=agent_id",
        ),
        ("agent_type=ai,human", "agent_types=human,ai,ai"),
        ("agent_id=1,2", "agent_ids=2,1"),
        ("source=a,b", "sources=b,a"),
        ("tz=Etc/GMT%2B3", "tz=Etc/GMT+3"),
        ("from=2030-01-10T03:00:00Z", "from=2030-01-10"),
        (
            "from=2030-01-10T03:00:00Z",
            "from=2030-01-10T04:14:59.999+01:00",
        ),
        ("to=2030-01-15T11:45:00.000001Z", "to=2030-01-15T12:00:00Z"),
    ] {
        let ask = async |query| {
            board
                .get(&format!("conversations/day?{query}"))
                .await
                .expect(200)
        };
        let (first, second) = (ask(one).await, ask(other).await);
        assert_eq!(first.text(), second.text(), "{one} and {other}");
        let etags = [&first, &second].map(|answer| answer.header("etag"));
        assert_eq!(etags[0], etags[1], "{one} and {other}");
    }
}

async fn the_default_is_thirty_days_in_sao_paulo(on: On) {
    let mut board = Board::new(on).await;
    let nothing = board.page("conversations/day").await;
    let expect = json!({
        "granularity": "day", "tz": "America/Sao_Paulo",
        "from": "2029-12-16T03:00:00.000000Z", "to": "2030-01-15T12:00:00.000000Z",
        "as_of": null, "stale": true, "group_by": [], "data": [], "count": 0,
    });
    assert_eq!(nothing, expect);
    board.host.advance(1).await;
    board.people_write("voice", 1).await;
    board.count().await;
    let now = board.host.now().text();
    let page = board.page("conversations/month").await;
    fields!(page, {
        "granularity": "month", "to": "2030-01-15T12:15:00.000000Z", "as_of": now, "stale": false,
        "data.0.period": "2030-01-01", "data.0.conversations_started": 1,
    });
    // The answer names the zone as the request did.
    let alias = board.page("conversations/day?tz=Brazil/East").await;
    fields!(alias, {"tz": "Brazil/East", "data.0.period": "2030-01-15"});
    let far = board.page("conversations/day?to=2999-01-01").await;
    fields!(far, {"to": "2999-01-01T03:00:00.000000Z", "count": 1});
    let ahead = "tickets/week?from=2998-01-01&to=2999-01-01";
    let ahead = board.page(ahead).await;
    fields!(ahead, {"count": 0, "as_of": now});
}

async fn every_answer_shows_the_rate_and_a_rate_refusal_costs_nothing(on: On) {
    let host = Host::new(on).await;
    let few = host.workspace_with("few", |plan| plan.rate_limit = 4).await;
    let ask = |target: &str| {
        let ask = host.get(&format!("/v1/analytics/{target}"));
        ask.bearer(&few.workspace_key)
    };
    let first = ask("freshness").send().await.expect(200);
    assert_eq!(first.header("ratelimit-remaining"), "3");
    let again = ask("freshness").header("if-none-match", first.header("etag"));
    let again = again.send().await.expect(304);
    assert_eq!(again.header("ratelimit-remaining"), "2");
    let wrong = ask("conversations/day?tz=x").send().await.expect(400);
    assert_eq!(wrong.header("ratelimit-remaining"), "1");
    let missing = ask("conversations/hour").send().await.expect(404);
    assert_eq!(missing.header("ratelimit-remaining"), "0");
    for _ in 0..3 {
        let over = ask("tickets/day").send().await.expect(429);
        assert_eq!(over.header("retry-after"), "15");
        assert_eq!(over.header("ratelimit"), "\"workspace\";r=0;t=15");
        assert!(over.json()["error"].is_string());
    }
    host.advance(15).await;
    ask("tickets/day").send().await.expect(200);
}
