//! What messages need beside their commits.

use async_trait::async_trait;

use super::DatabaseStore;
use crate::domain::connection::Connection;
use crate::domain::time::Micros;
use crate::store::operations::{messages, templates};
use crate::store::{Elapse, OutboxFilter, OutboxMessage, StoreError, TemplateList};

/// # Errors
///
/// As [`Intake`](super::Intake)'s.
#[async_trait]
pub trait Messaging: Send + Sync + 'static {
    /// An instance's templates; `None` when its provider was never asked.
    async fn templates(&self, channel: &Connection) -> Result<Option<TemplateList>, StoreError>;

    /// Keeps what the provider listed instead of what was kept before.
    async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError>;

    /// Conversations for which time has passed: unanswered, or idle; longest first.
    async fn conversations_due(&self, now: Micros, limit: u32) -> Result<Vec<Elapse>, StoreError>;

    /// For operators; newest first.
    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError>;
}

#[async_trait]
impl Messaging for DatabaseStore {
    async fn templates(&self, channel: &Connection) -> Result<Option<TemplateList>, StoreError> {
        templates::one(&self.database, channel.id.clone(), channel.workspace).await
    }

    async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError> {
        let id = channel.id.clone();
        templates::put(&self.database, id, channel.workspace, list.clone()).await
    }

    async fn conversations_due(&self, now: Micros, limit: u32) -> Result<Vec<Elapse>, StoreError> {
        messages::conversations_due(&self.database, now, limit).await
    }

    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
        messages::outbox(&self.database, filter.clone()).await
    }
}
