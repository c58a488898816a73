//! Compares a version with the one that serves: both convert the same stored deliveries now,
//! and nothing that they return has an effect. Fetched leads are completed from the stored
//! answers. The conversions run in the lane of trials, so that live deliveries keep their
//! share of the threads.

pub mod compare;
mod policy;
mod sample;
pub mod seen;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

pub use self::compare::{Example, Group, Tally};
pub use self::policy::drift;
pub use self::sample::Choice;

use self::compare::Whose;
use self::seen::Seen;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::limits;
use crate::pipeline::connections::Live;
use crate::pipeline::convert::{Converted, convert};
use crate::pipeline::replay_answers::{self, CompletionError, ReplayAnswerError};
use crate::pipeline::state::Pipeline;
use crate::plugin::{Budget, CallError, Loaded};
use crate::store::{NewDelivery, StoreError};

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Report {
    /// Deliveries that were chosen.
    pub chosen: u64,
    /// Connections that use the plugin.
    pub connections: usize,
    /// Connections of which no delivery was chosen, because there are too many connections or the
    /// time was up.
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
    let deadline = began + budget;
    // A part of the time at most: the rest is for the conversions.
    let sample = sample::choose(pipeline, name, &choice, began + budget / 3).await?;
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
    while let Ok(Some(compared)) = tokio::time::timeout_at(deadline, done.next()).await {
        reached += 1;
        match compared? {
            Compared::Emptied => report.emptied += 1,
            Compared::NotTried => report.not_tried += 1,
            Compared::Both(both) => {
                let whose = Whose {
                    delivery: both.delivery,
                    connection: &both.connection,
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

/// One delivery, converted by both versions.
pub enum Compared {
    /// Its body is gone, after an erasure or by its age.
    Emptied,
    /// The host could not convert it just now.
    NotTried,
    Both(Box<Both>),
}

/// What both versions make of a delivery.
pub struct Both {
    pub delivery: DeliveryId,
    pub connection: ConnectionId,
    pub serving: Seen,
    pub candidate: Seen,
}

/// Converts one stored delivery with both versions.
///
/// # Errors
///
/// [`StoreError`] if the store cannot be read.
pub async fn one(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    id: DeliveryId,
) -> Result<Compared, StoreError> {
    // It may have been swept or erased since it was chosen.
    let Some(delivery) = pipeline.core.store.delivery(id).await? else {
        return Ok(Compared::Emptied);
    };
    let request = delivery.request;
    if request.is_emptied() {
        return Ok(Compared::Emptied);
    }
    let Ok(Some(live)) = pipeline.connections.get(&request.connection).await else {
        return Ok(Compared::NotTried);
    };
    let serving = seen(pipeline, serving, &live, &request).await?;
    let candidate = seen(pipeline, candidate, &live, &request).await?;
    let (Some(serving), Some(candidate)) = (serving, candidate) else {
        return Ok(Compared::NotTried);
    };
    Ok(Compared::Both(Box::new(Both {
        delivery: id,
        connection: request.connection,
        serving,
        candidate,
    })))
}

/// Returns the result of a version for a delivery, with fetches completed as far as there are
/// answers. `None`: the host could not make a call.
async fn seen(
    pipeline: &Arc<Pipeline>,
    plugin: &Arc<Loaded>,
    live: &Arc<Live>,
    request: &NewDelivery,
) -> Result<Option<Seen>, StoreError> {
    let mut converted = convert(pipeline, live, plugin, request, Budget::Trial).await;
    if let Ok(converted) = &mut converted {
        let result = &mut converted.result;
        let completed =
            replay_answers::complete_with(pipeline, plugin, request, result, Budget::Trial).await;
        match completed {
            Ok(()) => {}
            Err(ReplayAnswerError::Store(error)) => return Err(error),
            Err(ReplayAnswerError::Completion {
                source:
                    CompletionError::Call(CallError::Busy | CallError::ShuttingDown)
                    | CompletionError::NoConnection
                    | CompletionError::Connection(_),
                ..
            }) => return Ok(None),
            Err(error) => return Ok(Some(Seen::Failed(error.to_string()))),
        }
    }
    Ok(Converted::seen(&converted))
}
