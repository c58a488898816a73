//! Commits one batch in one transaction: locks and loads the rows that the writes touch,
//! decides in memory, saves the changes, stamps them, and commits.
//!
//! A batch that loses a race against another host's is rolled back and run again; it then
//! sees the other's changes. If the answer to a commit is lost, the commit status is
//! looked up (`outcome`), and the batch is run again if it was not committed. A dropped
//! future leaves a whole batch or none.

use tokio::time::Instant;

use super::commit_status::{self, CommitStatus};
use super::db::{Db, Trace, Transaction, VisibleRows};
use super::error;
use crate::decide;
use crate::operations::batch;
use crate::prelude::*;
use crate::{Write, WriteOutcome};
use leadhost_domain::clock::Clock;
use leadhost_domain::id::uuid_at;

/// Commits a batch, with retries until its deadline.
pub async fn commit(
    db: &Db,
    clock: &dyn Clock,
    writes: &[Write],
) -> Result<Vec<WriteOutcome>, StoreError> {
    let deadline = Instant::now() + limits::STORE_DEADLINE;
    let mut attempt = 1;
    loop {
        let error = match try_commit(db, clock, writes, deadline).await {
            Ok(written) => return Ok(written),
            Err(Failure::Again(error)) => error,
            Err(Failure::Final(error)) => return Err(error),
        };
        if Instant::now() >= deadline {
            // Not an error of a single write: splitting the batch would not help.
            return Err(too_late());
        }
        if attempt >= limits::COMMIT_ATTEMPTS {
            return Err(error);
        }
        tracing::debug!(%error, attempt, "retrying batch");
        tokio::time::sleep_until(deadline.min(Instant::now() + pause(attempt))).await;
        attempt += 1;
    }
}

/// Returns a pause that grows with each attempt and is random, so that it differs between
/// hosts.
fn pause(attempt: u32) -> Duration {
    let longest = limits::COMMIT_PAUSE * (1 << attempt.min(8));
    let mut chance = [0; 2];
    getrandom::fill(&mut chance).expect("the operating system gives random bytes");
    longest * u32::from(u16::from_le_bytes(chance)) / (1 << 16)
}

enum Failure {
    /// Nothing was done, and another attempt may succeed.
    Again(StoreError),
    Final(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            error if is_lost_race(&error) => Self::Again(StoreError::Contended),
            StoreError::Unavailable(cause)
                if error::driver_of(&cause).is_some_and(error::is_connection_lost) =>
            {
                Self::Again(StoreError::Unavailable(cause))
            }
            other => Self::Final(other),
        }
    }
}

async fn try_commit(
    db: &Db,
    clock: &dyn Clock,
    writes: &[Write],
    deadline: Instant,
) -> Result<Vec<WriteOutcome>, Failure> {
    // If it is given up before its commit was sent, the connection is closed and
    // everything is rolled back.
    let prepared = tokio::select! {
        biased;
        prepared = tokio::time::timeout_at(deadline, prepare(db, clock, writes)) => {
            prepared.map_err(|_| Failure::Final(too_late()))?
        }
        lost = db.health().lost() => return Err(Failure::Final(lost)),
    };
    let Prepared {
        transaction,
        written,
        trace,
    } = prepared?;
    let patience = limits::COMMIT_DEADLINE;
    let lost = match tokio::time::timeout(patience, transaction.end("commit")).await {
        Ok(Ok(())) => return Ok(written),
        Ok(Err(error)) if !error::is_connection_lost(&error) => {
            return Err(StoreError::from(error).into());
        }
        Ok(Err(error)) => StoreError::from(error),
        Err(_) => too_late(),
    };
    tracing::warn!(error = %lost, batch = %trace.batch, "answer to a commit lost, looking up the commit status");
    match commit_status::find(db, &trace).await {
        CommitStatus::Committed => Ok(written),
        CommitStatus::Undone => Err(Failure::Again(lost)),
        CommitStatus::Unknown => Err(Failure::Final(lost)),
    }
}

fn too_late() -> StoreError {
    StoreError::from(sqlx::Error::Io(std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        "the database did not answer a batch in time",
    )))
}

/// A batch that is ready to commit.
struct Prepared {
    transaction: Transaction,
    written: Vec<WriteOutcome>,
    trace: Trace,
}

async fn prepare(db: &Db, clock: &dyn Clock, writes: &[Write]) -> Result<Prepared, StoreError> {
    let read_set = decide::read_set(writes, |_| None);
    let named: Vec<WorkspaceId> = read_set.workspaces.iter().copied().collect();
    let mark = uuid_at(clock.now());
    let (transaction, trace) = db.begin_batch(VisibleRows::Of(&named), mark).await?;
    let mut tx = Tx::Postgres(transaction);
    let result = batch::run(&mut tx, clock, writes, read_set).await;
    let Tx::Postgres(transaction) = tx else {
        unreachable!("it was put in");
    };
    match result {
        Ok(written) => Ok(Prepared {
            transaction,
            written,
            trace,
        }),
        Err(error) => {
            // The connection is still good, unless it is the reason of the error.
            if is_lost_race(&error) || !matches!(error, StoreError::Unavailable(_)) {
                transaction.rollback().await?;
            }
            Err(error)
        }
    }
}

fn is_lost_race(error: &StoreError) -> bool {
    match error {
        StoreError::Contended => true,
        StoreError::Unavailable(cause) => error::driver_of(cause).is_some_and(error::is_lost_race),
        _ => false,
    }
}
