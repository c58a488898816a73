//! The rounds that count.

use leadhost_domain::analytics::MetricSet;
use leadhost_domain::time::{self, Micros};
use leadhost_tests::{Json, On, fields, has};
use serde_json::{Value, json};

use super::api::Board;

leadhost_tests::on_every_store! {
    a_round_counts_all_earlier_commits,
    a_workspace_that_cannot_be_counted_stays_as_it_was_while_others_move_on,
    the_service_is_ready_without_a_round,
}

/// Returns how many conversations are counted as started.
async fn started(board: &Board) -> i64 {
    let query = "
        select cast(coalesce(sum(s.count_1), 0) as bigint)
        from rollup_slots as s
        join rollup_builds as b on b.build = s.build
        where b.metric_set = 1
        and b.state = 'serving'";
    board.host.count(query).await
}

/// Returns the status of conversations that operators see.
async fn status(board: &Board) -> Value {
    let key = board.host.admin_key().await;
    let ask = board.host.admin("GET", "/admin/v1/etl").bearer(&key);
    let status = ask.send().await.expect(200).json();
    let sets = status["metricSets"].list();
    assert_eq!(sets.len(), MetricSet::ALL.len());
    let found = sets.iter().find(|set| set["metricSet"] == "conversations");
    found.expect("conversations are counted").clone()
}

fn as_of(status: &Value) -> Option<Micros> {
    let text = status["asOf"].as_str();
    text.map(|text| time::parse(text).expect("a time"))
}

async fn a_round_counts_all_earlier_commits(on: On) {
    let mut board = Board::new(on).await;
    fields!(status(&board).await, {"asOf": null, "stale": true});
    board.people_write("voice", 3).await;
    assert_eq!(started(&board).await, 0);

    let round = board.host.count_analytics().await;
    let first = board.host.now();
    assert_eq!(started(&board).await, 3);
    let ran = &round.runs[0];
    assert_eq!(ran.set, MetricSet::Conversations);
    assert_eq!((ran.as_of, ran.changes), (first, 3));
    assert!(ran.failed.is_empty() && ran.unfinished.is_empty());
    let counted = status(&board).await;
    assert_eq!(as_of(&counted), Some(first));
    fields!(counted, {
        "stale": false, "behind": [], "making": [], "cubes": 1, "cubesMaking": 0,
    });

    board.host.advance(60).await;
    board.people_write("voice", 1).await;
    assert_eq!(started(&board).await, 3, "no further round has run");
    assert_eq!(as_of(&status(&board).await), Some(first));
    let round = board.host.count_analytics().await;
    assert_eq!(started(&board).await, 4);
    assert_eq!(round.runs[0].changes, 1);
    let counted = status(&board).await;
    assert_eq!(as_of(&counted), Some(board.host.now()));
    assert_eq!(counted["changes"], 1);
}

async fn a_workspace_that_cannot_be_counted_stays_as_it_was_while_others_move_on(on: On) {
    let mut board = Board::new(on).await;
    board.host.workspace("other").await;
    board.people_write("voice", 2).await;
    board.count().await;
    let first = board.host.now();
    board.break_days().await;

    for attempt in 0..2 {
        board.host.advance(60).await;
        board.people_write("voice", 1).await;
        let round = board.host.count_analytics().await;
        let failed = &round.runs[0].failed;
        assert_eq!(failed.len(), 1, "attempt {attempt}: {failed:?}");
        has!(failed[0].1, "the cells of a day"; "{failed:?}");
        let started = started(&board).await;
        assert_eq!(started, 2, "the earlier counts are untouched");
        let status = status(&board).await;
        assert_eq!(as_of(&status), Some(board.host.now()));
        let behind = json!([{ "workspace": "demo", "asOf": first }]);
        assert_eq!(status["behind"], behind, "attempt {attempt}");
    }
    let said = board.host.admin("GET", "/metrics").send().await;
    has!(said, "leadhost_rollup_behind{set=\"conversations\"} 1");
}

async fn the_service_is_ready_without_a_round(on: On) {
    let board = Board::new(on).await;
    fields!(status(&board).await, {"stale": true});
    let ready = board.host.get("/health/ready").send().await;
    ready.expect(200);
}
