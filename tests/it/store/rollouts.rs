//! Rollouts of versions, and the reports of hosts on them.

use leadhost_domain::audit::{Act, AuditActor, OperatorAct};
use leadhost_domain::rollout::{Rollout, RolloutMode, RolloutPlan, RolloutReport, RolloutStage};

use super::plugins::plugin;
use super::world::*;

/// Stores two versions. Returns a rollout of the second one beside the first, to begin.
async fn new(world: &World) -> Rollout {
    let (stable, candidate) = (plugin(b"1"), plugin(b"2"));
    world.put_plugin(&stable, b"1").await.unwrap();
    world.put_plugin(&candidate, b"2").await.unwrap();
    Rollout {
        name: "form".to_owned(),
        number: 0,
        candidate: candidate.digest,
        stable: stable.digest,
        stage: RolloutStage::Canary,
        paused: false,
        step: 0,
        plan: RolloutPlan {
            mode: RolloutMode::Canary,
            steps: vec![1, 50, 100],
            step_comparisons: 10,
            every: Duration::from_mins(5),
            probation: Duration::from_hours(1),
            guards: true,
        },
        generation: 0,
        recorded_spent: Duration::ZERO,
        spent_at: Some(world.now()),
        started_by: "ana".to_owned(),
        started_at: world.now(),
        stage_at: world.now(),
        why: None,
    }
}

async fn begun(world: &World, new: &Rollout) -> Rollout {
    let (stored, is_new) = world.begin_rollout(new).await.unwrap();
    assert!(is_new, "none is open: {stored:?}");
    stored
}

async fn changed(world: &World, to: &Rollout) -> Rollout {
    let changed = world.change_rollout(to).await.unwrap();
    changed.expect("it is of this generation")
}

async fn in_stage(world: &World, of: &Rollout, stage: RolloutStage) -> Rollout {
    changed(world, &of.in_stage(stage, world.now(), None)).await
}

async fn all(world: &World) -> Vec<Rollout> {
    world.rollouts().await.unwrap()
}

fn report(world: &World, of: &Rollout, host: HostId, name: &str) -> RolloutReport {
    RolloutReport {
        name: of.name.clone(),
        number: of.number,
        host,
        host_name: name.to_owned(),
        generation: of.generation,
        error: None,
        at: world.now(),
        seen: json!({"served": 1}),
    }
}

async fn reports(world: &World, of: &Rollout) -> Vec<RolloutReport> {
    world.rollout_reports(&of.name, of.number).await.unwrap()
}

async fn reported(world: &World, of: &Rollout, host: HostId, name: &str) -> RolloutReport {
    let report = report(world, of, host, name);
    world.report_rollout(&report).await.unwrap();
    report
}

pub async fn a_rollout_begins_with_a_number_and_a_generation_and_comes_back_as_it_was(
    world: &World,
) {
    let new = new(world).await;
    assert!(all(world).await.is_empty());
    let stored = begun(world, &new).await;
    assert!(stored.number > 0 && stored.generation > 0, "{stored:?}");
    let expected = Rollout {
        number: stored.number,
        generation: stored.generation,
        ..new
    };
    assert_eq!(stored, expected);
    assert_eq!(all(world).await, [stored]);
}

pub async fn a_rollout_is_not_begun_while_one_of_its_name_is_open(world: &World) {
    let new = new(world).await;
    let mut open = begun(world, &new).await;
    for stage in [
        RolloutStage::Verified,
        RolloutStage::Shadow,
        RolloutStage::Canary,
        RolloutStage::Probation,
    ] {
        open = in_stage(world, &open, stage).await;
        let second = world.begin_rollout(&new).await.unwrap();
        assert_eq!(second, (open.clone(), false), "{stage:?}");
    }
    let name = "other".to_owned();
    let other = begun(world, &Rollout { name, ..new }).await;
    assert_ne!(other.number, open.number);
    assert_eq!(all(world).await, [open, other]);
}

