//! The rate limit of a workspace counts over all hosts.

use std::sync::Arc;

use leadhost_domain::key::PlainKey;
use leadhost_tests::{Answer, Host};

use super::fleet;

/// Sends this many requests to each host, all at once.
async fn hammer(hosts: &Arc<[Host; 3]>, key: &PlainKey, each: usize) -> Vec<Answer> {
    let asked: Vec<_> = (0..3)
        .flat_map(|host| (0..each).map(move |_| host))
        .map(|host| {
            let (hosts, key) = (Arc::clone(hosts), key.reveal().to_owned());
            tokio::spawn(async move {
                let ask = hosts[host].get("/v1/whoami");
                let bearer = format!("Bearer {key}");
                ask.header("authorization", &bearer).send().await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.unwrap());
    }
    answers
}

#[track_caller]
fn served(answers: &[Answer]) -> usize {
    for answer in answers {
        assert!([200, 429].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.header("ratelimit-limit"), "120");
        if answer.status == 429 {
            assert_eq!(answer.header("ratelimit-remaining"), "0");
            assert_eq!(answer.header("retry-after"), "1");
        }
    }
    answers.iter().filter(|answer| answer.status == 200).count()
}

#[tokio::test]
async fn three_hosts_together_serve_a_workspace_its_rate_and_no_more() {
    let hosts = available!(fleet(["one", "two", "three"]));
    let seeded = hosts[0]
        .workspace_with("demo", |plan| plan.rate_limit = 120)
        .await;
    let hosts = Arc::new(hosts);
    let first = hammer(&hosts, &seeded.workspace_key, 50).await;
    assert_eq!(served(&first), 120, "the whole burst, over all hosts");
    // Two tokens a second are refilled, whichever host asks.
    hosts[0].advance(10).await;
    let second = hammer(&hosts, &seeded.workspace_key, 10).await;
    assert_eq!(served(&second), 20);
    // No other workspace pays for it.
    let other = hosts[0].workspace("other").await;
    let ask = hosts[1].get("/v1/whoami").bearer(&other.workspace_key);
    ask.send().await.expect(200);
}

#[tokio::test]
async fn a_host_repeats_a_rate_refusal_without_asking_the_database() {
    let [one, two] = available!(fleet(["one", "two"]));
    let seeded = one.workspace_with("demo", |plan| plan.rate_limit = 1).await;
    let ask = |host: &Host| host.get("/v1/whoami").bearer(&seeded.workspace_key);
    ask(&one).send().await.expect(200);
    let refused = ask(&two).send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "60");
    // A crash of the database empties the table; a host that knows the limit is
    // reached does not ask it.
    let mut connection = match &one.on {
        leadhost_tests::On::Postgres(database) => database.connect().await,
        leadhost_tests::On::Sqlite => unreachable!("it is a fleet"),
    };
    sqlx::query("delete from leadhost.rates")
        .execute(&mut connection)
        .await
        .unwrap();
    ask(&two).send().await.expect(429);
    ask(&one).send().await.expect(200);
    one.advance(60).await;
    ask(&two).send().await.expect(200);
}
