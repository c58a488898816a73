//! The way of a lead: from the request that brought it to the deal.

use std::collections::HashMap;

use async_trait::async_trait;

use super::DatabaseStore;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::store::operations::{answers, claim, deliveries, sweep};
use crate::store::{
    Backlog, Batch, DeliveryDetail, DeliveryFilter, DeliverySummary, HeldDelivery, Job, KeptAnswer,
    Retention, StoreError, Turns, Write, Written,
};

/// # Errors
///
/// [`StoreError::Full`], [`StoreError::Unavailable`], [`StoreError::Lost`], [`StoreError::Busy`] and
/// [`StoreError::Contended`] say that nothing was done and the same may go well later;
/// [`StoreError::Inconsistent`] and [`StoreError::Query`] are defects.
#[async_trait]
pub trait Intake: Send + Sync + 'static {
    /// Commits all writes together, in order, or none. The answers are in the
    /// order of the writes. A settlement whose lease is no longer held answers
    /// [`Written::Stale`] and changes nothing. A delivery for a quarantine that is
    /// full evicts others, or answers [`Written::NotKept`].
    async fn commit_batch(&self, batch: Batch) -> Result<Vec<Written>, StoreError>;

    /// The same for a few writes, which are copied.
    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
        self.commit_batch(Batch::from(writes.to_vec())).await
    }

    /// Takes due work: deliveries to convert, fetches and sends to make. Connections
    /// take turns, and of each the oldest comes first; none of it is held by another
    /// until `until`.
    async fn claim(
        &self,
        turns: &Turns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError>;

    /// Takes one delivery for a replay, in whatever state; `None` when it does
    /// not exist or somebody holds it.
    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError>;

    /// Takes the oldest failed and parked deliveries of a plugin's connections
    /// that were last tried with another digest than this one.
    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError>;

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError>;

    /// What sources answered to the settled fetches of a delivery, in the order
    /// in which they were settled, from past this number on (0: from the first),
    /// at most `limit`: bodies may be large. Kept for as long as the delivery.
    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError>;

    /// Newest first.
    async fn deliveries(&self, filter: &DeliveryFilter)
    -> Result<Vec<DeliverySummary>, StoreError>;

    /// What waits and what failed, for metrics and for the intake's budget.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Deliveries that wait for conversion, failed ones included, by connection.
    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError>;

    /// Removes what is past its retention, at most `limit` rows of each kind; the number removed.
    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError>;
}

#[async_trait]
impl Intake for DatabaseStore {
    async fn commit_batch(&self, batch: Batch) -> Result<Vec<Written>, StoreError> {
        self.database.commit(&self.clock, batch).await
    }

    async fn claim(
        &self,
        turns: &Turns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError> {
        claim::due(&self.database, turns.clone(), now, until).await
    }

    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError> {
        claim::one(&self.database, id, now, until).await
    }

    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        let (plugin, digest) = (plugin.to_owned(), not_with.clone());
        claim::failed(&self.database, plugin, digest, limit, now, until).await
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
        deliveries::one(&self.database, id).await
    }

    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError> {
        answers::list(&self.database, delivery, after, limit).await
    }

    async fn deliveries(
        &self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliverySummary>, StoreError> {
        deliveries::list(&self.database, filter.clone()).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        deliveries::backlog(&self.database).await
    }

    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError> {
        deliveries::waiting(&self.database).await
    }

    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        sweep::sweep(&self.database, retention, now, limit).await
    }
}
