//! Group commit: what concurrent requests bring is committed together.
//!
//! One task owns the store's writes of the lead's way. It takes all that waits
//! when the previous commit returns: no timer, so a lone request waits for
//! nothing and a crowd shares one fsync. Background writes ride behind the
//! interactive ones, a few in each commit. A batch that fails is split until
//! the culprit is alone; the others commit. An answer is given after the commit,
//! never before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{Store, StoreError, Write, Written};
use crate::limits;

/// Hands writes to the one task that commits them. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    interactive: mpsc::Sender<Waiting>,
    background: mpsc::Sender<Waiting>,
    stop: mpsc::Sender<()>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Waiting {
    write: Write,
    answer: oneshot::Sender<Result<Written, StoreError>>,
}

/// One transaction, for who watches the writer.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    pub writes: usize,
    pub took: Duration,
    /// False: it failed and changed nothing.
    pub done: bool,
}

type Watch = Arc<dyn Fn(&Commit) + Send + Sync>;

impl Writer {
    pub fn start(store: Arc<dyn Store>) -> Self {
        Self::with_max_batch(store, limits::WRITES_PER_COMMIT)
    }

    /// At most `max_batch` interactive writes in one commit; `watch` hears of
    /// every transaction.
    pub fn watched(
        store: Arc<dyn Store>,
        max_batch: usize,
        watch: impl Fn(&Commit) + Send + Sync + 'static,
    ) -> Self {
        Self::begin(store, max_batch, Arc::new(watch))
    }

    /// At most this many interactive writes in one commit; 1 commits each alone.
    pub fn with_max_batch(store: Arc<dyn Store>, max_batch: usize) -> Self {
        Self::begin(store, max_batch, Arc::new(|_| {}))
    }

    fn begin(store: Arc<dyn Store>, max_batch: usize, watch: Watch) -> Self {
        let (interactive, interactive_queue) = mpsc::channel(limits::WRITES_WAITING);
        let (background, background_queue) = mpsc::channel(limits::WRITES_WAITING);
        let (stop, stopping) = mpsc::channel(1);
        let queues = Queues {
            interactive: interactive_queue,
            background: background_queue,
            stopping,
            max_batch: max_batch.max(1),
            kept: None,
        };
        let task = tokio::spawn(run(store, queues, watch));
        Self {
            shared: Arc::new(Shared {
                interactive,
                background,
                stop,
                task: Mutex::new(Some(task)),
            }),
        }
    }

    /// Commits a write that somebody waits for.
    pub async fn submit(&self, write: Write) -> Result<Written, StoreError> {
        through(&self.shared.interactive, write).await
    }

    /// Commits a write that nobody waits for, behind those that somebody does.
    pub async fn submit_background(&self, write: Write) -> Result<Written, StoreError> {
        through(&self.shared.background, write).await
    }

    /// Whether a write that somebody waits for is not taken yet.
    pub fn is_waited_for(&self) -> bool {
        let lane = &self.shared.interactive;
        lane.capacity() < lane.max_capacity()
    }

    /// Takes no more, commits what waits, and returns when that is done.
    pub async fn shutdown(&self) {
        // Full: somebody asked before.
        let _ = self.shared.stop.try_send(());
        if let Some(task) = self.shared.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer ended badly");
        }
    }
}

async fn through(lane: &mpsc::Sender<Waiting>, write: Write) -> Result<Written, StoreError> {
    let (answer, answered) = oneshot::channel();
    lane.try_send(Waiting { write, answer })
        .map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => stopped(),
        })?;
    answered.await.unwrap_or_else(|_| Err(stopped()))
}

fn stopped() -> StoreError {
    StoreError::Unavailable(sqlx::Error::PoolClosed)
}

struct Queues {
    interactive: mpsc::Receiver<Waiting>,
    background: mpsc::Receiver<Waiting>,
    stopping: mpsc::Receiver<()>,
    max_batch: usize,
    /// Taken, but past the bytes of one commit: the first of the next.
    kept: Option<Waiting>,
}

