//! Messaging, apart from the commits of messages.

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::operations::{kept_sends, messages, templates};
use crate::{
    Elapse, KeptSend, KeptSendFilter, OutboxFilter, OutboxMessage, StoreError, TemplateList,
};
use leadhost_domain::channel::AttemptOutcome;
use leadhost_domain::connection::Connection;
use leadhost_domain::id::{MessageId, WorkspaceId};
use leadhost_domain::time::Micros;

/// The operations on templates, due conversations, the outbox and kept sends.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`](super::IntakeStore) names.
#[async_trait]
pub trait MessagingStore: Send + Sync + 'static {
    /// Returns an instance's templates, or `None` if its provider was never asked for them.
    async fn templates(&self, channel: &Connection) -> Result<Option<TemplateList>, StoreError>;

    /// Replaces the stored templates with the provider's list.
    async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError>;

    /// Returns conversations that are due because they were unanswered or idle for too long, the
    /// longest overdue first.
    async fn conversations_due(&self, now: Micros, limit: u32) -> Result<Vec<Elapse>, StoreError>;

    /// Returns outbox messages for operators, newest first.
    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError>;

    /// Returns the newest sends of an instance that were kept to compare versions of its adapter,
    /// each with its outcome, newest first.
    async fn kept_sends(
        &self,
        filter: &KeptSendFilter,
    ) -> Result<Vec<(MessageId, AttemptOutcome)>, StoreError>;

    /// Returns what was kept of a message, or `None` if nothing is.
    async fn kept_send(
        &self,
        workspace: WorkspaceId,
        message: MessageId,
    ) -> Result<Option<KeptSend>, StoreError>;
}

#[async_trait]
impl MessagingStore for DatabaseStore {
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

    async fn kept_sends(
        &self,
        filter: &KeptSendFilter,
    ) -> Result<Vec<(MessageId, AttemptOutcome)>, StoreError> {
        kept_sends::newest(&self.database, filter.clone()).await
    }

    async fn kept_send(
        &self,
        workspace: WorkspaceId,
        message: MessageId,
    ) -> Result<Option<KeptSend>, StoreError> {
        kept_sends::one(&self.database, workspace, message).await
    }
}
