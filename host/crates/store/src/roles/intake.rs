//! Intake: the path of a lead from the request that brought it to the deal.

use std::collections::HashMap;

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::commit;
use crate::operations::{activity, answers, claim, deliveries, sweep};
use crate::{
    ActivityOf, ActivitySlot, Backlog, Batch, ClaimTurns, ConvertedFilter, DeliveryCount,
    DeliveryDetail, DeliveryFilter, DeliverySummary, HeldDelivery, Job, KeptAnswer, LeftDeliveries,
    RetentionPeriods, StoreError, WaitingFetch, Write, WriteOutcome,
};
use leadhost_domain::connection::{Connection, EndedChange};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::{ConnectionId, ContactId, DeliveryId, WorkspaceId};
use leadhost_domain::plugin::Digest;
use leadhost_domain::time::Micros;

/// The operations on deliveries, and the claim and commit of all work.
///
/// # Errors
///
/// [`StoreError::Full`], [`StoreError::Unavailable`], [`StoreError::Lost`], [`StoreError::Busy`]
/// and [`StoreError::Contended`] mean that nothing was done and a retry may succeed.
/// [`StoreError::Inconsistent`] and [`StoreError::Query`] are defects.
#[async_trait]
pub trait IntakeStore: Send + Sync + 'static {
    /// Commits all writes together, in order, or none. Returns the answers in the order of the
    /// writes. A settlement whose lease is no longer held returns [`WriteOutcome::Stale`] and changes
    /// nothing. A delivery for a full quarantine evicts others, or returns [`WriteOutcome::NotKept`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Contended`] if other transactions changed the same rows on every
    /// attempt, [`StoreError::Full`] if there is no space to write, and [`StoreError`] if the
    /// database fails. After [`StoreError::Unavailable`] the batch may have been committed,
    /// if the answer to the commit was lost.
    async fn commit_batch(&self, batch: Batch) -> Result<Vec<WriteOutcome>, StoreError>;

    /// Commits a few writes, which are copied.
    ///
    /// # Errors
    ///
    /// [`StoreError`] as for [`Self::commit_batch`].
    async fn commit(&self, writes: &[Write]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.commit_batch(Batch::from(writes.to_vec())).await
    }

    /// Claims due work: deliveries to convert, fetches and sends to make. Connections take turns,
    /// and the oldest work of a connection comes first. No other worker holds the claimed work
    /// until `until`.
    async fn claim(
        &self,
        turns: &ClaimTurns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError>;

    /// Claims one delivery for a replay, in any state. Returns `None` if it does not exist or is
    /// leased.
    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError>;

    /// Claims the oldest failed and parked deliveries of a plugin's connections whose last attempt
    /// ran another version than `not_with`, or was left out: those after this one.
    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        after: Option<DeliveryId>,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError>;

    /// Returns a delivery with its request, notes and items. `None` if it does not exist.
    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError>;

    /// Returns the answers of sources to the settled fetches of a delivery, in the order in which
    /// they were settled: those with a number greater than `after` (0: from the first), at most
    /// `limit`, because bodies may be large. Answers are kept as long as the delivery.
    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError>;

    /// Returns the fetches of a delivery that are still to be made, in the order of its items, at most
    /// `limit`.
    async fn waiting_fetches(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        limit: u32,
    ) -> Result<Vec<WaitingFetch>, StoreError>;

    /// Returns deliveries, newest first.
    async fn deliveries(&self, filter: &DeliveryFilter)
    -> Result<Vec<DeliverySummary>, StoreError>;

    /// Returns the deliveries of a workspace whose leads belong to these contacts or have this external
    /// id, or that have one of these search keys, as far as the filter selects them, in no order; and the
    /// time before which deliveries may have no search keys. `None`: all have them.
    async fn search_deliveries(
        &self,
        filter: &DeliveryFilter,
        workspace: WorkspaceId,
        contacts: Vec<ContactId>,
        external_id: String,
        keys: Vec<i64>,
    ) -> Result<(Vec<DeliverySummary>, Option<Micros>), StoreError>;

    /// Returns the first delivery, in the order of time, of the newest `rows` that a list could look at:
    /// of the connection of the filter, and between its bounds. On PostgreSQL these are so many in all
    /// workspaces together, an equal part of each. `None` if there are no more before them.
    async fn delivery_floor(
        &self,
        filter: &DeliveryFilter,
        rows: u32,
    ) -> Result<Option<DeliveryId>, StoreError>;

    /// Counts the deliveries that this ended change of a connection has left, among its newest `rows`.
    async fn deliveries_left_by(
        &self,
        connection: &Connection,
        change: &EndedChange,
        rows: u32,
    ) -> Result<LeftDeliveries, StoreError>;

    /// Counts the deliveries of a connection whose conversion has ended or failed, among its newest
    /// `rows`.
    async fn count_deliveries(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
    ) -> Result<DeliveryCount, StoreError>;

    /// Returns the newest deliveries of each outcome of a conversion that has ended, among the newest
    /// `rows` of a connection: one of each outcome in turn, at most `limit` in total. Those that failed
    /// or are parked are not among them.
    async fn newest_of_outcomes(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
        limit: u32,
    ) -> Result<Vec<(DeliveryId, DeliveryStatus)>, StoreError>;

    /// Returns when the last delivery of each connection came in. Connections without one are left out.
    async fn last_deliveries(&self) -> Result<HashMap<ConnectionId, Micros>, StoreError>;

    /// Returns the numbers of waiting and failed deliveries, for metrics and for the budget of the
    /// intake.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Returns the number of deliveries that wait for conversion, including failed ones, by
    /// connection.
    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError>;

    /// Returns what a connection or an instance took, by slots of five minutes, for hosts that keep
    /// the counts. Reads at most `limits::ACTIVITY_ROWS` rows, the newest.
    async fn activity(
        &self,
        of: &ActivityOf,
        from: Micros,
        until: Micros,
    ) -> Result<Vec<ActivitySlot>, StoreError>;

    /// Removes rows past their retention, at most `limit` of each kind. Returns the number removed.
    async fn sweep(
        &self,
        retention: &RetentionPeriods,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError>;
}

#[async_trait]
impl IntakeStore for DatabaseStore {
    async fn commit_batch(&self, batch: Batch) -> Result<Vec<WriteOutcome>, StoreError> {
        commit::commit(&self.database, &self.clock, batch).await
    }

    async fn claim(
        &self,
        turns: &ClaimTurns,
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
        after: Option<DeliveryId>,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        let (plugin, digest) = (plugin.to_owned(), not_with.clone());
        claim::failed(&self.database, plugin, digest, after, limit, now, until).await
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

    async fn waiting_fetches(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        limit: u32,
    ) -> Result<Vec<WaitingFetch>, StoreError> {
        answers::waiting_of(&self.database, workspace, delivery, limit).await
    }

    async fn deliveries(
        &self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliverySummary>, StoreError> {
        deliveries::list(&self.database, filter.clone()).await
    }

    async fn delivery_floor(
        &self,
        filter: &DeliveryFilter,
        rows: u32,
    ) -> Result<Option<DeliveryId>, StoreError> {
        deliveries::floor(&self.database, filter.clone(), rows).await
    }

    async fn deliveries_left_by(
        &self,
        connection: &Connection,
        change: &EndedChange,
        rows: u32,
    ) -> Result<LeftDeliveries, StoreError> {
        let (workspace, id) = (connection.workspace, connection.id.clone());
        deliveries::left(&self.database, workspace, id, change.clone(), rows).await
    }

    async fn count_deliveries(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
    ) -> Result<DeliveryCount, StoreError> {
        deliveries::count(&self.database, filter.clone(), rows).await
    }

    async fn newest_of_outcomes(
        &self,
        filter: &ConvertedFilter,
        rows: u32,
        limit: u32,
    ) -> Result<Vec<(DeliveryId, DeliveryStatus)>, StoreError> {
        deliveries::newest_of_outcomes(&self.database, filter.clone(), rows, limit).await
    }

    async fn last_deliveries(&self) -> Result<HashMap<ConnectionId, Micros>, StoreError> {
        deliveries::last(&self.database).await
    }

    async fn search_deliveries(
        &self,
        filter: &DeliveryFilter,
        workspace: WorkspaceId,
        contacts: Vec<ContactId>,
        external_id: String,
        keys: Vec<i64>,
    ) -> Result<(Vec<DeliverySummary>, Option<Micros>), StoreError> {
        let filter = filter.clone();
        deliveries::search(
            &self.database,
            filter,
            workspace,
            contacts,
            external_id,
            keys,
        )
        .await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        deliveries::backlog(&self.database).await
    }

    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError> {
        deliveries::waiting(&self.database).await
    }

    async fn activity(
        &self,
        of: &ActivityOf,
        from: Micros,
        until: Micros,
    ) -> Result<Vec<ActivitySlot>, StoreError> {
        activity::count(&self.database, of.clone(), from, until).await
    }

    async fn sweep(
        &self,
        retention: &RetentionPeriods,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        sweep::sweep(&self.database, retention, now, limit).await
    }
}
