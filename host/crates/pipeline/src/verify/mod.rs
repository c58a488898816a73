//! Compares a version with the one that serves: both convert the same stored deliveries now,
//! and nothing that they return has an effect. Fetched leads are completed from the stored
//! answers. The calls run in the lane of trials, so that live deliveries keep their share of the
//! threads.

mod capture;
pub mod compare;
pub mod composed;
pub mod conversion;
pub mod cost;
mod local;
pub mod outcome;
mod pace;
pub mod policy;
pub mod progress;
mod sample;

use futures_util::StreamExt as _;
use tokio::time::Instant;

pub use self::capture::{Capture, CapturedAnswer, capture};
pub use self::compare::Tally;
pub use self::local::{CapturedDelivery, outcome_of};
pub use self::policy::{Part, drift, drift_of_cost};
pub use self::sample::Choice;

use self::compare::{ComparedOutcomes, ComparedSubject, GainedValues};
use self::conversion::{Both, Compared, convert_and_complete};
use self::cost::{Cost, Costs, OfBoth};
use self::pace::Pace;
use crate::offload;
use crate::prelude::*;
use leadhost_domain::difference::{Coverage, Subject};

#[derive(Debug, Default)]
pub struct VerifyReport {
    pub coverage: Coverage,
    pub tally: Tally,
    gained: GainedValues,
    /// The costs of both versions for the deliveries that both converted.
    pub costs: Costs,
    pub took: Duration,
}

/// At least one in this many of the chosen deliveries has to be compared.
const TENTH: u64 = 10;

impl VerifyReport {
    fn add(&mut self, compared: Compared) {
        let coverage = &mut self.coverage;
        coverage.not_reached = coverage.not_reached.saturating_sub(1);
        match compared {
            Compared::Emptied => coverage.emptied += 1,
            Compared::NotTried => coverage.not_tried += 1,
            Compared::Both(both) => {
                self.costs.add(both.cost);
                let shown = both.comparison.into_shown(&mut self.gained);
                self.tally.merge(shown);
            }
        }
    }

    /// Returns whether too little was compared to say anything: nothing, or less than a tenth of what
    /// was chosen.
    pub fn is_too_little(&self) -> bool {
        let comparable = self.coverage.chosen - self.coverage.emptied;
        comparable > 0 && self.tally.differences.compared < comparable.div_ceil(TENTH)
    }
}

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
    let now = pipeline.clock.now();
    let progress = pipeline
        .verifying
        .begin(name, &candidate.digest, now, deadline);
    // A part of the time at most: the rest is for the conversions.
    let sample = sample::choose(pipeline, name, &choice, began + budget / 3).await?;
    let mut report = VerifyReport {
        coverage: sample.coverage,
        ..VerifyReport::default()
    };
    progress.chose(sample.chosen.len());
    let pace = &Pace::new(&pipeline.plugins, sample.chosen.len(), deadline);
    let comparisons = sample.chosen.into_iter().map(|id| async move {
        let began = Instant::now();
        let compared = one(pipeline, serving, candidate, id).await;
        pace.give_way(began).await;
        compared
    });
    // Each holds one body: the memory is bounded for any number of deliveries.
    let mut done = futures_util::stream::iter(comparisons).buffer_unordered(limits::VERIFY_AT_ONCE);
    while let Ok(Some(compared)) = tokio::time::timeout_at(deadline, done.next()).await {
        report.add(compared?);
        progress.one_done();
    }
    drop(done);
    report.took = began.elapsed();
    Ok(report)
}

pub async fn one(
    pipeline: &Arc<Pipeline>,
    serving: &Arc<Loaded>,
    candidate: &Arc<Loaded>,
    id: DeliveryId,
) -> Result<Compared, StoreError> {
    // It may have been swept or erased since it was chosen.
    let Some(delivery) = pipeline.store.delivery(id).await? else {
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
    let is_measured = serving.memory > 0 && candidate.memory > 0;
    let cost = Cost {
        took: None,
        processor: is_measured.then_some(OfBoth {
            stable: serving.processor,
            candidate: candidate.processor,
        }),
        memory: is_measured.then_some(OfBoth {
            stable: serving.memory,
            candidate: candidate.memory,
        }),
    };
    let is_large = serving.is_large || candidate.is_large;
    let answered = OfBoth {
        stable: !serving.answers.is_empty(),
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
        cost,
    })))
}
