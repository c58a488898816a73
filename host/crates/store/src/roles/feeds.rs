//! Feeds that data clients follow: rows in the order of their stamps.

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::operations::export;
use crate::{ExportPage, MessageErrorFilter, Scope, StoreError};
use leadhost_domain::row::Entity;

/// The pages that data clients read.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`](super::IntakeStore) names.
#[async_trait]
pub trait FeedStore: Send + Sync + 'static {
    /// Returns rows with `after < stamp <= upper` in stamp order. Without `upper`, the feed clock
    /// in the same snapshot as the rows is used.
    async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;

    /// Returns only the ids of such rows.
    async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;

    /// Returns rows of the report with `after < stamp <= upper` in stamp order, as
    /// [`FeedStore::export`] does for an entity.
    async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;
}

#[async_trait]
impl FeedStore for DatabaseStore {
    async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        export::page(&self.database, scope, entity, after, upper, limit).await
    }

    async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        export::ids(&self.database, scope, entity, after, upper, limit).await
    }

    async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        export::message_errors(&self.database, scope, filter, after, upper, limit).await
    }
}
