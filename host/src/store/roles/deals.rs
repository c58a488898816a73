//! Deals, their tickets, and the products that they are about.

use async_trait::async_trait;

use super::DatabaseStore;
use crate::domain::id::{ContactId, DealId, ProductId, WorkspaceId};
use crate::domain::ticket::TicketView;
use crate::store::operations::{deals, desk, merge, products, remove};
use crate::store::{
    DealFilter, DealPage, DealPast, ImportId, Imported, PlannedProduct, Product, ProductChanges,
    Removed, Scope, StoreError, TicketFilter,
};

/// # Errors
///
/// As [`Intake`](super::Intake)'s.
#[async_trait]
pub trait Deals: Send + Sync + 'static {
    /// Newest first, at most `limit`, and fewer where they are long.
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError>;

    /// A deal's history and notes; `None` when there is no such deal in the workspace.
    async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError>;

    /// Newest first.
    async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError>;

    /// Removes a deal with its history and notes; what was about it is about none from
    /// then on. False: there is none.
    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError>;

    /// Takes a contact away whose last deal moved to another one, which gets its keys.
    /// False: something belongs to it still, a person edited it, or it wants no messages.
    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
    ) -> Result<bool, StoreError>;

    /// Changes of products with a stamp past this one, at most `limit`, in stamp order.
    async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError>;

    /// Those that are there, in no order.
    async fn products(&self, scope: &Scope, ids: &[ProductId]) -> Result<Vec<Product>, StoreError>;

    /// Makes and changes products by their external ids, and marks them as seen by
    /// this import. What was made or changed is stamped; what this import has named
    /// before is left alone. At most `limits::IMPORT_ROWS` at once; of an external id
    /// that comes twice among them the last counts.
    async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError>;

    /// Removes what this import has not seen among the next `limit` products, in
    /// stamp order; the first step begins after 0. A removal is told by a tombstone.
    async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError>;

    /// Removes those that are there of what is named, at most
    /// `limits::REMOVED_PRODUCTS`; how many.
    async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError>;
}

#[async_trait]
impl Deals for DatabaseStore {
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError> {
        deals::find(&self.database, scope, filter.clone(), limit).await
    }

    async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError> {
        deals::past(&self.database, workspace, deal, limit).await
    }

    async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError> {
        desk::find(&self.database, scope, filter.clone()).await
    }

    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError> {
        remove::deal(&self.database, workspace, deal, self.clock.now()).await
    }

    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
    ) -> Result<bool, StoreError> {
        merge::contact(&self.database, workspace, from, into).await
    }

    async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError> {
        products::changes(&self.database, workspace, after, limit).await
    }

    async fn products(&self, scope: &Scope, ids: &[ProductId]) -> Result<Vec<Product>, StoreError> {
        products::by_ids(&self.database, scope, ids).await
    }

    async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError> {
        let (planned, now) = (products.to_vec(), self.clock.now());
        products::import(&self.database, workspace, import, planned, now).await
    }

    async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError> {
        products::remove_unseen(&self.database, workspace, import, after, limit).await
    }

    async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError> {
        products::remove_named(&self.database, workspace, external_ids.to_vec()).await
    }
}
