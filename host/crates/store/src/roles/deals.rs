//! Deals, their tickets, and the products that they concern.

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::operations::{deals, desk, merge, people, products, remove};
use crate::{
    ContactMerge, ConversationsOf, DealFilter, DealItem, DealLog, DealPage, DealPast, FoundContact,
    FoundConversation, FoundDeal, ImportId, Imported, NewestDeals, PlannedProduct, Product,
    ProductChanges, Removed, RepairPlace, Scope, StoreError, TicketFilter,
};
use leadhost_domain::id::{ContactId, DealId, DealLogId, ProductId, WorkspaceId};
use leadhost_domain::ticket::TicketView;

/// The operations on deals, tickets and products.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`](super::IntakeStore) names.
#[async_trait]
pub trait DealStore: Send + Sync + 'static {
    /// Returns deals, newest first: at most `limit`, and fewer if they are large.
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError>;

    /// Returns the deals of a workspace that match the filter as operators find them, newest first: at
    /// most `limit`.
    async fn search_deals(
        &self,
        workspace: WorkspaceId,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<Vec<FoundDeal>, StoreError>;

    /// Returns the newest deals of one workspace or of all, at most `limit`, and how far back they were
    /// looked for.
    async fn newest_deals(
        &self,
        workspace: Option<WorkspaceId>,
        before: Option<DealId>,
        limit: u32,
    ) -> Result<NewestDeals, StoreError>;

    /// Returns the deliveries with items that led to this deal of the contact, newest first: at most
    /// `limit`.
    async fn deal_items(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        deal: DealId,
        limit: u32,
    ) -> Result<Vec<DealItem>, StoreError>;

    /// Returns a contact, or `None` if the workspace has no such contact.
    async fn contact(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Option<FoundContact>, StoreError>;

    /// Returns the conversations of a contact or a deal, newest first: at most `limit`.
    async fn conversations(
        &self,
        workspace: WorkspaceId,
        of: ConversationsOf,
        limit: u32,
    ) -> Result<Vec<FoundConversation>, StoreError>;

    /// Returns the tickets of a workspace as operators find them, newest first.
    async fn search_tickets(
        &self,
        workspace: WorkspaceId,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError>;

    /// Returns those of the products that exist in the workspace, in no particular order.
    async fn products_of(
        &self,
        workspace: WorkspaceId,
        ids: &[ProductId],
    ) -> Result<Vec<Product>, StoreError>;

    /// Returns notes of the deal that the filter names, newest first: at most `limit` of those before
    /// the given one. Returns `None` if no deal matches.
    async fn deal_logs(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        before: Option<DealLogId>,
        limit: u32,
    ) -> Result<Option<Vec<DealLog>>, StoreError>;

    /// Returns a deal's history and notes, or `None` if the workspace has no such deal.
    async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError>;

    /// Returns tickets, newest first.
    async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError>;

    /// Removes a deal with its history and notes, and clears references to it. Returns false if
    /// there is no such deal.
    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError>;

    /// Removes a contact whose last deal moved to another contact, which gets its keys. If the deal
    /// moved in a repair, its receipt gets rows for that.
    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
        repair: Option<RepairPlace>,
    ) -> Result<ContactMerge, StoreError>;

    /// Returns changes of products with a stamp greater than `after`, at most `limit`, in stamp
    /// order.
    async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError>;

    /// Returns those of the products that exist, in no particular order.
    async fn products(&self, scope: &Scope, ids: &[ProductId]) -> Result<Vec<Product>, StoreError>;

    /// Returns the product with the first of these external ids that a product has.
    async fn product_by_external_id(
        &self,
        scope: &Scope,
        external_ids: Vec<String>,
    ) -> Result<Option<ProductId>, StoreError>;

    /// Creates and changes products by their external ids, and marks them as seen by this import.
    /// Created and changed products are stamped. Products that this import has already named are
    /// left alone. Takes at most `limits::IMPORT_ROWS` at once. If an external id is repeated among
    /// them, the last entry counts.
    async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError>;

    /// Removes the products that this import has not seen among the next `limit`, in stamp order.
    /// The first step begins after 0. Each removal leaves a tombstone.
    async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError>;

    /// Removes the named products, at most `limits::REMOVED_PRODUCTS`, and returns how many it
    /// removed.
    async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError>;
}

#[async_trait]
impl DealStore for DatabaseStore {
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError> {
        deals::find(&self.database, scope.workspace(), filter.clone(), limit).await
    }

    async fn search_deals(
        &self,
        workspace: WorkspaceId,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<Vec<FoundDeal>, StoreError> {
        deals::search(&self.database, workspace, filter.clone(), limit).await
    }

    async fn newest_deals(
        &self,
        workspace: Option<WorkspaceId>,
        before: Option<DealId>,
        limit: u32,
    ) -> Result<NewestDeals, StoreError> {
        deals::newest(&self.database, workspace, before, limit).await
    }

    async fn deal_items(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        deal: DealId,
        limit: u32,
    ) -> Result<Vec<DealItem>, StoreError> {
        deals::items(&self.database, workspace, contact, deal, limit).await
    }

    async fn contact(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Option<FoundContact>, StoreError> {
        people::contact(&self.database, workspace, contact).await
    }

    async fn conversations(
        &self,
        workspace: WorkspaceId,
        of: ConversationsOf,
        limit: u32,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        people::conversations(&self.database, workspace, of, limit).await
    }

    async fn search_tickets(
        &self,
        workspace: WorkspaceId,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError> {
        desk::find(&self.database, workspace, filter.clone()).await
    }

    async fn products_of(
        &self,
        workspace: WorkspaceId,
        ids: &[ProductId],
    ) -> Result<Vec<Product>, StoreError> {
        products::by_ids(&self.database, workspace, ids).await
    }

    async fn deal_logs(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        before: Option<DealLogId>,
        limit: u32,
    ) -> Result<Option<Vec<DealLog>>, StoreError> {
        let (filter, page) = (filter.clone(), (before, limit));
        deals::logs(&self.database, scope.workspace(), filter, page).await
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
        desk::find(&self.database, scope.workspace(), filter.clone()).await
    }

    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError> {
        remove::deal(&self.database, workspace, deal, self.clock.now()).await
    }

    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
        repair: Option<RepairPlace>,
    ) -> Result<ContactMerge, StoreError> {
        merge::contact(&self.database, workspace, (from, into), repair).await
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
        products::by_ids(&self.database, scope.workspace(), ids).await
    }

    async fn product_by_external_id(
        &self,
        scope: &Scope,
        external_ids: Vec<String>,
    ) -> Result<Option<ProductId>, StoreError> {
        products::by_external_id(&self.database, scope.workspace(), external_ids).await
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
