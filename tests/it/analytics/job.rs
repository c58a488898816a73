//! The rounds that count.

use leadhost_domain::analytics::MetricSet;
use leadhost_domain::time::{self, Micros};
use leadhost_tests::{Declared, Host, Json, On, Options, fields, guests, has};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    a_round_counts_all_earlier_commits,
    a_workspace_that_cannot_be_counted_stays_as_it_was_while_others_move_on,
    the_service_is_ready_without_a_round,
}

const VOICE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
"#;

/// A host that counts only when the test asks for it, and accepts messages of contacts.
struct CountingHost {
    host: Host,
    declared: Declared,
    operator: String,
    /// The number of contacts so far.
    contacts: u32,
}

impl CountingHost {
    async fn new(on: On) -> Self {
        let host = Host::start(Options::patient(on)).await;
        host.converter(guests::sandbox()).await;
        let declared = host.declare(VOICE).await;
        let operator = format!("Bearer {}", host.admin_key().await.reveal());
        Self {
            host,
            declared,
            operator,
            contacts: 0,
        }
    }

    /// This many people write for the first time.
    async fn people_write(&mut self, count: u32) {
        let events: Vec<Value> = (0..count)
            .map(|number| {
                let from = format!("+55119{:08}", self.contacts + number);
                json!({ "inbound": { "from": from, "text": "Oi" } })
            })
            .collect();
        self.contacts += count;
        let ask = self.host.post(&self.declared.webhook("voice"));
        let body = json!({ "events": events });
        ask.json(&body).send().await.expect(200);
    }

    /// Returns how many conversations are counted as started.
    async fn started(&self) -> i64 {
        let query = "
            select cast(coalesce(sum(s.count_1), 0) as bigint)
            from rollup_slots as s
            join rollup_builds as b on b.build = s.build
            where b.metric_set = 1
            and b.state = 'serving'";
        self.host.count(query).await
    }

    /// Returns the status of conversations that operators see.
    async fn status(&self) -> Value {
        let ask = self.host.admin("GET", "/admin/v1/etl");
        let ask = ask.header("authorization", &self.operator);
        let status = ask.send().await.expect(200).json();
        let sets = status["metricSets"].list();
        assert_eq!(sets.len(), MetricSet::ALL.len());
        let found = sets.iter().find(|set| set["metricSet"] == "conversations");
        found.expect("conversations are counted").clone()
    }

    /// Makes the first counted day unreadable.
    async fn break_days(&self) {
        let broken = "update rollup_days set cells = 'broken'";
        self.host.on.change(self.host.folder.path(), broken).await;
    }
}

fn time_of(value: &Value) -> Option<Micros> {
    value
        .as_str()
        .map(|text| time::parse(text).expect("a time"))
}

async fn a_round_counts_all_earlier_commits(on: On) {
    let mut counting = CountingHost::new(on).await;
    assert_eq!(time_of(&counting.status().await["asOf"]), None);
    assert_eq!(counting.status().await["stale"], true);
    counting.people_write(3).await;
    assert_eq!(counting.started().await, 0);

    let round = counting.host.count_analytics().await;
    let first = counting.host.now();
    assert_eq!(counting.started().await, 3);
    let ran = &round.runs[0];
    assert_eq!(ran.set, MetricSet::Conversations);
    assert_eq!((ran.as_of, ran.changes), (first, 3));
    assert!(ran.failed.is_empty() && ran.unfinished.is_empty());
    let status = counting.status().await;
    assert_eq!(time_of(&status["asOf"]), Some(first));
    assert_eq!(status["stale"], false);
    fields!(status, {"behind": [], "making": []});
    fields!(status, {"cubes": 1, "cubesMaking": 0});

    counting.host.advance(60).await;
    counting.people_write(1).await;
    assert_eq!(counting.started().await, 3, "no further round has run");
    assert_eq!(time_of(&counting.status().await["asOf"]), Some(first));
    let round = counting.host.count_analytics().await;
    assert_eq!(counting.started().await, 4);
    assert_eq!(round.runs[0].changes, 1);
    let status = counting.status().await;
    assert_eq!(time_of(&status["asOf"]), Some(counting.host.now()));
    assert_eq!(status["changes"], 1);
}

async fn a_workspace_that_cannot_be_counted_stays_as_it_was_while_others_move_on(on: On) {
    let mut counting = CountingHost::new(on).await;
    counting.host.workspace("other").await;
    counting.people_write(2).await;
    counting.host.count_analytics().await;
    let first = counting.host.now();
    counting.break_days().await;

    for attempt in 0..2 {
        counting.host.advance(60).await;
        counting.people_write(1).await;
        let round = counting.host.count_analytics().await;
        let failed = &round.runs[0].failed;
        assert_eq!(failed.len(), 1, "attempt {attempt}: {failed:?}");
        has!(failed[0].1, "the cells of a day"; "{failed:?}");
        assert_eq!(
            counting.started().await,
            2,
            "the earlier counts are untouched"
        );
        let status = counting.status().await;
        assert_eq!(time_of(&status["asOf"]), Some(counting.host.now()));
        let behind = json!([{ "workspace": "demo", "asOf": first }]);
        assert_eq!(status["behind"], behind, "attempt {attempt}");
    }
    let said = counting.host.admin("GET", "/metrics").send().await;
    let behind = "leadhost_rollup_behind{set=\"conversations\"} 1";
    has!(said, behind);
}

async fn the_service_is_ready_without_a_round(on: On) {
    let counting = CountingHost::new(on).await;
    assert_eq!(counting.status().await["stale"], true);
    let ready = counting.host.get("/health/ready").send().await;
    ready.expect(200);
}
