//! Chooses the stored deliveries that a verification takes: the newest of each connection and outcome, so
//! that a rare connection is not lost among busy ones. Failed and parked deliveries take at most half of
//! the places, unless there are too few others: an outage must not hide what worked before. Deliveries in
//! quarantine are left out: their senders proved nothing.
//!
//! Deliveries that failed, are parked or have no route are found through the queue, however old they
//! are. No index leads to the other outcomes of a connection, so that a rare one is looked for among a
//! bounded number of its newest deliveries.

use std::cmp::Reverse;

use tokio::time::Instant;

use crate::prelude::*;
use leadhost_domain::difference::Coverage;
use leadhost_store::{ConvertedFilter, DeliveryCount, DeliveryFilter};

/// Outcomes that a better version may change for the better.
const FAILED: [DeliveryStatus; 2] = [DeliveryStatus::Failed, DeliveryStatus::Parked];

const DONE: [DeliveryStatus; 5] = [
    DeliveryStatus::Converted,
    DeliveryStatus::Rejected,
    DeliveryStatus::Unrouted,
    DeliveryStatus::Duplicate,
    DeliveryStatus::Ignored,
];

#[derive(Clone, Debug)]
pub struct Choice {
    pub last: u32,
    pub since: Option<Micros>,
    pub failed: bool,
    pub converted_by: Option<Digest>,
}

/// The chosen deliveries, failed and other ones in turn, and what they were chosen from.
#[derive(Debug, Default)]
pub struct Sample {
    pub chosen: Vec<DeliveryId>,
    /// Nothing of it is compared yet.
    pub coverage: Coverage,
}

/// Chooses deliveries of the connections that use the plugin. Connections that are not
/// reached before the deadline are not covered.
pub async fn choose(
    pipeline: &Pipeline,
    plugin: &str,
    choice: &Choice,
    deadline: Instant,
) -> Result<Sample, StoreError> {
    let connections = pipeline.connections_using(plugin).await?;
    let (mut failed, mut done) = (Vec::new(), Vec::new());
    let most = usize::try_from(choice.last).unwrap_or(usize::MAX);
    let mut coverage = Coverage {
        connections: connections.len(),
        ..Coverage::default()
    };
    let mut left = limits::VERIFY_COUNTED;
    let rows = looked_at(connections.len());
    let mut covered = 0;
    for connection in connections.iter().take(limits::VERIFY_CONNECTIONS) {
        if Instant::now() > deadline {
            break;
        }
        let (mut found, mut is_whole) = (0, true);
        for status in FAILED {
            let newest = newest(pipeline, connection, Some(status), choice).await?;
            found += newest.len();
            is_whole &= newest.len() < most;
            failed.push(ids(newest));
        }
        if !choice.failed {
            let newest = newest(pipeline, connection, None, choice).await?;
            found += newest.len();
            let has_all = newest.len() < most;
            is_whole &= has_all;
            let older = if has_all {
                Vec::new()
            } else {
                newest_of_each_outcome(pipeline, connection, choice, rows).await?
            };
            done.extend(by_outcome(newest.into_iter().chain(older).collect()));
        }
        let found = found as u64;
        if is_whole {
            coverage.total += found;
        } else {
            let counted = count(pipeline, connection, choice, left).await?;
            // Some were stored or swept meanwhile.
            coverage.total += counted.found.max(found);
            coverage.total_is_least |= counted.looked >= left.into();
            left = left.saturating_sub(u32::try_from(counted.looked).unwrap_or(u32::MAX));
        }
        covered += 1;
    }
    coverage.total_is_least |= covered < connections.len();
    let done = in_turn(done, most);
    let failed = in_turn(
        failed,
        most.saturating_sub(done.len()).max(most.div_ceil(2)),
    );
    let chosen = in_turn(vec![failed, done], most);
    coverage.chosen = chosen.len() as u64;
    coverage.not_reached = coverage.chosen;
    coverage.connections_not_covered = coverage.connections - covered;
    Ok(Sample { chosen, coverage })
}

/// Returns the newest deliveries of a connection, at most as many as are chosen in total.
async fn newest(
    pipeline: &Pipeline,
    connection: &Connection,
    status: Option<DeliveryStatus>,
    choice: &Choice,
) -> Result<Vec<(DeliveryId, DeliveryStatus)>, StoreError> {
    let filter = DeliveryFilter {
        workspace: Some(connection.workspace),
        connection: Some(connection.id.clone()),
        status,
        converted: status.is_none(),
        since: choice.since,
        version: choice.converted_by.as_ref().map(|digest| digest.0.clone()),
        limit: choice.last,
        ..DeliveryFilter::default()
    };
    let found = pipeline.store.deliveries(&filter).await?;
    Ok(found.into_iter().map(|one| (one.id, one.status)).collect())
}

/// Returns the number of deliveries of each connection among which rare outcomes are looked for.
fn looked_at(connections: usize) -> u32 {
    let connections = connections.clamp(1, limits::VERIFY_CONNECTIONS);
    let connections = u32::try_from(connections).unwrap_or(u32::MAX);
    (limits::VERIFY_LOOKED / connections).min(limits::VERIFY_LOOKED_EACH)
}

/// Returns the newest deliveries of each outcome of a conversion that has ended, also of those that the
/// newest deliveries of the connection do not have: among its newest `rows`, and those without a route
/// among all.
async fn newest_of_each_outcome(
    pipeline: &Pipeline,
    connection: &Connection,
    choice: &Choice,
    rows: u32,
) -> Result<Vec<(DeliveryId, DeliveryStatus)>, StoreError> {
    let filter = converted(connection, choice);
    let store = &pipeline.store;
    let mut found = store.newest_of_outcomes(&filter, rows, choice.last).await?;
    found.extend(newest(pipeline, connection, Some(DeliveryStatus::Unrouted), choice).await?);
    Ok(found)
}

/// Counts the deliveries of a connection that could be chosen, among its newest `rows`.
async fn count(
    pipeline: &Pipeline,
    connection: &Connection,
    choice: &Choice,
    rows: u32,
) -> Result<DeliveryCount, StoreError> {
    let filter = converted(connection, choice);
    pipeline.store.count_deliveries(&filter, rows).await
}

fn converted(connection: &Connection, choice: &Choice) -> ConvertedFilter {
    ConvertedFilter {
        workspace: connection.workspace,
        connection: connection.id.clone(),
        failed: choice.failed,
        since: choice.since,
        digest: choice.converted_by.clone(),
    }
}

fn ids(found: impl IntoIterator<Item = (DeliveryId, DeliveryStatus)>) -> Vec<DeliveryId> {
    found.into_iter().map(|(id, _)| id).collect()
}

fn by_outcome(mut found: Vec<(DeliveryId, DeliveryStatus)>) -> [Vec<DeliveryId>; DONE.len()] {
    found.sort_by_key(|one| Reverse(one.0));
    found.dedup_by_key(|one| one.0);
    DONE.map(|status| ids(found.iter().filter(|one| one.1 == status).copied()))
}

/// Takes at most `most`, one of each stratum in turn, the newest first.
fn in_turn(strata: Vec<Vec<DeliveryId>>, most: usize) -> Vec<DeliveryId> {
    let mut strata: Vec<_> = strata.into_iter().map(Vec::into_iter).collect();
    let mut chosen = Vec::new();
    while chosen.len() < most && !strata.is_empty() {
        strata.retain_mut(|stratum| match stratum.next() {
            Some(id) => {
                chosen.push(id);
                true
            }
            None => false,
        });
    }
    chosen.truncate(most);
    chosen
}
