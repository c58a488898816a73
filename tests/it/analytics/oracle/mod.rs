//! An oracle for analytics: its answers against an independent recomputation, from
//! the rows of the export and the desk, with the days of another time zone library.
//! Both stores answer with the same bytes.
//!
//! Conversations begin at any time in some years, half of them near days with a clock
//! change. They are answered or not, handed over, about test leads, of an internal
//! agent, with and without a source. Meanwhile rows change and zones get cubes, and
//! at the end everything is counted again.

mod asker;
mod days;
mod question;
mod seed;

use std::collections::BTreeSet;

use leadhost_domain::analytics::MetricSet;
use leadhost_tests::{Host, Json, On, Random, sized};

use self::asker::Asker;
use self::days::zones;
use self::question::{ERAS, Question, Set};

/// Every so manieth zone gets a question, and in each era others do.
fn apart() -> usize {
    sized(8, 1)
}

/// Further questions, in rounds.
fn rounds() -> usize {
    sized(1, 3)
}
const QUESTIONS: usize = 50;

/// Zones that are requested often, so that they get a cube.
const FAVOURITES: [&str; 4] = [
    "America/Sao_Paulo",
    "Europe/Lisbon",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_equals_a_recomputation_on_both_stores() {
    let postgres = async {
        let on = On::postgres().await?;
        Some(answers(on).await)
    };
    let sqlite = Box::pin(answers(On::Sqlite));
    let (on_sqlite, on_postgres) = tokio::join!(sqlite, Box::pin(postgres));
    let Some(on_postgres) = on_postgres else {
        return;
    };
    assert_eq!(on_sqlite.len(), on_postgres.len());
    for (one, other) in on_sqlite.iter().zip(&on_postgres) {
        assert_eq!(one, other);
    }
}

/// Questions and the bytes of their checked answers.
async fn answers(on: On) -> Vec<(String, String)> {
    let host = Host::new(on).await;
    let mut asker = Asker::new(&host).await;
    asker.seed().await;
    host.count_analytics().await;
    let mut raw = asker.raw().await;
    let mut random = Random::new(0x5eed);
    let mut answers = Vec::new();
    for (first, era) in ERAS.iter().enumerate() {
        for zone in zones(era).iter().skip(first).step_by(apart()) {
            let question = Question::any(&mut random, era, zone);
            answers.push(asker.check(&raw, &question).await);
        }
    }
    favourites(&asker, &mut random).await;
    for round in 0..rounds() {
        asker.change(round).await;
        host.count_analytics().await;
        raw = asker.raw().await;
        for _ in 0..QUESTIONS {
            let era = random.choose(&ERAS);
            let zone = *random.choose(&FAVOURITES);
            let question = Question::any(&mut random, era, zone);
            answers.push(asker.check(&raw, &question).await);
        }
    }
    sums_agree(&asker).await;
    // Counted again, in other batches than before, everything is the same.
    let said = answers.split_off(answers.len() - QUESTIONS);
    for set in MetricSet::ALL {
        let rebuilt = host.store().rollup_rebuild(set, None).await;
        assert_eq!(rebuilt.expect("it begins"), 1);
    }
    host.count_analytics().await;
    for (path, answer) in &said {
        assert_eq!(asker.get(path).await.text(), answer, "{path}");
    }
    answers.extend(said);
    host.stop(std::time::Duration::from_secs(5)).await;
    answers
}

/// A cube of a zone changes no answer.
async fn favourites(asker: &Asker<'_>, random: &mut Random) {
    let cubes = "select count(distinct zone) from rollup_cubes";
    let raw = asker.raw().await;
    for name in FAVOURITES {
        for era in &ERAS {
            let mut question = Question::any(random, era, name);
            question.granularity = "day";
            let mut said = BTreeSet::new();
            for _ in 0..6 {
                said.insert(asker.check(&raw, &question).await.1);
                asker.host.count_analytics().await;
            }
            assert_eq!(said.len(), 1, "{question:?}");
        }
    }
    assert!(asker.host.count(cubes).await >= 4);
}

/// The sums over the days, weeks and months of a range are equal, in some zones and
/// for every grouping, if the range begins and ends with a week and a month.
async fn sums_agree(asker: &Asker<'_>) {
    // From a Monday that is the first of a month to another one.
    for range in [
        "from=2018-01-01&to=2018-10-01",
        "from=2029-10-01&to=2030-04-01",
    ] {
        for zone in [
            "America/Sao_Paulo",
            "America/St_Johns",
            "Australia/Lord_Howe",
        ] {
            let mut sums = BTreeSet::new();
            for granularity in ["day", "week", "month"] {
                for group in [
                    "",
                    "&group_by=source",
                    "&group_by=agent_type,agent_id,source",
                ] {
                    let path = format!("conversations/{granularity}?{range}&tz={zone}{group}");
                    let answer = asker.get(&path).await.json();
                    let rows = answer["data"].list();
                    let measures = Set::Conversations.measures();
                    let sum: Vec<i64> = measures
                        .iter()
                        .map(|measure| rows.iter().filter_map(|row| row[measure].as_i64()).sum())
                        .collect();
                    assert!(sum[0] > 0, "{path}");
                    assert!(sum[1..].iter().all(|part| *part <= sum[0]), "{path}");
                    sums.insert(sum);
                }
            }
            assert_eq!(sums.len(), 1, "{zone}: {sums:?}");
        }
    }
}
