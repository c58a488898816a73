//! Sends with their answers, kept to compare versions of an adapter. The batch that settles a send
//! writes them.

use crate::database::Database;
use crate::postgres::VisibleRows;
use crate::row::RowColumns as _;
use crate::row::messages::kept_send;
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

/// Returns the newest kept sends of an instance, each with its outcome, newest first.
pub async fn newest(
    database: &Database,
    filter: KeptSendFilter,
) -> Result<Vec<(MessageId, AttemptOutcome)>, StoreError> {
    let found: Vec<Option<_>> = database
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
                    let outcome = AttemptOutcome::from_text(&row.text("outcome")?);
                    let message = row.id("message_id")?;
                    Ok(outcome.map(|outcome| (message, outcome)))
                })
                .await
            }),
        )
        .await?;
    Ok(found.into_iter().flatten().collect())
}

static ONE: Sql = sql("
select workspace_id, message_id, conversation_id, connection_id, sent_at, until_at, digest, outcome,
  recipient, payload::text as payload, response_head, response_body
from kept_sends
where message_id = :message
and (workspace_id = :workspace) is true");

/// Returns the kept send of a message, or `None` if there is none.
///
/// # Errors
///
/// [`StoreError::Inconsistent`] if its outcome is not known to this host, and [`StoreError`] if the
/// database fails.
pub async fn one(
    database: &Database,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<KeptSend>, StoreError> {
    database
        .read(
            VisibleRows::Of(&[workspace]),
            steps!(|tx| {
                let args = args! { workspace, message };
                tx.row(&ONE, &args, |row| kept_send(row)).await
            }),
        )
        .await
}

pub const SQL: &[&Sql] = &[&NEWEST, &ONE];
