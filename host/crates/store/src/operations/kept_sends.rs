//! Sends with their answers, kept to compare versions of an adapter. The batch that settles a send
//! writes them.

use crate::Store;
use crate::postgres::VisibleRows;
use crate::row::FromRow as _;
use crate::sql::{Sql, args, sql, steps};
use crate::{KeptSend, KeptSendFilter, StoreError};
use leadhost_domain::channel::AttemptOutcome;
use leadhost_domain::id::{MessageId, WorkspaceId};

static NEWEST: Sql = sql("
select message_id, outcome
from kept_sends
where connection_id = :connection
and (workspace_id = :workspace) is true
and (:since::timestamptz is null or sent_at >= :since)
and (:digest::text is null or digest = :digest)
and (not :failed::boolean or outcome <> 'accepted')
order by message_id desc
limit :limit");

impl Store {
    /// Returns the newest sends of an instance that were kept to compare versions of its adapter,
    /// each with its outcome, newest first.
    pub async fn kept_sends(
        &self,
        filter: &KeptSendFilter,
    ) -> Result<Vec<(MessageId, AttemptOutcome)>, StoreError> {
        let filter = filter.clone();
        let found: Vec<Option<_>> = self
            .database
            .read_many(
                VisibleRows::Of(&[filter.workspace]),
                steps!(|tx| {
                    let args = args! {
                        connection: &filter.connection,
                        workspace: filter.workspace,
                        since: filter.since,
                        digest: filter.digest.as_ref(),
                        failed: filter.failed,
                        limit: filter.limit,
                    };
                    tx.rows(&NEWEST, &args, |row| {
                        // A host of a later release may have stored an outcome that is new in it.
                        let outcome = AttemptOutcome::from_text(&row.get::<String>("outcome")?);
                        let message = row.get("message_id")?;
                        Ok(outcome.map(|outcome| (message, outcome)))
                    })
                    .await
                }),
            )
            .await?;
        Ok(found.into_iter().flatten().collect())
    }
}

static ONE: Sql = sql("
select workspace_id, message_id, conversation_id, connection_id, sent_at, until_at, digest, outcome,
  recipient, payload::text as payload, response_head, response_body
from kept_sends
where message_id = :message
and (workspace_id = :workspace) is true");

impl Store {
    /// Returns what was kept of a message, or `None` if nothing is.
    pub async fn kept_send(
        &self,
        workspace: WorkspaceId,
        message: MessageId,
    ) -> Result<Option<KeptSend>, StoreError> {
        let args = args! { workspace, message };
        self.database
            .row(
                VisibleRows::Of(&[workspace]),
                &ONE,
                args,
                KeptSend::from_row,
            )
            .await
    }
}

pub const SQL: &[&Sql] = &[&NEWEST, &ONE];
