//! Which stored deliveries a verification converts: all failed and parked ones, and of each
//! connection and outcome the newest, so that a rare connection is not lost among busy ones.

use crate::domain::connection::Connection;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::DeliveryId;
use crate::domain::time::Micros;
use crate::limits;
use crate::pipeline::state::Pipeline;
use crate::store::{DeliveryFilter, StoreError};

/// Outcomes that a better version may change for the better: these come first, and all of them.
const FAILED: [DeliveryStatus; 2] = [DeliveryStatus::Failed, DeliveryStatus::Parked];

/// The other outcomes of a conversion.
const DONE: [DeliveryStatus; 5] = [
    DeliveryStatus::Converted,
    DeliveryStatus::Rejected,
    DeliveryStatus::Unrouted,
    DeliveryStatus::Duplicate,
    DeliveryStatus::Ignored,
];

/// What to choose.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The greatest number of deliveries.
    pub last: u32,
    /// Only deliveries received since then.
    pub since: Option<Micros>,
    /// Only failed and parked deliveries.
    pub failed: bool,
}

/// The chosen deliveries, those that failed first.
#[derive(Debug, Default)]
pub struct Sample {
    pub deliveries: Vec<DeliveryId>,
    /// Connections of the plugin, with those that are not covered.
    pub connections: usize,
    /// Connections beyond [`limits::VERIFY_CONNECTIONS`].
    pub not_covered: usize,
}

/// Chooses deliveries of the connections that use the plugin.
///
/// # Errors
///
/// [`StoreError`] if the store cannot be read.
pub async fn choose(
    pipeline: &Pipeline,
    plugin: &str,
    choice: Choice,
) -> Result<Sample, StoreError> {
    let mut connections = pipeline.core.store.connections(None).await?;
    connections.retain(|connection| connection.plugin == plugin);
    let all = connections.len();
    connections.truncate(limits::VERIFY_CONNECTIONS);
    let mut sample = Sample {
        deliveries: strata(pipeline, &connections, &FAILED, choice, choice.last).await?,
        connections: all,
        not_covered: all - connections.len(),
    };
    let left = choice.last - u32::try_from(sample.deliveries.len()).unwrap_or(choice.last);
    if left > 0 && !choice.failed {
        let done = strata(pipeline, &connections, &DONE, choice, left).await?;
        sample.deliveries.extend(done);
    }
    Ok(sample)
}

/// Returns at most `most` deliveries, taken in turn from each connection and outcome, the
/// newest first.
async fn strata(
    pipeline: &Pipeline,
    connections: &[Connection],
    statuses: &[DeliveryStatus],
    choice: Choice,
    most: u32,
) -> Result<Vec<DeliveryId>, StoreError> {
    let mut strata = Vec::new();
    for connection in connections {
        for status in statuses {
            let filter = DeliveryFilter {
                workspace: Some(connection.workspace),
                connection: Some(connection.id.clone()),
                status: Some(*status),
                since: choice.since,
                limit: most,
                ..DeliveryFilter::default()
            };
            let found = pipeline.core.store.deliveries(&filter).await?;
            if !found.is_empty() {
                strata.push(found.into_iter().map(|delivery| delivery.id));
            }
        }
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
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
    Ok(chosen)
}
