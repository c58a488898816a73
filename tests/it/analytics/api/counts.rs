//! Grouping, filters and order of counts.

use leadhost_tests::On;
use serde_json::Value;

use super::{Board, DAY};

leadhost_tests::on_every_store! {
    internal_agents_are_left_out_unless_agents_are_named,
    rows_are_grouped_by_period_and_by_the_requested_dimensions,
    days_weeks_and_months_come_to_the_same,
    a_range_counts_conversations_that_began_in_its_quarters_of_an_hour,
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
        let rows = page["data"].as_array().expect("rows").iter();
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

async fn rows_are_grouped_by_period_and_by_the_requested_dimensions(on: On) {
    let board = three_weeks(on).await;
    let months = board
        .rows(&format!(
            "conversations/month?{RANGE}&group_by=source,agent_type"
        ))
        .await;
    assert_eq!(
        months,
        [
            "2030-12-01 null ai: 9 0 0 0 0",
            "2030-12-01 null human: 3 0 0 0 0",
            "2030-12-01 site ai: 1 0 0 0 0",
            "2031-01-01 null ai: 21 0 0 0 0",
            "2031-01-01 null human: 5 0 0 0 0",
            "2031-01-01 portal ai: 2 0 0 0 0",
        ]
    );
    // A week is named by its Monday, even if the range begins later.
    let weeks = board
        .rows("conversations/week?from=2031-01-01&to=2031-01-06&agent_type=human")
        .await;
    assert_eq!(weeks, ["2030-12-30: 2 0 0 0 0"]);
    let ids = [
        board.declared.instance("voice"),
        board.declared.instance("people"),
    ];
    let days = board
        .rows("conversations/day?from=2030-12-27&to=2030-12-29&group_by=agent_id")
        .await;
    let mut expect = [
        format!("2030-12-27 {}: 2 0 0 0 0", ids[0]),
        format!("2030-12-27 {}: 1 0 0 0 0", ids[1]),
    ];
    if ids[0] > ids[1] {
        expect.reverse();
    }
    let last = format!("2030-12-28 {}: 2 0 0 0 0", ids[0]);
    assert_eq!(days, [&expect[..], &[last]].concat());
}

async fn days_weeks_and_months_come_to_the_same(on: On) {
    let board = three_weeks(on).await;
    for zone in [
        "America/Sao_Paulo",
        "Pacific/Chatham",
        "Asia/Kolkata",
        "UTC",
    ] {
        let mut sums = Vec::new();
        for granularity in ["day", "week", "month"] {
            for group_by in [
                "",
                "&group_by=agent_id",
                "&group_by=source,agent_type,agent_id",
            ] {
                let query = format!("{RANGE}&tz={zone}{group_by}");
                let page = board
                    .page(&format!("conversations/{granularity}?{query}"))
                    .await;
                let rows = page["data"].as_array().expect("rows");
                let started =
                    |row: &Value| row["conversations_started"].as_i64().expect("a number");
                sums.push(rows.iter().map(started).sum::<i64>());
            }
        }
        sums.dedup();
        assert_eq!(sums, [41], "{zone}");
    }
}

async fn a_range_counts_conversations_that_began_in_its_quarters_of_an_hour(on: On) {
    let mut board = Board::new(on).await;
    // 12:00, 12:14:59, 12:15 and 12:29:59.
    for (count, wait) in [(1, 899), (2, 1), (4, 899), (8, 1)] {
        board.people_write("voice", count).await;
        board.host.advance(wait).await;
    }
    board.count().await;
    let started = async |from: &str, to: &str| {
        let day = "2030-01-15T";
        let query = format!("from={day}{from}Z&to={day}{to}Z");
        let page = board.page(&format!("conversations/day?{query}")).await;
        page["data"][0]["conversations_started"]
            .as_i64()
            .unwrap_or_default()
    };
    assert_eq!(started("12:00:00", "12:15:00").await, 3);
    assert_eq!(started("12:14:59", "12:15:00").await, 3);
    assert_eq!(started("12:00:00", "12:15:01").await, 15);
    assert_eq!(started("12:15:00", "12:30:00").await, 12);
    assert_eq!(started("11:45:00", "12:00:00").await, 0);
    assert_eq!(started("12:30:00", "23:00:00").await, 0);
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
