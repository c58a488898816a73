//! A rollout in a fleet: every host follows it and reports what it saw, and one of them judges.

use std::time::Duration;

use leadhost_tests::{Host, Hosts, On, until};
use serde_json::{Value, json};

use super::fleet;
use crate::plugins::rollout::{
    LONG, Rolling, another_form, canary, connection, count, follow_all, phones, version,
};

/// A host with a stable version of the misbehaving converter.
async fn one() -> Option<Rolling> {
    let [one] = fleet(["one"]).await?;
    Some(Rolling::on_host(one, &connection("odd", "{ size = 1 }")).await)
}

#[tokio::test]
async fn every_host_follows_a_rollout_and_their_reports_are_added_up() {
    let Some(rolling) = one().await else {
        return;
    };
    let candidate = rolling.keep(phones("1.1.0")).await;
    let two = rolling.host.beside("two").await;
    let three = rolling.host.beside("three").await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    let names = json!(["one", "three", "two"]);
    let all = |shown: &Value| shown["hosts"] == names && follow_all(shown);
    rolling.until("every host follows", all).await;
    for host in [&rolling.host, &two, &three] {
        for _ in 0..2 {
            assert_eq!(rolling.send_to(host, "odd").await, candidate);
        }
    }
    let sum = |shown: &Value| shown["served"] == 6 && shown["compared"] == 6;
    rolling.until("the sum of all hosts", sum).await;
}

#[tokio::test]
async fn two_hosts_choose_the_same_version_for_the_same_lead() {
    let Some([one]) = fleet(["one"]).await else {
        return;
    };
    let rolling = Rolling::form(one).await;
    let candidate = rolling.host.keep_version(another_form()).await;
    let two = rolling.host.beside("two").await;
    rolling.begin(&candidate, canary(&[50], LONG)).await;
    rolling.until("both follow", follow_all).await;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for id in 0..20 {
        let words = "Posso visitar?";
        first.push(rolling.send_lead(&rolling.host, id, words).await);
        second.push(rolling.send_lead(&two, id, words).await);
    }
    assert_eq!(first, second);
    assert!((1..20).contains(&count(&first, &candidate)), "both convert");
}

#[tokio::test]
async fn harm_that_two_hosts_see_together_ends_the_rollout_on_both() {
    let Some(rolling) = one().await else {
        return;
    };
    let candidate = rolling.keep(version("1.1.0")).await;
    let two = rolling.host.beside("two").await;
    rolling.begin(&candidate, canary(&[100], LONG)).await;
    rolling.until("both follow", follow_all).await;
    // Two harmed leads on one host alone prove nothing yet.
    for host in [&rolling.host, &two] {
        for _ in 0..2 {
            assert_eq!(rolling.send_to(host, "odd").await, rolling.stable);
        }
    }
    let ended = rolling.ended().await;
    assert_eq!(ended["stage"], "rolled-back", "{ended:#}");
    assert!(ended["saved"].as_u64() >= Some(3), "{ended:#}");
    assert_eq!(rolling.leads().await, (4, 0));
}

#[tokio::test]
async fn a_canary_begins_when_every_host_can_load_its_candidate() {
    let Some(rolling) = one().await else {
        return;
    };
    let candidate = rolling.keep(phones("1.1.0")).await;
    // No component is small enough for this host.
    let tight = rolling
        .host
        .beside_with("tight", |config| config.plugins.component_mib = 0)
        .await;
    let begun = rolling.begin(&candidate, canary(&[100], LONG)).await;
    assert_eq!(begun["stage"], "verified", "{begun:#}");
    assert_eq!(begun["percent"], 0, "{begun:#}");
    assert_eq!(begun["behind"][0]["host"], "tight", "{begun:#}");
    let words = "every host to prepare the versions";
    assert_eq!(begun["waitsFor"], words, "{begun:#}");
    // The traffic goes on, and the candidate has no part of it.
    assert_eq!(
        rolling.send("odd", 3).await,
        vec![rolling.stable.clone(); 3]
    );
    let refused = rolling.change("pause").await.expect(409).json();
    let error = refused["error"].as_str().expect("a text");
    assert!(
        error.contains("cannot be paused in the stage verified"),
        "{error}"
    );
    assert_eq!(rolling.shown().await["compared"], 0);

    tight.stop(Duration::from_secs(5)).await;
    let begins = |shown: &Value| shown["stage"] == "canary" && follow_all(shown);
    rolling.until("the first step", begins).await;
    assert_eq!(rolling.send("odd", 1).await, [candidate]);
}

#[tokio::test]
async fn a_host_that_stops_does_not_hold_the_rollout() {
    let Some(rolling) = one().await else {
        return;
    };
    let candidate = rolling.keep(phones("1.1.0")).await;
    let others: [Host; 2] = [
        rolling.host.beside("two").await,
        rolling.host.beside("three").await,
    ];
    let steps: Vec<u8> = (1..=20).collect();
    rolling.begin(&candidate, canary(&steps, 1)).await;
    let paused = rolling.pause().await;
    let all = |shown: &Value| shown["hosts"] == json!(["one", "three", "two"]);
    rolling.until("every host follows", all).await;
    others[1].stop(Duration::from_secs(5)).await;
    // The one that stopped never acts on this change.
    rolling.change("resume").await.expect(200);
    let before = paused["percent"].as_u64();
    let later = |shown: &Value| shown["percent"].as_u64() > before;
    let shown = rolling.until("a later step", later).await;
    assert_eq!(shown["stage"], "canary", "{shown:#}");
}

/// The workspace of a first start.
const WORKSPACE: &str = r#"
[workspace]
slug = "demo"
name = "Demo"
rate_limit = 1000000

[[partners]]
name = "acme"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn another_host_judges_when_the_one_that_did_is_killed() {
    const PATH: &str = "/plugins/misbehave/rollout";
    let Some(on) = On::postgres().await else {
        return;
    };
    let hosts = Hosts::on(on)
        .count(2)
        .component(phones("1.0.0").component())
        .workspace(WORKSPACE)
        .apply()
        .await;
    let mut services = [hosts.start(0).await, hosts.start(1).await];
    let ask = hosts.operator(&services[0], "POST", "/plugins");
    let stored = ask.body(phones("1.1.0").component()).send().await;
    let stored = stored.expect(201).json();
    let steps: Vec<u8> = (1..=20).collect();
    let mut order = canary(&steps, 1);
    order["digest"] = stored["digest"].clone();
    // The stable version came from the inbox.
    order["accept"] = json!(["all"]);
    let ask = hosts.operator(&services[0], "POST", PATH).json(&order);
    ask.send().await.expect(201);
    let pause = json!({ "change": "pause" });
    let paused = until("it is paused", async || {
        let ask = hosts.operator(&services[0], "PATCH", PATH).json(&pause);
        let answer = ask.send().await;
        (answer.status == 200).then(|| answer.json())
    })
    .await;

    let judge = until("a host judges", async || {
        services.iter().position(|service| {
            let log = service.log();
            let mut lines = log.lines();
            lines.any(|line| line.contains("job acquired") && line.contains("rollouts"))
        })
    })
    .await;
    services[judge].kill();
    let other = &services[1 - judge];
    let resume = json!({ "change": "resume" });
    let ask = hosts.operator(other, "PATCH", PATH).json(&resume);
    ask.send().await.expect(200);
    let before = paused["percent"].as_u64();
    until("a later step", async || {
        let ask = hosts.operator(other, "GET", PATH);
        let shown = ask.send().await.expect(200).json();
        (shown["percent"].as_u64() > before).then_some(())
    })
    .await;
}
