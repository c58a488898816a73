//! Group commit: the writes of concurrent requests are committed together.
//!
//! One task owns the writes of leads to the store. When a commit returns, it takes all writes that
//! wait. There is no timer, so a lone request does not wait and many requests share one fsync. If
//! several connections write, each has a few places in a commit (`write_queue`), so that commits
//! stay short. Background writes are added behind the interactive ones, a few per commit. Large
//! deliveries are added one part at a time, if possible in a commit of their own. A batch that
//! fails is split until the failing write is alone; the others commit. Answers are given after the
//! commit, never before.

use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::write_queue::{CommittedWrite, PushError, QueuedWrite, WriteQueue};
use super::{Batch, Store, StoreErrorCause, Write, WriteOutcome};
use crate::prelude::*;
use leadhost_trace::{self as trace, Span, SpanKind, StepFailure};

/// Passes writes to the task that commits them. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Arc<WriteQueue>,
    background: mpsc::Sender<QueuedWrite>,
    stop: mpsc::Sender<()>,
    task: Mutex<Option<JoinHandle<()>>>,
    trouble: Arc<Trouble>,
    /// The kind of database, by its name in the semantic conventions of OpenTelemetry.
    system: &'static str,
}

/// Why the last commit failed, if the store and not a write was at fault.
#[derive(Default)]
struct Trouble(StdMutex<Option<String>>);

impl Trouble {
    fn is(&self, reason: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    fn get(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Commit {
    pub writes: usize,
    pub took: Duration,
    /// False: it failed and changed nothing.
    pub done: bool,
}

type Watch = Arc<dyn Fn(&Commit) + Send + Sync>;

impl Writer {
    /// Starts a writer with at most `limits::WRITES_PER_COMMIT` interactive writes in a
    /// commit.
    pub fn start(store: Arc<Store>) -> Self {
        Self::with_max_batch(store, limits::WRITES_PER_COMMIT)
    }

    /// Starts a writer with at most `max_batch` interactive writes in a commit. `watch` is called
    /// for every transaction.
    pub fn watched(
        store: Arc<Store>,
        max_batch: usize,
        watch: impl Fn(&Commit) + Send + Sync + 'static,
    ) -> Self {
        Self::begin(store, max_batch, Arc::new(watch))
    }

    /// Starts a writer with at most this many interactive writes in a commit. With 1, each is
    /// committed alone.
    pub fn with_max_batch(store: Arc<Store>, max_batch: usize) -> Self {
        Self::begin(store, max_batch, Arc::new(|_| {}))
    }

    fn begin(store: Arc<Store>, max_batch: usize, watch: Watch) -> Self {
        let queue = Arc::new(WriteQueue::new(store.writes_of_one()));
        let system = if store.is_shared() {
            "postgresql"
        } else {
            "sqlite"
        };
        let (background, background_queue) = mpsc::channel(limits::WRITES_WAITING);
        let (stop, stopping) = mpsc::channel(1);
        let queues = Queues {
            queue: Arc::clone(&queue),
            background: background_queue,
            stopping,
            max_batch: max_batch.max(1),
            behind: None,
            passed: 0,
        };
        let trouble = Arc::new(Trouble::default());
        let task = tokio::spawn(run(store, queues, watch, Arc::clone(&trouble)));
        Self {
            shared: Arc::new(Shared {
                queue,
                background,
                stop,
                task: Mutex::new(Some(task)),
                trouble,
                system,
            }),
        }
    }

    /// Commits a write that a request waits for.
    pub async fn submit(&self, write: Write) -> Result<WriteOutcome, StoreError> {
        let span = CommitSpan::begin(self.shared.system);
        let (answer, answered) = oneshot::channel();
        let pushed = self.shared.queue.push(QueuedWrite { write, answer });
        let pushed = pushed.map_err(|refused| match refused {
            PushError::Full => StoreError::Busy,
            PushError::Closed => stopped(),
        });
        match pushed {
            Ok(()) => span.end(answered.await.ok()),
            Err(error) => span.refused(error),
        }
    }

    /// Commits a background write, behind those that requests wait for.
    pub async fn submit_background(&self, write: Write) -> Result<WriteOutcome, StoreError> {
        let span = CommitSpan::begin(self.shared.system);
        let (answer, answered) = oneshot::channel();
        let sent = self
            .shared
            .background
            .try_send(QueuedWrite { write, answer });
        let sent = sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => stopped(),
        });
        match sent {
            Ok(()) => span.end(answered.await.ok()),
            Err(error) => span.refused(error),
        }
    }

    /// Returns whether a write of this connection would be accepted now. A caller that checks this
    /// first does no work in vain.
    pub fn has_room(&self, connection: &ConnectionId) -> bool {
        self.shared.queue.has_room(connection)
    }

    /// Waits for a moment until a write of this connection would be accepted.
    pub async fn room(&self, connection: &ConnectionId) {
        self.shared
            .queue
            .room(connection, limits::ROOM_PATIENCE)
            .await;
    }

    /// Returns whether an interactive write waits to be taken.
    pub fn is_waited_for(&self) -> bool {
        !self.shared.queue.is_empty()
    }

    /// Returns why the last commit failed, until a commit succeeds.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.get()
    }

