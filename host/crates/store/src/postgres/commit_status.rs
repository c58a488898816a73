//! Looks up the commit status of a batch whose answer was lost because the connection
//! broke or the server did not answer in time. The batch leaves a mark in its
//! transaction: if the mark exists, the batch was committed. The absence of the mark
//! proves nothing while the server may still be working on the commit, so its process
//! must have ended first.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};
use tokio::time::Instant;

use super::db::{Db, Trace};
use leadhost_domain::limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStatus {
    Committed,
    /// Nothing of it was committed, and nothing will be.
    Undone,
    /// The database could not be asked in time.
    Unknown,
}

// Exactly this transaction in exactly this process. Both numbers are eventually reused,
// but not together while one of them is in use.
const END: &str = "
select pg_terminate_backend(pid)
from pg_stat_activity
where pid = $1
and backend_xid::text = $2";

const AT_WORK: &str = "
select 1
from pg_stat_activity
where pid = $1
and backend_xid::text = $2";

const MARK: &str = "
select exists (select 1 from leadhost.commit_markers where batch_id = $1)";

/// Looks up whether a batch was committed. Retries for at most `limits::OUTCOME_DEADLINE`;
/// after that the status is [`CommitStatus::Unknown`].
pub async fn find(db: &Db, trace: &Trace) -> CommitStatus {
    let patience = limits::OUTCOME_DEADLINE;
    let deadline = Instant::now() + patience;
    let pause = limits::OUTCOME_PAUSE;
    loop {
        match tokio::time::timeout_at(deadline, ask(db, trace)).await {
            Ok(Ok(true)) => return CommitStatus::Committed,
            Ok(Ok(false)) => return CommitStatus::Undone,
            Ok(Err(error)) => {
                tracing::debug!(%error, batch = %trace.batch, "commit status not known yet");
            }
            Err(_) => return CommitStatus::Unknown,
        }
        tokio::time::sleep(pause).await;
    }
}

/// Returns whether the mark exists, once that is certain. Runs as the login role, which
/// may see and end its own processes.
async fn ask(db: &Db, trace: &Trace) -> Result<bool, sqlx::Error> {
    let mut connection = db.owner().await?;
    let ended = sqlx::query(END)
        .bind(trace.backend)
        .bind(&trace.number)
        .execute(&mut connection)
        .await;
    if let Err(error) = ended {
        // It then ends by itself: idle transactions have a time limit.
        tracing::debug!(%error, "could not terminate the server process of the commit");
    }
    wait_until_gone(&mut connection, trace).await?;
    let found = sqlx::query(MARK)
        .bind(trace.batch)
        .fetch_one(&mut connection)
        .await?
        .try_get(0)?;
    // The result does not depend on how the connection ends.
    drop(connection.close().await);
    Ok(found)
}

async fn wait_until_gone(connection: &mut PgConnection, trace: &Trace) -> Result<(), sqlx::Error> {
    let pause = limits::OUTCOME_PAUSE;
    loop {
        let at_work = sqlx::query(AT_WORK)
            .bind(trace.backend)
            .bind(&trace.number)
            .fetch_optional(&mut *connection)
            .await?;
        if at_work.is_none() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
    }
}

pub(super) const SQL: &[&str] = &[END, AT_WORK, MARK];
