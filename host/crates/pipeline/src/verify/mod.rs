//! Compares a version with the one that serves: both convert the same stored deliveries now,
//! and nothing that they return has an effect. Fetched leads are completed from the stored
//! answers. For adapters, kept sends are compared too ([`sends`]). The calls run in the lane of
//! trials, so that live deliveries keep their share of the threads.

mod capture;
pub mod compare;
pub mod composed;
pub mod conversion;
pub mod cost;
mod local;
pub mod outcome;
mod pace;
mod policy;
pub mod progress;
mod sample;
pub mod sends;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::Instant;

pub use self::capture::{Capture, CapturedAnswer, capture};
pub use self::compare::{DifferenceGroup, Example, Subject, Tally};
pub use self::local::{CapturedDelivery, outcome_of};
pub use self::policy::{drift, drift_of_checks, drift_of_cost, drift_of_sends};
pub use self::sample::{Choice, Total};

use self::compare::{AnsweredVersions, ComparedOutcomes, ComparedSubject, GainedValues, Memory};
use self::conversion::{Both, Compared, convert_and_complete};
use self::cost::{Costs, ProcessorTimes};
use self::pace::Pace;
use self::sample::Sampled;
use crate::offload;
use crate::state::Pipeline;
use leadhost_domain::id::DeliveryId;
use leadhost_domain::limits;
use leadhost_plugin::Loaded;
use leadhost_store::StoreError;

/// The result of a verification.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Connections that use the plugin.
    pub connections: usize,
    /// Connections without a chosen delivery, because there are too many connections or the time
    /// was up.
    pub connections_not_covered: usize,
    /// The stored deliveries from which some were chosen.
    pub total: Total,
    pub deliveries: Covered,
    /// None for a converter.
    pub sends: Covered,
    /// The costs of both versions for the deliveries that both converted.
    pub costs: Costs,
    pub took: Duration,
}

/// At least one in this many of the chosen deliveries or sends has to be compared.
const TENTH: u64 = 10;

/// The coverage of the comparison of deliveries, or of sends.
#[derive(Debug, Default)]
pub struct Covered {
    /// Those that were chosen.
    pub chosen: u64,
    /// Chosen ones without a body any more, after an erasure or by their age.
    pub emptied: u64,
    /// Chosen ones on which the host could not call the versions just now.
    pub not_tried: u64,
    /// Chosen ones that were not reached in time.
    pub not_reached: u64,
    pub tally: Tally,
    gained: GainedValues,
}

impl Covered {
    fn new(chosen: usize) -> Self {
        Self {
            chosen: chosen as u64,
            not_reached: chosen as u64,
            ..Self::default()
        }
    }

    fn add(&mut self, compared: Compared) {
        self.not_reached = self.not_reached.saturating_sub(1);
        match compared {
            Compared::Emptied => self.emptied += 1,
            Compared::NotTried => self.not_tried += 1,
            Compared::Both(both) => {
                let shown = both.comparison.into_shown(&mut self.gained);
                self.tally.merge(shown);
            }
        }
    }

    /// Returns whether too little was compared to say anything: nothing, or less than a tenth of what
    /// was chosen.
    pub fn is_too_little(&self) -> bool {
        let comparable = self.chosen - self.emptied;
        comparable > 0 && self.tally.compared < comparable.div_ceil(TENTH)
    }
}

/// Compares both versions on the chosen deliveries and sends, for at most `budget`.
pub async fn run(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    choice: Choice,
    budget: Duration,
) -> Result<VerifyReport, StoreError> {
    let began = Instant::now();
    let name = &candidate.description.name;
    let deadline = began + budget;
    let now = pipeline.core.clock.now();
    let progress = pipeline
        .verifying
        .begin(name, &candidate.digest, now, deadline);
    // A part of the time at most: the rest is for the conversions.
    let sample = sample::choose(pipeline, name, &choice, began + budget / 3).await?;
    let mut report = VerifyReport {
        connections: sample.connections,
        connections_not_covered: sample.not_covered,
        total: sample.total,
        deliveries: Covered::new(sample.deliveries),
        sends: Covered::new(sample.sends),
        costs: Costs::default(),
        took: Duration::ZERO,
    };
    progress.chose(sample.chosen.len());
    let pace = &Pace::new(&pipeline.core.plugins, sample.chosen.len(), deadline);
    let comparisons = sample.chosen.into_iter().map(|chosen| async move {
        let began = Instant::now();
        let compared = match chosen {
            Sampled::Delivery(id) => one(pipeline, serving, candidate, id).await,
            Sampled::Send(workspace, message) => {
                sends::one(pipeline, serving, candidate, (workspace, message)).await
            }
        };
        pace.give_way(began).await;
        (chosen, compared)
    });
    // Each holds one body: the memory is bounded for any number of deliveries.
    let mut done = futures_util::stream::iter(comparisons).buffer_unordered(limits::VERIFY_AT_ONCE);
    while let Ok(Some((chosen, compared))) = tokio::time::timeout_at(deadline, done.next()).await {
        match chosen {
            Sampled::Delivery(_) => {
                let compared = compared?;
                if let Compared::Both(both) = &compared {
                    report.costs.add(both.processor, both.memory);
                }
                report.deliveries.add(compared);
            }
            Sampled::Send(..) => report.sends.add(compared?),
        }
        progress.one_done();
    }
    drop(done);
    report.took = began.elapsed();
    Ok(report)
}

/// Converts one stored delivery with both versions.
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
    let serving = convert_and_complete(pipeline, serving, &live, &request).await?;
    let candidate = convert_and_complete(pipeline, candidate, &live, &request).await?;
    let (Some(serving), Some(candidate)) = (serving, candidate) else {
        return Ok(Compared::NotTried);
    };
    let connection = request.connection;
    let memory = (serving.memory > 0 && candidate.memory > 0).then_some(Memory {
        serving: serving.memory,
        candidate: candidate.memory,
    });
    let processor = memory.map(|_| ProcessorTimes {
        serving: serving.processor,
        candidate: candidate.processor,
    });
    let is_large = serving.is_large || candidate.is_large;
    let answered = AnsweredVersions {
        serving: !serving.answers.is_empty(),
        candidate: !candidate.answers.is_empty(),
    };
    let comparison = offload::run(is_large, move || {
        let compared = ComparedSubject {
            subject: Subject::Delivery(id),
            connection: &connection,
            answered,
        };
        ComparedOutcomes::compare(&compared, &serving.outcome, &candidate.outcome)
    });
    Ok(Compared::Both(Box::new(Both {
        comparison: comparison.await,
        memory,
        processor,
    })))
}
