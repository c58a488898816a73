//! One delivery under both versions.

use super::compare::ComparedOutcomes;
use super::cost::Cost;
use super::outcome::{Reason, VersionOutcome};
use crate::convert::{Converted, convert};
use crate::offload;
use crate::prelude::*;
use crate::replay_answers::{self, ReplayAnswerError, UsedAnswer};

pub enum Compared {
    /// Its body is gone, after an erasure or by its age.
    Emptied,
    /// The host could not make a call just now.
    NotTried,
    Both(Box<Both>),
}

pub struct Both {
    pub comparison: ComparedOutcomes,
    /// Known if both converted it.
    pub cost: Cost,
}

pub struct MeasuredOutcome {
    pub outcome: VersionOutcome,
    pub answers: Vec<UsedAnswer>,
    pub memory: u64,
    pub processor: Duration,
    pub is_large: bool,
}

/// Returns the result of a version for a delivery, with fetches completed as far as there are
/// answers. `None`: the host could not make a call.
pub async fn convert_and_complete(
    pipeline: &Arc<Pipeline>,
    plugin: &Arc<Loaded>,
    live: &Arc<Live>,
    request: &NewDelivery,
) -> Result<Option<MeasuredOutcome>, StoreError> {
    let mut converted = convert(pipeline, live, plugin, request, CallBudget::Trial).await;
    let mut answers = Vec::new();
    if let Ok(converted) = &mut converted {
        let result = &mut converted.result;
        let completed = replay_answers::complete_with(
            pipeline,
            plugin,
            request,
            result,
            Vec::new(),
            CallBudget::Trial,
        )
        .await;
        match completed {
            Ok(used) => answers = used,
            Err(ReplayAnswerError::Store(error)) => return Err(error),
            Err(error) if error.is_of_the_host() => return Ok(None),
            Err(error) => {
                return Ok(Some(MeasuredOutcome {
                    outcome: VersionOutcome::Failed(Reason::from(&error)),
                    answers,
                    memory: 0,
                    processor: Duration::ZERO,
                    is_large: false,
                }));
            }
        }
    }
    let (memory, processor) = converted
        .as_ref()
        .map_or((0, Duration::ZERO), |one| (one.memory, one.processor));
    let is_large = Converted::is_large(&converted, request);
    let outcome = offload::run(is_large, move || Converted::outcome(&converted)).await;
    Ok(outcome.map(|outcome| MeasuredOutcome {
        outcome,
        answers,
        memory,
        processor,
        is_large,
    }))
}
