//! A rollout in a fleet: every host follows it and reports what it saw, and one of them judges.

use std::time::Duration;

use leadhost_domain::audit::{Act, AuditActor, OperatorAct};
use leadhost_domain::rollout::RolloutStage;
use leadhost_tests::{Host, eventually, fields, has};
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
    let rolling = available!(one());
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
    let [one] = available!(fleet(["one"]));
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
    let rolling = available!(one());
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
    let rolling = available!(one());
    let candidate = rolling.keep(phones("1.1.0")).await;
    // No component is small enough for this host.
    let tight = rolling
        .host
        .beside_with("tight", |config| config.plugins.component_mib = 0)
        .await;
    let begun = rolling.begin(&candidate, canary(&[100], LONG)).await;
    fields!(begun, {
        "stage": "verified", "percent": 0, "behind.0.host": "tight",
        "waitsFor": "every host to prepare the versions",
    });
    // The traffic goes on, and the candidate has no part of it.
    let sent = rolling.send("odd", 3).await;
    assert_eq!(sent, vec![rolling.stable.clone(); 3]);
    let refused = rolling.change("pause").await.expect(409);
    has!(refused, "cannot be paused in the stage verified");
    assert_eq!(rolling.shown().await["compared"], 0);

    tight.stop(Duration::from_secs(5)).await;
    let begins = |shown: &Value| shown["stage"] == "canary" && follow_all(shown);
    rolling.until("the first step", begins).await;
    assert_eq!(rolling.send("odd", 1).await, [candidate]);
}

#[tokio::test]
async fn a_host_that_stops_does_not_hold_the_rollout() {
    let rolling = available!(one());
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

#[tokio::test]
async fn nobody_restores_a_candidate_that_another_host_takes_back() {
    let rolling = available!(one());
    let candidate = rolling.keep(phones("1.1.0")).await;
    rolling.begin(&candidate, canary(&[1], LONG)).await;
    rolling.change("promote").await.expect(200);
    // As a host whose guard has tripped, and which dies then.
    let (store, pipeline) = (rolling.host.store(), &rolling.host.app.pipeline);
    let (time, now) = (Duration::from_secs(60), pipeline.core.clock.now());
    let proposal = store.propose(pipeline.fleet.host(), "misbehave", &rolling.stable, time);
    let proposal = proposal.await.expect("a store").expect("the only one");
    let open = store.rollouts().await.expect("a store").remove(0);
    let ended = open.in_stage(RolloutStage::RolledBack, now, Some("a guard".to_owned()));
    let detail = json!({
        "mode": "canary", "candidate": ended.candidate, "stable": ended.stable,
    });
    let by = AuditActor::service("service");
    let what = (OperatorAct::RollBackRollout, "misbehave");
    let act = Act::done(by, now, what, &detail);
    let flipped = store.flip_in_rollout(&proposal, (&ended, &act), now).await;
    flipped.expect("a store").expect("in time");
    let is_back = async || rolling.serves() == rolling.stable;
    eventually("the stable version is active", is_back).await;
    let rollback = rolling.ask("POST", "/plugins/misbehave/rollback");
    let refused = rollback.send().await.expect(409);
    has!(refused, "was itself rolled back by the service");
    assert_eq!(rolling.shown().await["stage"], "rolled-back");
    assert_eq!(rolling.serves(), rolling.stable);
}

#[tokio::test]
async fn a_promotion_beside_an_abort_on_another_host_never_leaves_a_candidate_without_its_rollout()
{
    let rolling = available!(one());
    let two = rolling.host.beside("two").await;
    let candidate = rolling.keep(phones("1.1.0")).await;
    let mut order = canary(&[1], LONG);
    order["accept"] = json!(["all"]);
    for turn in 0..12 {
        rolling.begin(&candidate, order.clone()).await;
        rolling.until("both follow", follow_all).await;
        // The promotion has every host prepare the version first: they meet at another moment in each turn.
        let abort = async {
            for _ in 0..turn * 60 {
                tokio::task::yield_now().await;
            }
            let ask = two.admin("PATCH", "/admin/v1/plugins/misbehave/rollout");
            let ask = ask.bearer(&rolling.key).json(&json!({ "change": "abort" }));
            ask.send().await
        };
        let (promoted, aborted) = tokio::join!(rolling.change("promote"), abort);
        let statuses = (promoted.status, aborted.status);
        assert_eq!(aborted.status, 200, "{statuses:?}: {}", aborted.text());
        assert_eq!(rolling.shown().await["stage"], "aborted", "{statuses:?}");
        let active = rolling.host.store().activations().await.expect("a store");
        assert_eq!(active[0].digest, rolling.stable, "{statuses:?}");
    }
    eventually("both hosts serve the stable version", async || {
        let is_stable = |host: &Host| {
            let serves = host.app.pipeline.fleet.serves();
            serves["misbehave"].digest.as_ref() == Some(&rolling.stable)
        };
        is_stable(&rolling.host) && is_stable(&two)
    })
    .await;
}

#[tokio::test]
async fn the_audit_names_the_operator_whichever_host_judges() {
    let rolling = available!(one());
    let candidate = rolling.keep(phones("1.1.0")).await;
    let two = rolling.host.beside("two").await;
    let mut order = canary(&[100], LONG);
    order["accept"] = json!(["all"]);
    // One of them does not judge.
    for host in [&rolling.host, &two, &rolling.host, &two] {
        rolling.begin(&candidate, order.clone()).await;
        rolling.until("both follow", follow_all).await;
        for change in ["promote", "abort"] {
            let ask = host.admin("PATCH", "/admin/v1/plugins/misbehave/rollout");
            let ask = ask.bearer(&rolling.key).json(&json!({ "change": change }));
            ask.send().await.expect(200);
        }
    }
    for act in ["promote-rollout", "end-rollout"] {
        assert_eq!(rolling.audited(act).await, 4, "{act}");
        let ask = rolling.ask("GET", &format!("/audit?act={act}"));
        let audit = ask.send().await.expect(200).json();
        let rows = audit["rows"].as_array().expect("a list");
        for row in rows {
            assert_ne!(row["label"], "service", "{row:#}");
        }
    }
}
