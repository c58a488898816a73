//! Grouping, filters and order of counts.

use leadhost_tests::{Json, On};
use serde_json::Value;

use super::{Board, DAY};

leadhost_tests::on_every_store! {
    internal_agents_are_left_out_unless_agents_are_named,
    rows_come_as_lines_when_asked_for,
}

/// Three weeks around a new year, with an assistant, a person, an internal agent, and
/// sources.
async fn three_weeks(on: On) -> Board {
    let mut board = Board::new(on).await;
    // To 2030-12-27T12:00Z, a Friday.
    board.host.advance(346 * DAY).await;
    for day in 0..15 {
        board.people_write("voice", 1 + day % 3).await;
        if day % 2 == 0 {
            board.people_write("people", 1).await;
            board.people_write("audit", 5).await;
        }
        if day % 5 == 0 {
            let phone = format!("+55119777700{day:02}");
            board
                .notify(&phone, if day == 0 { "site" } else { "portal" })
                .await;
        }
        board.host.advance(DAY).await;
    }
    board.count().await;
    board
}

const RANGE: &str = "from=2030-12-20&to=2031-01-20";

async fn internal_agents_are_left_out_unless_agents_are_named(on: On) {
    let board = three_weeks(on).await;
    let audit = board.declared.instance("audit");
    let voice = board.declared.instance("voice");
    let started = async |query: &str| {
        let target = format!("conversations/month?{RANGE}{query}");
        let page = board.page(&target).await;
        let rows = page["data"].list().iter();
        let started = rows.map(|row| row["conversations_started"].as_i64().expect("a number"));
        started.sum::<i64>()
    };
    assert_eq!(started("").await, 30 + 8 + 3);
    assert_eq!(started("&agent_type=ai").await, 30 + 3 + 40);
    assert_eq!(started("&agent_type=human").await, 8);
    assert_eq!(started("&agent_type=ai,human").await, 30 + 8 + 3 + 40);
    assert_eq!(started(&format!("&agent_id={audit}")).await, 40);
    assert_eq!(started(&format!("&agent_id={voice},{audit}")).await, 73);
    assert_eq!(
        started(&format!("&agent_type=human&agent_id={voice}")).await,
        0
    );
    assert_eq!(started("&source=site").await, 1);
    assert_eq!(started("&source=site,portal,nobody").await, 3);
    assert_eq!(started("&source=Site").await, 0);
    assert_eq!(started(&format!("&source=site&agent_id={audit}")).await, 0);
}

async fn rows_come_as_lines_when_asked_for(on: On) {
    let board = three_weeks(on).await;
    let target = format!("conversations/day?{RANGE}&group_by=source,agent_id");
    let whole = board.get(&target).await.expect(200);
    let lines = board.ask(&target).header("accept", "application/x-ndjson");
    let lines = lines.send().await.expect(200);
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    assert_eq!(lines.header("etag"), whole.header("etag"));
    assert_eq!(lines.header("x-data-as-of"), whole.header("x-data-as-of"));
    let mut values: Vec<Value> = lines
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let mut rest = values.pop().expect("a last line");
    rest["data"] = Value::from(values);
    assert_eq!(rest, whole.json());
}