pub async fn a_rollout_that_begins_after_another_forgets_its_reports(world: &World) {
    let new = new(world).await;
    let mut last = begun(world, &new).await;
    for stage in [
        RolloutStage::Done,
        RolloutStage::RolledBack,
        RolloutStage::Aborted,
    ] {
        let seen = reported(world, &last, HostId::new(START), "a").await;
        let end = last.in_stage(stage, world.now(), Some("it ended".to_owned()));
        let ended = changed(world, &end).await;
        assert_eq!(reports(world, &last).await, [seen], "an end forgets none");
        let next = begun(world, &new).await;
        assert!(next.number > last.number, "{next:?}");
        assert!(next.generation > ended.generation, "{next:?}");
        assert!(reports(world, &last).await.is_empty());
        assert_eq!(all(world).await, std::slice::from_ref(&next));
        last = next;
    }
}

pub async fn a_change_comes_back_with_a_new_generation(world: &World) {
    let first = begun(world, &new(world).await).await;
    world.advance(1).await;
    let change = Rollout {
        stage: RolloutStage::Probation,
        paused: true,
        step: 2,
        recorded_spent: Duration::from_secs(7),
        spent_at: Some(world.now()),
        stage_at: world.now(),
        why: Some("why".to_owned()),
        ..first.clone()
    };
    let stored = changed(world, &change).await;
    assert!(stored.generation > first.generation, "{stored:?}");
    let expected = Rollout {
        generation: stored.generation,
        ..change
    };
    assert_eq!(stored, expected);
    assert_eq!(all(world).await, [stored]);
}

pub async fn a_change_of_an_older_generation_changes_nothing(world: &World) {
    let first = begun(world, &new(world).await).await;
    let paused = Rollout {
        paused: true,
        ..first.clone()
    };
    let paused = changed(world, &paused).await;
    let late = first.in_stage(RolloutStage::Aborted, world.now(), None);
    assert_eq!(world.change_rollout(&late).await.unwrap(), None);
    assert_eq!(all(world).await, [paused]);
}

pub async fn a_version_is_activated_with_the_change_of_its_rollout_and_its_act_or_none_of_it(
    world: &World,
) {
    let (host, time) = (HostId::new(world.now()), Duration::from_secs(60));
    let first = begun(world, &new(world).await).await;
    let (stable, candidate) = (first.stable.clone(), first.candidate.clone());
    let stable_is_active = world.activate("form", &stable, world.now()).await;
    stable_is_active.unwrap();
    let promoted = |rollout: &Rollout| rollout.in_stage(RolloutStage::Probation, world.now(), None);
    let active = async || world.activations().await.unwrap()[0].digest.clone();
    let act = |what| {
        let by = AuditActor::service("service");
        Act::done(by, world.now(), (what, "form"), &json!({}))
    };
    let acts = async || {
        let rows = world.audit_after(0, 10).await.unwrap();
        rows.into_iter().map(|row| row.act).collect::<Vec<_>>()
    };
    let proposed = async || {
        let proposal = world.propose(host, "form", &candidate, time).await;
        proposal.unwrap().expect("the only one")
    };
    let promote = act(OperatorAct::PromoteRollout);

    let paused = Rollout {
        paused: true,
        ..first.clone()
    };
    let paused = changed(world, &paused).await;
    for is_shared in [true, false] {
        // The generation is that before the pause.
        let next = promoted(&first);
        let switched = if is_shared {
            let proposal = proposed().await;
            let flipped = world.flip_in_rollout(&proposal, (&next, &promote), world.now());
            let flipped = flipped.await.unwrap();
            world.withdraw(&proposal).await.unwrap();
            flipped
        } else {
            let store = &world.store;
            let switched = store.activate_in_rollout(&candidate, (&next, &promote), world.now());
            switched.await.unwrap()
        };
        assert_eq!(switched, None, "{is_shared}");
        assert_eq!(all(world).await, std::slice::from_ref(&paused));
        assert_eq!(active().await, stable);
        assert!(acts().await.is_empty());
    }

    let (proposal, next) = (proposed().await, promoted(&paused));
    let flipped = world.flip_in_rollout(&proposal, (&next, &promote), world.now());
    let (activation, in_probation) = flipped.await.unwrap().expect("both are as they were read");
    assert_eq!(activation.digest, candidate);
    assert_eq!(in_probation.stage, RolloutStage::Probation);
    assert_eq!(all(world).await, std::slice::from_ref(&in_probation));

    let ended = in_probation.in_stage(RolloutStage::Aborted, world.now(), None);
    assert_eq!(acts().await, ["promote-rollout"]);
    let (store, act_of) = (&world.store, act(OperatorAct::EndRollout));
    let switched = store.activate_in_rollout(&stable, (&ended, &act_of), world.now());
    let (activation, ended) = switched.await.unwrap().expect("as it was read");
    assert_eq!(activation.digest, stable);
    assert_eq!(active().await, stable);
    assert_eq!(all(world).await, [ended]);
    assert_eq!(acts().await, ["promote-rollout", "end-rollout"]);
}