impl Queues {
    /// All that waits, up to the bounds; waits for the first. Empty: the end.
    async fn next(&mut self) -> Vec<Waiting> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        if let Some(first) = self.kept.take() {
            bytes += size(&first.write);
            batch.push(first);
        } else {
            let Some(first) = self.first().await else {
                return batch;
            };
            bytes += size(&first.write);
            batch.push(first);
        }
        while batch.len() < self.max_batch
            && let Ok(waiting) = self.interactive.try_recv()
        {
            bytes += size(&waiting.write);
            if bytes > limits::BYTES_PER_COMMIT {
                self.kept = Some(waiting);
                return batch;
            }
            batch.push(waiting);
        }
        let behind = limits::BACKGROUND_WRITES_PER_COMMIT.min(self.max_batch);
        for _ in 0..behind {
            if bytes > limits::BYTES_PER_COMMIT || (self.max_batch == 1 && !batch.is_empty()) {
                break;
            }
            let Ok(waiting) = self.background.try_recv() else {
                break;
            };
            bytes += size(&waiting.write);
            batch.push(waiting);
        }
        batch
    }

    async fn first(&mut self) -> Option<Waiting> {
        tokio::select! {
            biased;
            Some(waiting) = self.interactive.recv() => Some(waiting),
            Some(waiting) = self.background.recv() => Some(waiting),
            Some(()) = self.stopping.recv() => {
                self.interactive.close();
                self.background.close();
                self.stopping.close();
                match self.interactive.recv().await {
                    Some(waiting) => Some(waiting),
                    None => self.background.recv().await,
                }
            }
            // Closed and drained, or every writer is gone.
            else => None,
        }
    }
}

/// What a write holds in memory, roughly: its bodies.
fn size(write: &Write) -> usize {
    match write {
        Write::Accept(acceptance) => acceptance.delivery.body.len(),
        Write::Answer(answer) => answer.response.body.len(),
        Write::Notify(notification) => notification.message.payload.len(),
        Write::Convert(_)
        | Write::Release { .. }
        | Write::Settle(_)
        | Write::Remember(_)
        | Write::Begin(_)
        | Write::Sent(_)
        | Write::Resolve(_)
        | Write::Elapse(_)
        | Write::PatchDeal(_)
        | Write::CreateDeal(_)
        | Write::LogDeal(_)
        | Write::PatchTicket(_) => 0,
    }
}

async fn run(store: Arc<dyn Store>, mut queues: Queues, watch: Watch) {
    loop {
        let batch = queues.next().await;
        if batch.is_empty() {
            break;
        }
        let (writes, answers): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.write, waiting.answer))
            .unzip();
        // In a task of its own: a defect that panics costs one batch, whose
        // waiters hear 503, and not the writer.
        let (store, watch) = (Arc::clone(&store), Arc::clone(&watch));
        let committing = tokio::spawn(async move { commit(&*store, &writes, &watch).await });
        match committing.await {
            Ok(results) => {
                for (answer, result) in answers.into_iter().zip(results) {
                    // Who does not wait any more has it committed all the same.
                    drop(answer.send(result));
                }
            }
            Err(error) => tracing::error!(%error, "a batch ended badly"),
        }
    }
}

/// An answer for each write, whatever becomes of its neighbours.
async fn commit(
    store: &dyn Store,
    writes: &[Write],
    watch: &Watch,
) -> Vec<Result<Written, StoreError>> {
    let mut answers = Vec::with_capacity(writes.len());
    // Parts still to commit, the next one last.
    let mut parts = vec![writes];
    while let Some(part) = parts.pop() {
        let started = Instant::now();
        let result = store.commit(part).await;
        watch(&Commit {
            writes: part.len(),
            took: started.elapsed(),
            done: result.is_ok(),
        });
        match result {
            Ok(written) => answers.extend(written.into_iter().map(Ok)),
            Err(error) if part.len() > 1 && may_be_one_writes_fault(&error) => {
                tracing::warn!(%error, writes = part.len(), "a batch failed and is split");
                let (left, right) = part.split_at(part.len() / 2);
                parts.push(right);
                parts.push(left);
            }
            Err(error) => {
                for _ in 1..part.len() {
                    answers.push(Err(error.again()));
                }
                answers.push(Err(error));
            }
        }
    }
    answers
}

/// Splitting helps only when the store itself is well.
fn may_be_one_writes_fault(error: &StoreError) -> bool {
    !matches!(
        error,
        StoreError::Full
            | StoreError::Unavailable(_)
            | StoreError::Lost(_)
            | StoreError::Busy
            | StoreError::Open(_)
    )
}
