//! Clients that keep a copy, each with its own habit, while rows change between
//! and within their pulls: each ends with exactly the service's rows.

use std::collections::BTreeMap;
use std::time::Duration;

use leadhost_domain::time::Micros;
use leadhost_tests::{Host, On, Seeded};
use serde_json::{Value, json};

use super::{leads, page, rows, texts};

leadhost_tests::on_every_store! {
    every_consumer_ends_with_exactly_the_services_rows,
}

const ROUNDS: usize = 5;
const LIMIT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    None,
    /// Abandons a pull in the middle of a page, and starts again from the greatest
    /// stamp that it has processed.
    Abandons,
    /// Runs two pulls at once, a page of each in turn.
    TwoAtOnce,
    /// Keeps the milliseconds of a stamp.
    Milliseconds,
    /// Keeps the seconds of a stamp.
    Seconds,
    /// Has a clock that is an hour behind, and requests nothing later than that.
    ClockBehind,
}

const HABITS: [Habit; 6] = [
    Habit::None,
    Habit::Abandons,
    Habit::TwoAtOnce,
    Habit::Milliseconds,
    Habit::Seconds,
    Habit::ClockBehind,
];

struct Consumer {
    habit: Habit,
    rows: BTreeMap<String, Value>,
    greatest: Option<String>,
}

impl Consumer {
    fn new(habit: Habit) -> Self {
        Self {
            habit,
            rows: BTreeMap::new(),
            greatest: None,
        }
    }

    fn query(&self, now: Micros) -> String {
        let Some(greatest) = &self.greatest else {
            return format!("limit={LIMIT}");
        };
        let since = match self.habit {
            Habit::None | Habit::Abandons | Habit::TwoAtOnce => greatest.clone(),
            Habit::Milliseconds => format!("{}Z", &greatest[..23]),
            Habit::Seconds => format!("{}Z", &greatest[..19]),
            Habit::ClockBehind => greatest
                .clone()
                .min(now.minus(Duration::from_hours(1)).text()),
        };
        format!("limit={LIMIT}&updated_since={since}")
    }

    fn process(&mut self, rows: &[Value]) {
        for (row, (id, stamp)) in rows
            .iter()
            .zip(texts(rows, "id").into_iter().zip(texts(rows, "cursor_at")))
        {
            self.greatest = self.greatest.take().max(Some(stamp));
            self.rows.insert(id, row.clone());
        }
    }

    /// Pulls, while a lead of this name comes in, if there is one.
    async fn pull(&mut self, host: &Host, seeded: &Seeded, meanwhile: Option<String>) {
        let query = self.query(host.now());
        let mut pulls = vec![query.clone()];
        if self.habit == Habit::TwoAtOnce {
            pulls.push(query.clone());
        }
        let mut pages = 0;
        while !pulls.is_empty() {
            let asked = pulls.remove(0);
            let page = page(host, seeded, &format!("deals?{asked}")).await;
            pages += 1;
            let found = rows(&page);
            if let Some(name) = meanwhile.as_ref().filter(|_| pages == 1) {
                leads(host, seeded, name, 1).await;
            }
            if self.habit == Habit::Abandons && pages == 2 && meanwhile.is_some() {
                self.process(&found[..found.len() / 2]);
                return;
            }
            self.process(found);
            if let Some(next) = page["next_cursor"].as_str() {
                assert_eq!(found.len(), LIMIT, "a short page is the last");
                pulls.push(format!("{query}&cursor={next}"));
            }
        }
    }
}

async fn every_consumer_ends_with_exactly_the_services_rows(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let mut consumers = HABITS.map(Consumer::new);
    let mut deals = Vec::new();
    for round in 0..ROUNDS {
        deals.extend(leads(&host, &seeded, &format!("round{round}-"), 23).await);
        let status = ["won", "lost", "open"][round % 3];
        for deal in deals.iter().step_by(7 + round) {
            let ask = host.ask("PATCH", &format!("/deal/{deal}"));
            let ask = ask.partner(&seeded.partner_key);
            let answer = ask.json(&json!({ "status": status })).send().await;
            answer.expect(202);
        }
        for consumer in &mut consumers {
            let name = format!("{:?}{round}-", consumer.habit);
            consumer.pull(&host, &seeded, Some(name)).await;
        }
        host.advance(1_800).await;
    }
    let all = page(&host, &seeded, "deals?limit=1000").await;
    let truth: BTreeMap<_, _> = texts(rows(&all), "id")
        .into_iter()
        .zip(rows(&all).iter().cloned())
        .collect();
    assert_eq!(truth.len(), ROUNDS * (23 + HABITS.len()));
    for consumer in &mut consumers {
        consumer.pull(&host, &seeded, None).await;
        assert_eq!(consumer.rows, truth, "{:?}", consumer.habit);
    }
}
