//! Compares a version with the one that serves: both convert the same stored deliveries now,
//! and nothing that they return has an effect. Fetched leads are completed from the stored
//! answers. The conversions run in the lane of trials, so that live deliveries keep their
//! share of the threads.

mod compare;
mod sample;
mod seen;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

pub use self::compare::{Change, Example, Group, Tally};
pub use self::sample::Choice;

use self::compare::Whose;
use self::seen::Seen;
use crate::domain::id::DeliveryId;
use crate::limits;
use crate::pipeline::convert::convert;
use crate::pipeline::replay_answers;
use crate::pipeline::state::Pipeline;
use crate::plugin::{Budget, Loaded};
use crate::store::{DeliveryDetail, StoreError};

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Report {
    /// Deliveries that were chosen.
    pub chosen: u64,
    /// Connections that use the plugin.
    pub connections: usize,
    /// Connections of which no delivery was chosen, because there are too many connections.
    pub connections_not_covered: usize,
    /// Chosen deliveries without a body any more, after an erasure or by their age.
    pub emptied: u64,
    /// Chosen deliveries that the host could not convert just now.
    pub not_tried: u64,
    /// Chosen deliveries that were not reached in time.
    pub not_reached: u64,
    pub tally: Tally,
    pub took: Duration,
}

/// Converts the chosen deliveries with both versions, for at most `budget`.
///
/// # Errors
///
/// [`StoreError`] if the store cannot be read.
pub async fn run(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    choice: Choice,
    budget: Duration,
) -> Result<Report, StoreError> {
    let began = Instant::now();
    let name = &candidate.description.name;
    let sample = sample::choose(pipeline, name, choice).await?;
    let mut report = Report {
        chosen: sample.deliveries.len() as u64,
        connections: sample.connections,
        connections_not_covered: sample.not_covered,
        ..Report::default()
    };
    let mut reached = 0;
    let conversions = sample
        .deliveries
        .into_iter()
        .map(|id| one(pipeline, serving, candidate, id));
    // Each holds one body: the memory is bounded whatever the number of deliveries.
    let mut done = futures_util::stream::iter(conversions).buffer_unordered(limits::VERIFY_AT_ONCE);
    let deadline = began + budget;
    while let Ok(Some(compared)) = tokio::time::timeout_at(deadline, done.next()).await {
        reached += 1;
        match compared? {
            Compared::Emptied => report.emptied += 1,
            Compared::NotTried => report.not_tried += 1,
            Compared::Both(both) => {
                let whose = Whose {
                    delivery: both.delivery.summary.id,
                    connection: &both.delivery.summary.connection_id,
                };
                report.tally.add(&whose, &both.serving, &both.candidate);
            }
        }
    }
    drop(done);
    report.not_reached = report.chosen - reached;
    report.took = began.elapsed();
    Ok(report)
}

enum Compared {
    Emptied,
    NotTried,
    Both(Box<Both>),
}

struct Both {
    delivery: DeliveryDetail,
    serving: Seen,
    candidate: Seen,
}

async fn one(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    id: DeliveryId,
) -> Result<Compared, StoreError> {
    // It may have been swept or erased since it was chosen.
    let Some(delivery) = pipeline.core.store.delivery(id).await? else {
        return Ok(Compared::Emptied);
    };
    if delivery.request.is_emptied() {
        return Ok(Compared::Emptied);
    }
    let serving = seen(pipeline, serving, &delivery).await?;
    let candidate = seen(pipeline, candidate, &delivery).await?;
    if [&serving, &candidate]
        .iter()
        .any(|seen| matches!(seen, Seen::NotTried(_)))
    {
        return Ok(Compared::NotTried);
    }
    Ok(Compared::Both(Box::new(Both {
        delivery,
        serving,
        candidate,
    })))
}

/// Returns what a version makes of a delivery, fetches completed as far as there are answers.
async fn seen(
    pipeline: &Arc<Pipeline>,
    plugin: &Arc<Loaded>,
    delivery: &DeliveryDetail,
) -> Result<Seen, StoreError> {
    let request = &delivery.request;
    let live = match pipeline.connections.get(&request.connection).await {
        Ok(Some(live)) => live,
        Ok(None) => return Ok(Seen::NotTried("its connection no longer exists".to_owned())),
        Err(error) => return Ok(Seen::NotTried(error.to_string())),
    };
    let mut converted = convert(pipeline, &live, plugin, request, Budget::Trial).await;
    if let Ok(converted) = &mut converted {
        let result = &mut converted.result;
        let completed =
            replay_answers::complete_with(pipeline, plugin, request, result, Budget::Trial).await;
        match completed {
            Ok(()) => {}
            Err(replay_answers::ReplayAnswerError::Store(error)) => return Err(error),
            Err(error) => return Ok(Seen::Failed(error.to_string())),
        }
    }
    Ok(Seen::from_conversion(converted))
}
