//! The comparisons of a rollout, as this host counts them.

use super::state::{LiveRollout, Turn};
use crate::prelude::*;
use crate::verify::Part;
use crate::verify::compare::{ComparedOutcomes, ComparedSubject};
use crate::verify::cost::Cost;
use crate::verify::outcome::{Reason, VersionOutcome};
use leadhost_domain::difference::Subject;
use leadhost_telemetry::ComparisonResult;

/// A call that runs out of the short time of a request is the candidate's fault if the stable
/// version took less than one part in so many of that time just before.
pub const CONTROL: u32 = 4;

/// Counts a delivery whose lead the candidate fetches by a request that has failed, and the stable version
/// by another one.
pub fn fetch_failed(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    delivery: DeliveryId,
    connection: &ConnectionId,
) {
    if !rollout.observed.counts_at_once(Subject::Delivery(delivery)) {
        return;
    }
    let why = "its fetch failed, and the stable version makes another request".to_owned();
    let failed = VersionOutcome::Failed(Reason::Service(why));
    let of = (Subject::Delivery(delivery), connection);
    observe(pipeline, rollout, Part::Deliveries, of, &failed);
}

/// Adds the comparison of a delivery or a send with which the stable version succeeds.
pub fn observe(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    part: Part,
    (subject, connection): (Subject, &ConnectionId),
    candidate: &VersionOutcome,
) {
    let compared = ComparedSubject::new(subject, connection);
    let stable = VersionOutcome::Converted(Vec::new());
    let one = ComparedOutcomes::compare(&compared, &stable, candidate);
    let turn = (part, Turn::AtOnce);
    record(pipeline, rollout, turn, one, Cost::default());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    Stable,
    Candidate,
}

/// Adds the comparison of a delivery or a send to what this host has seen. Returns whether the
/// candidate does harm.
pub fn record(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    (part, turn): (Part, Turn),
    one: ComparedOutcomes,
    cost: Cost,
) -> bool {
    let one = rollout.observed.stored(one);
    let harmful = one.harm.harm() > 0;
    let policy = &pipeline.config.verify;
    let of = &rollout.rollout;
    let step = (of.stage == RolloutStage::Canary).then(|| of.percent());
    let added = rollout
        .observed
        .add((part, step, turn), one.clone(), cost, policy);
    // The rollout has ended here: the metrics have what its last report has.
    let Some(tripped) = added else {
        return harmful;
    };
    // A delivery whose sender passes both checks is counted by its conversion.
    if part != Part::Checks || harmful {
        let result = match (harmful, one.differences.same == one.differences.compared) {
            (true, _) => ComparisonResult::Harmful,
            (false, true) => ComparisonResult::Same,
            (false, false) => ComparisonResult::Different,
        };
        pipeline.metrics.rollouts.compared(
            &rollout.rollout.name,
            &rollout.candidate.digest,
            result,
            one.by_name(),
        );
    }
    let is_guarded = rollout.rollout.plan.guards && rollout.rollout.stage != RolloutStage::Shadow;
    if tripped && is_guarded && rollout.observed.stop() {
        pipeline.rollouts.hurry();
    }
    harmful
}
