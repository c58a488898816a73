//! Compares the sender checks of both versions while a rollout is open: a sender that passes the stable
//! version's and fails the candidate's would be refused by the candidate. The checks of the active version
//! decide. The others run afterwards, and the sender does not wait for them.

use super::observed::observe;
use super::state::LiveRollout;
use crate::check::CheckError;
use crate::failure::ConvertError;
use crate::offload;
use crate::prelude::*;
use crate::proof::{self, Unmasked};
use crate::verify::Part;
use crate::verify::outcome::{Reason, VersionOutcome};
use leadhost_domain::difference::Subject;

/// Compares the result of the active version's checks of a delivery with the result of the rollout's other
/// version, if their checks differ. Nothing waits for it.
pub fn compare(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    active: &Loaded,
    came: &Unmasked,
    checked: &Result<(), CheckError>,
) {
    let Some(rollout) = pipeline.rollouts.get(&live.connection.plugin) else {
        return;
    };
    let is_candidate = active.digest == rollout.candidate.digest;
    // A sender that fails the checks of the stable version shows nothing.
    if !is_candidate && checked.is_err() {
        return;
    }
    let other = if is_candidate {
        &rollout.stable
    } else {
        &rollout.candidate
    };
    let declared = &pipeline.connections.declared;
    let Some(own) = declared.get(&live.connection, &active.digest) else {
        return;
    };
    let Some(theirs) = declared.get(&live.connection, &other.digest) else {
        ask(pipeline, live, &rollout, other, came.delivery.id);
        return;
    };
    if own.checks == theirs.checks {
        return;
    }
    let (own, came) = (checked.clone(), came.clone());
    let (task_pipeline, live) = (Arc::clone(pipeline), Arc::clone(live));
    drop(pipeline.spawn(async move {
        let is_long = offload::is_long(&came.delivery.body);
        let check = move || {
            let theirs = came.verify(&live.combined(&theirs), &live);
            (came, theirs)
        };
        let (came, theirs) = offload::run(is_long, check).await;
        let (stable, candidate) = if is_candidate {
            (theirs, own)
        } else {
            (own, theirs)
        };
        if stable.is_ok() {
            let after = match candidate {
                Ok(()) => VersionOutcome::Converted(Vec::new()),
                Err(why) => VersionOutcome::Refused(Reason::Service(why.to_string())),
            };
            let of = (
                Subject::Delivery(came.delivery.id),
                &came.delivery.connection,
            );
            observe(&task_pipeline, &rollout, Part::Checks, of, &after);
        }
    }));
}

/// Asks the other version for its checks, in the lane of trials: later deliveries are compared. A
/// candidate that cannot say them fails.
fn ask(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    rollout: &Arc<LiveRollout>,
    other: &Arc<Loaded>,
    delivery: DeliveryId,
) {
    if !rollout.observed.begin_asking() {
        return;
    }
    let (task_pipeline, live) = (Arc::clone(pipeline), Arc::clone(live));
    let (rollout, other) = (Arc::clone(rollout), Arc::clone(other));
    drop(pipeline.spawn(async move {
        let asked = proof::declared(&task_pipeline, &live, &other, CallBudget::Trial).await;
        rollout.observed.end_asking();
        let is_fault = match &asked {
            Err(ConvertError::Call(error)) => error.is_fault(),
            Err(ConvertError::Configuration(_)) => true,
            Ok(_) | Err(ConvertError::Connection(_) | ConvertError::Undecoded(_)) => false,
        };
        if let Err(error) = asked
            && is_fault
            && other.digest == rollout.candidate.digest
        {
            let of = (Subject::Delivery(delivery), &live.connection.id);
            let after = VersionOutcome::Failed(Reason::from(&error));
            observe(&task_pipeline, &rollout, Part::Checks, of, &after);
        }
    }));
}
