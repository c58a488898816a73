//! Counts conversations once more, from the export, in a few lines that share
//! nothing with the service's counting.

use std::collections::BTreeMap;
use std::time::Duration;

use leadhost_domain::clock::{Clock as _, SystemClock};
use leadhost_domain::time;
use leadhost_tests::load::exported;
use leadhost_tests::{Json, Service, until};
use serde_json::Value;

use super::counting::CountingHosts;

/// By local day, agent type, agent and source.
pub type Counted = BTreeMap<[String; 4], [i64; 5]>;

/// The time of each measure of a conversation, except for the first measure.
const MET: [&str; 4] = [
    "answered_at",
    "no_response_at",
    "appointment_at",
    "transferred_at",
];

const MEASURES: [&str; 5] = [
    "conversations_started",
    "conversations_answered",
    "conversations_no_response",
    "appointments",
    "transferred",
];

/// Zones whose local days are this many hours behind UTC, all year round.
pub const ZONES: [(&str, u64); 2] = [("America/Sao_Paulo", 3), ("UTC", 0)];

/// Counts the exported conversations in a zone.
pub async fn recounted(world: &CountingHosts, host: &Service, hours_behind: u64) -> Counted {
    let mut counted = Counted::new();
    let (data, reader) = (host.address("data"), world.hosts.workspace_key());
    for row in exported(data, reader, "conversations").await {
        let Some(began) = row["first_message_at"].as_str() else {
            continue;
        };
        let began = time::parse(began).expect("a time");
        let local = began.minus(Duration::from_hours(hours_behind)).text();
        let key = key(&local[..10], &row);
        let counts = counted.entry(key).or_default();
        counts[0] += 1;
        for (count, met) in counts[1..].iter_mut().zip(MET) {
            *count += i64::from(!row[met].is_null());
        }
    }
    counted
}

/// Returns the counts of analytics, for some days around today.
pub async fn counts_by_day(world: &CountingHosts, host: &Service, zone: &str) -> Counted {
    let day = |days: i64| SystemClock.now().plus_seconds(days * 86_400).text()[..10].to_owned();
    let (from, to) = (day(-3), day(3));
    let target = format!(
        "/v1/analytics/conversations/day?from={from}&to={to}&tz={zone}&group_by=agent_type,agent_id,source"
    );
    let ask = world.hosts.client(host, &target);
    let answer = ask.send().await.expect(200).json();
    let rows = answer["data"].list().iter();
    rows.map(|row| {
        let period = row["period"].text();
        let counts = MEASURES.map(|name| row[name].as_i64().expect("a count"));
        (key(period, row), counts)
    })
    .collect()
}

fn key(day: &str, row: &Value) -> [String; 4] {
    let text = |name: &str| row[name].to_string();
    [
        day.to_owned(),
        text("agent_type"),
        text("agent_id"),
        text("source"),
    ]
}

/// Compares the counts of analytics with the recount, in every zone. The
/// conversations keep changing meanwhile: only counts that were the same before and
/// after are compared.
pub async fn assert_all_counted(world: &CountingHosts, host: &Service) {
    for (zone, hours_behind) in ZONES {
        let (expect, counts) = until("a while in which nothing changes", async || {
            let before = recounted(world, host, hours_behind).await;
            world.counted(host).await;
            let counts = counts_by_day(world, host, zone).await;
            let after = recounted(world, host, hours_behind).await;
            (before == after).then_some((after, counts))
        })
        .await;
        assert!(!expect.is_empty(), "there is something to count");
        assert_eq!(counts, expect, "by the days of {zone}");
    }
}