    pub fn is_well(&self) {
        self.shared.trouble.is(None);
    }

    /// Refuses further writes, commits those that wait, and returns when that is done.
    pub async fn shutdown(&self) {
        // Full: a shutdown was requested before.
        let _ = self.shared.stop.try_send(());
        if let Some(task) = self.shared.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "writer task failed");
        }
    }
}

/// The step of a trace in which a write is committed: the wait for its turn, then the transaction,
/// which other writes share.
struct CommitSpan {
    span: Span,
    pushed: Option<Instant>,
    system: &'static str,
}

impl CommitSpan {
    fn begin(system: &'static str) -> Self {
        let span = trace::span("commit", SpanKind::Internal);
        Self {
            pushed: span.is_on().then(Instant::now),
            span,
            system,
        }
    }

    fn refused(self, error: StoreError) -> Result<WriteOutcome, StoreError> {
        self.span.fail(StepFailure::Store);
        Err(error)
    }

    /// Ends the step with the answer of the writer. `None`: the writer has stopped.
    fn end(self, answered: Option<CommittedWrite>) -> Result<WriteOutcome, StoreError> {
        let Some(committed) = answered else {
            return self.refused(stopped());
        };
        if let Some(pushed) = self.pushed {
            let waited = committed.began.saturating_duration_since(pushed);
            let describe = |_: &Span| {};
            self.span.add(
                "wait for commit",
                SpanKind::Internal,
                pushed,
                waited,
                describe,
            );
            let describe = |transaction: &Span| {
                transaction.set("db.system.name", self.system);
                transaction.set("db.operation.name", "COMMIT");
                transaction.set("leadhost.commit.writes", committed.writes);
                // By the conventions, one operation is no batch.
                if committed.writes > 1 {
                    transaction.set("db.operation.batch.size", committed.writes);
                }
                if committed.result.is_err() {
                    transaction.fail(StepFailure::Store);
                }
            };
            self.span.add(
                "COMMIT",
                SpanKind::Client,
                committed.began,
                committed.took,
                describe,
            );
        }
        committed.result
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable(StoreErrorCause::Closed)
}

struct Queues {
    queue: Arc<WriteQueue>,
    background: mpsc::Receiver<QueuedWrite>,
    stopping: mpsc::Receiver<()>,
    max_batch: usize,
    /// A background write that was taken and lets others go first.
    behind: Option<QueuedWrite>,
    /// The number of commits that went before it.
    passed: u32,
}

impl Queues {
    /// Waits for the first write, and returns all that wait, up to the bounds. Empty: the writer
    /// has ended.
    async fn next(&mut self) -> Vec<QueuedWrite> {
        let mut batch = Vec::new();
        if self.behind.is_none() {
            match self.first().await {
                Some(First::WaitedFor) => {}
                Some(First::Background(first)) => self.behind = Some(first),
                None => return batch,
            }
        }
        let is_full = self.queue.take(self.max_batch, &mut batch);
        if !is_full && (self.max_batch > 1 || batch.is_empty()) {
            self.add_background(&mut batch);
        }
        batch
    }

