//! The counts of a workspace over the admin API: the same as for its own data clients.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Ask, Json, On, fields, has};
use serde_json::{Value, json};

use super::{Board, DAY, measures};

leadhost_tests::on_every_store! {
    an_operator_reads_what_a_data_client_of_the_workspace_reads,
    every_period_has_a_count_and_none_lies_far_ahead,
    an_operator_is_refused_with_the_words_of_a_data_client,
    a_viewer_may_read_the_counts_and_no_other_kind_of_key,
    a_zone_that_an_operator_asks_for_is_counted_in_advance,
    numbers_of_another_workspace_do_not_appear,
}

fn ask(board: &Board, key: &PlainKey, workspace: &str, target: &str) -> Ask {
    let target = format!("/admin/v1/workspaces/{workspace}/analytics/{target}");
    board.host.admin("GET", &target).bearer(key)
}

async fn get(board: &Board, key: &PlainKey, workspace: &str, target: &str) -> Value {
    let ask = ask(board, key, workspace, target);
    ask.send().await.expect(200).json()
}

/// Returns the series as rows of the data API in short form: periods without counts are left out.
fn rows(target: &str, answer: &Value) -> Vec<String> {
    let names = [
        ("agent_type", "agentType"),
        ("agent_id", "agentId"),
        ("source", "source"),
    ];
    let dimensions = answer["groupBy"].list();
    let mut rows = Vec::new();
    for (place, period) in answer["periods"].list().iter().enumerate() {
        for series in answer["series"].list() {
            let counts: Vec<_> = measures(target)
                .iter()
                .map(|name| series["counts"][*name][place].to_string())
                .collect();
            if counts.iter().all(|count| count == "0") {
                continue;
            }
            let mut said = period.as_str().expect("a day").to_owned();
            for dimension in dimensions {
                let known = names.iter().find(|(own, _)| dimension == own);
                said += &format!(" {}", series[known.expect("a dimension").1]);
            }
            rows.push(format!("{said}: {}", counts.join(" ")).replace('"', ""));
        }
    }
    rows
}

async fn an_operator_reads_what_a_data_client_of_the_workspace_reads(on: On) {
    let mut board = Board::new(on).await;
    let key = board.host.admin_key().await;
    for _ in 0..3 {
        board.people_write("voice", 2).await;
        board.people_write("people", 1).await;
        board.people_write("audit", 1).await;
        board.notify("+5511955554444", "portal").await;
        board.host.advance(20 * DAY).await;
    }
    board.count().await;
    for query in [
        "from=2030-01-01",
        "from=2030-01-01&group_by=agent_type",
        "from=2030-01-01&group_by=source,agent_id&tz=Asia/Kathmandu",
        "from=2030-01-15T12:00:00Z&to=2030-02-20&agent_type=human&group_by=agent_id",
        "from=2030-01-01&source=portal",
    ] {
        for target in ["conversations/day", "conversations/week", "tickets/month"] {
            let target = format!("{target}?{query}");
            let answer = get(&board, &key, "demo", &target).await;
            let own = rows(&target, &answer);
            assert_eq!(own, board.rows(&target).await, "{target}");
            let theirs = board.page(&target).await;
            fields!(answer, {
                "from": theirs["from"], "to": theirs["to"], "tz": theirs["tz"],
                "asOf": theirs["as_of"], "stale": theirs["stale"],
                "groupBy": theirs["group_by"], "granularity": theirs["granularity"],
            });
        }
    }
    let answer = get(&board, &key, "demo", "conversations/day?from=2030-01-01").await;
    assert_eq!(answer["workspace"], "demo");
    assert_eq!(answer["metricSet"], "conversations");
    assert_eq!(answer["series"][0]["agentType"], Value::Null);
}

async fn every_period_has_a_count_and_none_lies_far_ahead(on: On) {
    let mut board = Board::new(on).await;
    let key = board.host.admin_key().await;
    let target = "conversations/day";
    // Nothing is counted yet.
    let answer = get(&board, &key, "demo", target).await;
    fields!(answer, {"asOf": null, "stale": true, "series": []});
    assert_eq!(answer["periods"].as_array().map(Vec::len), Some(31));

    board.people_write("voice", 2).await;
    board.host.advance(1).await;
    board.count().await;
    let answer = get(&board, &key, "demo", target).await;
    let counts = &answer["series"][0]["counts"]["conversations_started"];
    let counts = counts.as_array().expect("counts");
    assert_eq!(counts.len(), 31);
    assert_eq!(counts.last(), Some(&json!(2)));
    assert_eq!(answer["stale"], false);
    let ahead = format!("{target}?from=2040-01-01&to=2041-01-01");
    let answer = get(&board, &key, "demo", &ahead).await;
    fields!(answer, {"periods": [], "series": []});
}

