//! Counts the flaws of deliveries as they were served, for the guard of the probation against the hour
//! before ([`hour`](super::hour)).

use super::state::LiveRollout;
use crate::connections::Live;
use crate::convert::Converted;
use crate::failure::ConvertError;
use crate::state::Pipeline;
use crate::verify::compare::ComparedOutcomes;
use crate::verify::flaws::Flaws;
use leadhost_domain::rollout::RolloutStage;
use leadhost_plugin::{CallError, Loaded};
use leadhost_store::ItemResult;

/// Counts a delivery that was converted for the first time. `stable`: the flaws of the stable version's
/// result, if that of another version was chosen. Returns the flaws of the chosen result, for the comparison with
/// the version before; `None` if they are not known.
pub fn converted(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Loaded,
    (converted, stable): (&Result<Converted, ConvertError>, Option<Flaws>),
) -> Option<Flaws> {
    let served = flaws(converted);
    let rollout = pipeline.rollouts.get(&live.connection.plugin);
    let stage = rollout.as_ref().map(|rollout| rollout.rollout.stage);
    // The hour before an activation is that of one version: not that of a candidate.
    let of_hour = match (&rollout, stable) {
        _ if stage == Some(RolloutStage::Probation) => None,
        (Some(rollout), Some(stable)) => Some((&rollout.stable.digest, stable)),
        (Some(rollout), None) if plugin.digest == rollout.candidate.digest => None,
        _ => served.map(|served| (&plugin.digest, served)),
    };
    if let Some((digest, flaws)) = of_hour {
        let now = pipeline.core.clock.now();
        pipeline.rollouts.hour.add(live, digest, &flaws, now);
    }
    let served = served?;
    if let Some(rollout) = rollout
        && stage == Some(RolloutStage::Probation)
    {
        let connection = &live.connection.id;
        rollout
            .observed
            .with_hour(|hour| hour.add(connection, &served));
    }
    Some(served)
}

/// Adds what the version before the candidate makes of a delivery that was served with these flaws.
pub fn explain(rollout: &LiveRollout, compared: &ComparedOutcomes, served: &Flaws) {
    if rollout.rollout.stage != RolloutStage::Probation {
        return;
    }
    rollout.observed.with_hour(|hour| {
        for connection in compared.connections() {
            hour.explain(connection, served, &compared.stable_flaws());
        }
    });
}

/// Returns the flaws of a conversion. `None`: no version is at fault, or its leads are not known yet.
pub fn flaws(converted: &Result<Converted, ConvertError>) -> Option<Flaws> {
    match converted {
        Ok(converted) if converted.problem.is_some() => Some(Flaws::refused()),
        Ok(converted) if converted.result.has_fetch() => None,
        Ok(converted) => {
            let items = converted.result.items.iter();
            let leads = items.filter_map(|item| match &item.result {
                ItemResult::Lead(lead) => Some([
                    lead.name.is_some(),
                    !lead.phones.is_empty(),
                    !lead.emails.is_empty(),
                    lead.external_id.is_some(),
                    !lead.products.is_empty(),
                ]),
                _ => None,
            });
            Some(Flaws::converted(leads))
        }
        Err(ConvertError::Call(error)) => {
            let is_failed = error.is_fault() || matches!(error, CallError::CircuitOpen { .. });
            is_failed.then(Flaws::failed)
        }
        Err(ConvertError::Configuration(_)) => Some(Flaws::failed()),
        Err(ConvertError::Connection(_) | ConvertError::Undecoded(_)) => None,
    }
}