    /// Adds background writes, with at most the cost of one part of a large delivery. Such a part
    /// is only added after it has let some commits go first.
    fn add_background(&mut self, batch: &mut Vec<QueuedWrite>) {
        let waited_for = !batch.is_empty();
        let mut cost = 0;
        for _ in 0..limits::BACKGROUND_WRITES_PER_COMMIT.min(self.max_batch) {
            let Some(waiting) = self.next_behind() else {
                break;
            };
            let more = waiting.write.cost();
            let large = more > limits::LEAD_COST;
            let steps_back = large && waited_for && self.passed < limits::COMMITS_BEFORE_A_PART;
            if steps_back || (cost > 0 && cost + more > limits::PART_COST) {
                self.passed += u32::from(steps_back);
                self.behind = Some(waiting);
                break;
            }
            if large {
                self.passed = 0;
            }
            cost += more;
            batch.push(waiting);
        }
    }

    fn next_behind(&mut self) -> Option<QueuedWrite> {
        let waiting = self.behind.take();
        waiting.or_else(|| self.background.try_recv().ok())
    }

    async fn first(&mut self) -> Option<First> {
        loop {
            if !self.queue.is_empty() {
                return Some(First::WaitedFor);
            }
            tokio::select! {
                biased;
                () = self.queue.wait_for_write() => {}
                waiting = self.background.recv() => match waiting {
                    Some(waiting) => return Some(First::Background(waiting)),
                    // Closed and drained, or every writer was dropped.
                    None if self.queue.is_empty() => return None,
                    None => {}
                },
                Some(()) = self.stopping.recv() => {
                    self.queue.close();
                    self.background.close();
                    self.stopping.close();
                }
            }
        }
    }
}

/// The event that ends the wait.
enum First {
    WaitedFor,
    Background(QueuedWrite),
}

async fn run(store: Arc<Store>, mut queues: Queues, watch: Watch, trouble: Arc<Trouble>) {
    loop {
        let batch = queues.next().await;
        if batch.is_empty() {
            break;
        }
        let (writes, answers): (Vec<Write>, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.write, waiting.answer))
            .unzip();
        // In a task of its own: if a defect panics, only this batch is lost, its requests get 503,
        // and the writer continues.
        let (store, watch) = (Arc::clone(&store), Arc::clone(&watch));
        let trouble = Arc::clone(&trouble);
        let committing =
            tokio::spawn(async move { commit(&store, writes.into(), &watch, &trouble).await });
        match committing.await {
            Ok(results) => {
                for (answer, result) in answers.into_iter().zip(results) {
                    // If the requester no longer waits, the write is still committed.
                    drop(answer.send(result));
                }
            }
            Err(error) => tracing::error!(%error, "batch task failed"),
        }
    }
}

/// Commits the batch and returns an answer for each write. A failing write does not affect the
/// others.
async fn commit(
    store: &Store,
    batch: Batch,
    watch: &Watch,
    trouble: &Trouble,
) -> Vec<CommittedWrite> {
    let mut answers = Vec::with_capacity(batch.len());
    // The parts still to commit. The next one is last.
    let mut parts = vec![batch];
    while let Some(part) = parts.pop() {
        let started = Instant::now();
        let result = store.commit_batch(part.clone()).await;
        let (writes, took) = (part.len(), started.elapsed());
        watch(&Commit {
            writes,
            took,
            done: result.is_ok(),
        });
        let committed = |result| CommittedWrite {
            result,
            began: started,
            took,
            writes,
        };
        match result {
            Ok(written) => {
                trouble.is(None);
                answers.extend(written.into_iter().map(|one| committed(Ok(one))));
            }
            Err(error) if part.len() > 1 && may_be_one_writes_fault(&error) => {
                tracing::warn!(%error, writes = part.len(), "batch failed, splitting it");
                let (left, right) = part.halves();
                parts.push(right);
                parts.push(left);
            }
            Err(error) => {
                if !may_be_one_writes_fault(&error) {
                    trouble.is(Some(error.to_string()));
                }
                for _ in 1..part.len() {
                    answers.push(committed(Err(error.again())));
                }
                answers.push(committed(Err(error)));
            }
        }
    }
    answers
}

/// Returns whether splitting may help: only if the store itself works.
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