pub async fn the_seconds_of_a_step_are_recorded_for_its_generation_only(world: &World) {
    let first = begun(world, &new(world).await).await;
    let spent = Rollout {
        recorded_spent: Duration::from_secs(42),
        spent_at: Some(world.now().plus_seconds(42)),
        ..first
    };
    world.spend_rollout(&spent).await.unwrap();
    assert_eq!(all(world).await, std::slice::from_ref(&spent));
    let next = in_stage(world, &spent, RolloutStage::Canary).await;
    world.spend_rollout(&spent).await.unwrap();
    assert_eq!(all(world).await, [next]);
}

pub async fn reports_are_replaced_by_host_and_listed_by_name(world: &World) {
    let rollout = begun(world, &new(world).await).await;
    let (one, two) = (HostId::new(START), HostId::new(START));
    let first = reported(world, &rollout, two, "b").await;
    let other = reported(world, &rollout, one, "a").await;
    world.advance(1).await;
    let again = RolloutReport {
        generation: rollout.generation + 1,
        error: Some("it is not in the store".to_owned()),
        at: world.now(),
        seen: json!({"served": 2, "tally": {"compared": 3}}),
        ..first
    };
    world.report_rollout(&again).await.unwrap();
    assert_eq!(reports(world, &rollout).await, [other, again]);
}

pub async fn only_the_newest_of_many_reports_are_kept(world: &World) {
    let rollout = begun(world, &new(world).await).await;
    let mut newest = Vec::new();
    for number in 0..=limits::ROLLOUT_REPORTS {
        let host = HostId::new(START);
        let mut one = report(world, &rollout, host, &format!("{number:04}"));
        one.at = START.plus_seconds(i64::from(number));
        world.report_rollout(&one).await.unwrap();
        newest.push(one);
    }
    newest.remove(0);
    assert_eq!(reports(world, &rollout).await, newest);
}

pub async fn reports_on_ended_rollouts_are_kept_as_long_as_deliveries(world: &World) {
    let new = new(world).await;
    let name = "open".to_owned();
    let other = Rollout {
        name,
        ..new.clone()
    };
    let open = begun(world, &other).await;
    let ended = begun(world, &new).await;
    for rollout in [&open, &ended] {
        reported(world, rollout, HostId::new(START), "a").await;
    }
    world.advance(DAY).await;
    let done = in_stage(world, &ended, RolloutStage::Done).await;
    world.advance(90 * DAY).await;
    assert_eq!(world.swept(100).await, 0, "on its last day it stays");
    world.advance(1).await;
    assert_eq!(world.swept(100).await, 1);
    assert!(reports(world, &ended).await.is_empty());
    assert_eq!(reports(world, &open).await.len(), 1);
    assert_eq!(all(world).await, [done, open]);
}