async fn an_operator_is_refused_with_the_words_of_a_data_client(on: On) {
    let board = Board::new(on).await;
    let key = board.host.admin_key().await;
    for (target, status) in [
        ("conversations/day?from=yesterday", 400),
        ("conversations/day?to=", 400),
        ("conversations/day?from=2030-01-10&to=2030-01-09", 400),
        ("conversations/day?from=1979-12-31", 400),
        ("conversations/day?tz=Nowhere/At_All", 400),
        ("tickets/day?group_by=period", 400),
        ("tickets/day?agent_type=bot", 400),
        ("tickets/day?agent_id=voice", 400),
        ("tickets/hour", 404),
        ("deals/day", 404),
    ] {
        let own = ask(&board, &key, "demo", target).send().await;
        let own = own.expect(status);
        let theirs = board.get(target).await.expect(status);
        assert_eq!(own.json()["error"], theirs.json()["error"], "{target}");
    }
    for target in ["deals/hour", "tickets/day"] {
        let missing = ask(&board, &key, "nope", target).send().await.expect(404);
        has!(missing, "leadhost workspace list");
    }
    let path = "/admin/v1/workspaces/demo/analytics/tickets/day";
    let post = board.host.admin("POST", path);
    post.bearer(&key).send().await.expect(405);
}

async fn a_viewer_may_read_the_counts_and_no_other_kind_of_key(on: On) {
    let board = Board::new(on).await;
    let key = board.host.admin_key().await;
    let viewer = json!({"kind": "admin", "label": "viewer", "role": "viewer"});
    let made = board.host.admin("POST", "/admin/v1/keys").bearer(&key);
    let made = made.json(&viewer).send().await.expect(201).json();
    let text = made["key"].text();
    let viewer = PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key");
    get(&board, &viewer, "demo", "conversations/day").await;
    let path = "/admin/v1/workspaces/demo/analytics/conversations/day";
    board.host.admin("GET", path).send().await.expect(401);
    let ask = board.host.admin("GET", path);
    let ask = ask.header("authorization", &board.bearer());
    ask.send().await.expect(401);
}

async fn a_zone_that_an_operator_asks_for_is_counted_in_advance(on: On) {
    let mut board = Board::new(on).await;
    let key = board.host.admin_key().await;
    board.people_write("voice", 1).await;
    board.host.advance(1).await;
    board.count().await;
    let cubes = async || {
        let status = board.host.admin("GET", "/admin/v1/etl").bearer(&key);
        let status = status.send().await.expect(200).json();
        status["metricSets"][0]["cubes"].as_u64().expect("a number")
    };
    let before = cubes().await;
    for _ in 0..3 {
        get(&board, &key, "demo", "conversations/day?tz=Asia/Kathmandu").await;
    }
    board.count().await;
    board.count().await;
    assert!(cubes().await > before);
}

async fn numbers_of_another_workspace_do_not_appear(on: On) {
    let mut board = Board::new(on).await;
    let key = board.host.admin_key().await;
    board.people_write("voice", 3).await;
    board.host.workspace("other").await;
    board.host.advance(1).await;
    board.count().await;
    let voice = board.declared.instance("voice");
    for query in [
        "group_by=source".to_owned(),
        format!("agent_id={voice}"),
        "agent_type=ai&tz=Asia/Kathmandu".to_owned(),
    ] {
        let target = format!("conversations/day?{query}");
        let other = get(&board, &key, "other", &target).await;
        assert_eq!(other["workspace"], "other");
        assert_eq!(other["series"], json!([]), "{query}");
        assert_ne!(other["asOf"], Value::Null);
        let own = get(&board, &key, "demo", &target).await;
        assert_eq!(own["series"].as_array().map(Vec::len), Some(1), "{query}");
    }
}
