//! The threads that hold connections to the file: one that writes and a few that read. An
//! operation runs completely on one thread, in one transaction.
//!
//! A failed transaction is rolled back. A connection that cannot roll back, or whose
//! operation panicked, is closed, which also rolls back; the next operation opens a new one.
//! A read whose caller has gone away is interrupted.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;

use super::commits::Commits;
use super::connections::SqliteOptions;
use crate::prelude::*;

/// The steps of an operation in its transaction.
pub type TxSteps<'t, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 't>>;

/// How a successful transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    /// Rolled back on purpose.
    Undo,
}

/// The steps of an operation, whatever their result: what runs them is compiled once, and not for each type.
pub type Steps = Box<dyn for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, End> + Send>;

/// What steps leave when they have run.
pub struct Kept<T>(oneshot::Receiver<T>);

impl<T> Kept<T> {
    pub fn take(mut self) -> Result<T, StoreError> {
        self.0.try_recv().map_err(|_| without_a_result())
    }
}

fn without_a_result() -> StoreError {
    StoreError::Inconsistent {
        what: "a store operation ended without a result".to_owned(),
    }
}

/// Takes steps that say how their transaction ends.
pub fn deciding<T, F>(steps: F) -> (Steps, Kept<T>)
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, (T, End)> + Send + 'static,
{
    let (keeping, kept) = oneshot::channel();
    (Box::new(move |tx| keep(steps(tx), keeping)), Kept(kept))
}

fn keep<T: Send + 'static>(
    steps: TxSteps<'_, (T, End)>,
    keeping: oneshot::Sender<T>,
) -> TxSteps<'_, End> {
    Box::pin(async move {
        let (value, end) = steps.await?;
        // The caller may have gone away.
        let _ = keeping.send(value);
        Ok(end)
    })
}

/// Takes steps whose transaction always ends in this way if they succeed.
pub fn ending<T, F>(steps: F, end: End) -> (Steps, Kept<T>)
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> TxSteps<'t, T> + Send + 'static,
{
    deciding(move |tx| ended(steps(tx), end))
}

fn ended<T: Send + 'static>(steps: TxSteps<'_, T>, end: End) -> TxSteps<'_, (T, End)> {
    Box::pin(async move { Ok((steps.await?, end)) })
}

/// How long a read may take, for scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobLength {
    /// A few rows, found by an index.
    Short,
    /// A page of many rows. One thread is always kept free for short reads.
    Long,
}

/// Returns the SQLite connection of a transaction on one of these threads.
pub fn connection(tx: &mut Tx) -> Result<&mut Connection, StoreError> {
    match tx {
        Tx::Sqlite(connection) => Ok(connection),
        Tx::Postgres(_) => Err(StoreError::Inconsistent {
            what: "the connection is to another kind of database".to_owned(),
        }),
    }
}

/// Runs blocking work with a connection of its own, outside these threads.
pub async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::Inconsistent {
            what: format!("a task on the file of the store failed: {error}"),
        })
    })
}

/// Work for a thread: it uses the thread's transaction and sends the answer.
type TxJob = Box<dyn FnOnce(&mut Holder) + Send>;

struct Holder {
    options: SqliteOptions,
    tx: Option<Tx>,
    commits: Arc<Commits>,
}

impl Holder {
    /// Returns the connection, opening one if there is none.
    fn tx(&mut self) -> Result<&mut Tx, StoreError> {
        match &mut self.tx {
            Some(tx) => Ok(tx),
            none => Ok(none.insert(Tx::Sqlite(self.options.open()?))),
        }
    }

    /// Frees the pages that the connection caches. If that fails, they stay cached.
    fn rest(&mut self) {
        if let Some(Tx::Sqlite(connection)) = &mut self.tx {
            let _ = connection.execute_batch("pragma shrink_memory");
        }
    }

    fn within(&mut self, begin: &str, steps: Steps) -> Result<(), StoreError> {
        let tx = self.tx()?;
        batch(tx, begin)?;
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| at_once(steps(tx))));
        let result = match result {
            Ok(result) => result,
            Err(panic) => {
                self.tx = None;
                std::panic::resume_unwind(panic);
            }
        };
        let ended = result.and_then(|end| match end {
            End::Commit => batch(tx, "commit").map(|()| end),
            End::Undo => batch(tx, "rollback").map(|()| end),
        });
        match ended {
            Ok(End::Commit) => {
                self.commits.add();
                Ok(())
            }
            Ok(End::Undo) => Ok(()),
            Err(error) => {
                let is_at_rest = connection(tx).is_ok_and(|connection| connection.is_autocommit());
                if !is_at_rest && batch(tx, "rollback").is_err() {
                    self.tx = None;
                }
                if matches!(error, StoreError::Full) {
                    self.commits.lacks_room();
                }
                Err(error)
            }
        }
    }
}

fn batch(tx: &mut Tx, sql: &str) -> Result<(), StoreError> {
    Ok(connection(tx)?.execute_batch(sql)?)
}

/// Returns the result of a future that awaits nothing.
fn at_once<T>(mut future: TxSteps<'_, T>) -> Result<T, StoreError> {
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Inconsistent {
            what: "an operation awaited something other than the store".to_owned(),
        }),
    }
}

/// The waiting work and the idle threads.
struct Queue {
    state: Mutex<ThreadPoolState>,
    /// The maximum number of threads with long work.
    most_long: usize,
    most_waiting: usize,
}

#[derive(Default)]
struct ThreadPoolState {
    waiting: VecDeque<(JobLength, TxJob)>,
    /// The last thread to become idle is the first to be woken: its connection is open and
    /// its pages are cached, so the others can rest.
    idle: Vec<Thread>,
    long_running: usize,
    closed: bool,
}

/// The next thing that a thread does.
enum NextJob {
    Work(JobLength, TxJob),
    /// No work came within the thread's patience.
    Rest,
    /// The queue is closed.
    End,
}

impl Queue {
    fn new(threads: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            most_long: (threads - 1).max(1),
            most_waiting,
        })
    }

    fn state(&self) -> MutexGuard<'_, ThreadPoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, length: JobLength, job: TxJob) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.waiting.len() >= self.most_waiting {
            return Err(StoreError::Busy);
        }
        state.waiting.push_back((length, job));
        wake_one(state);
        Ok(())
    }

    fn next(&self, patience: Option<Duration>) -> NextJob {
        let until = patience.map(|patience| Instant::now() + patience);
        let this = thread::current();
        loop {
            let mut state = self.state();
            state.idle.retain(|idle| idle.id() != this.id());
            let may_be_long = state.long_running < self.most_long;
            let next = state
                .waiting
                .iter()
                .position(|(length, _)| may_be_long || *length == JobLength::Short);
            if let Some((length, job)) = next.and_then(|place| state.waiting.remove(place)) {
                state.long_running += usize::from(length == JobLength::Long);
                return NextJob::Work(length, job);
            }
            if state.closed {
                return NextJob::End;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return NextJob::Rest;
            }
            state.idle.push(this.clone());
            drop(state);
            match left {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }

    fn done(&self, length: JobLength) {
        if length == JobLength::Long {
            let mut state = self.state();
            state.long_running -= 1;
            if !state.waiting.is_empty() {
                wake_one(state);
            }
        }
    }

    fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for idle in state.idle.drain(..) {
            idle.unpark();
        }
    }
}

/// Wakes an idle thread. Busy threads look for work when they are done.
fn wake_one(mut state: MutexGuard<'_, ThreadPoolState>) {
    let idle = state.idle.pop();
    drop(state);
    if let Some(idle) = idle {
        idle.unpark();
    }
}

/// The threads of one kind.
pub struct StoreThreads {
    queue: Arc<Queue>,
    begin: &'static str,
}

impl StoreThreads {
    /// Starts the thread that writes. It counts its commits.
    pub fn writer(options: SqliteOptions, commits: Arc<Commits>) -> Self {
        Self::start(
            "store-writer",
            options,
            commits,
            1,
            limits::STORE_WRITES_WAITING,
            "begin immediate",
        )
    }

    /// Starts the threads that read, each on a snapshot.
    pub fn readers(options: SqliteOptions) -> Self {
        let threads = limits::STORE_READERS as usize;
        Self::start(
            "store-reader",
            options,
            // Readers never commit.
            Arc::default(),
            threads,
            limits::STORE_READS_WAITING,
            "begin",
        )
    }

    fn start(
        name: &str,
        options: SqliteOptions,
        commits: Arc<Commits>,
        threads: usize,
        most_waiting: usize,
        begin: &'static str,
    ) -> Self {
        let queue = Queue::new(threads, most_waiting);
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            let holder = Holder {
                options: options.clone(),
                tx: None,
                commits: Arc::clone(&commits),
            };
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || work(&queue, holder))
                .expect("the operating system gives a thread");
        }
        Self { queue, begin }
    }

    /// Runs an operation in a transaction of its own.
    pub async fn run(&self, length: JobLength, steps: Steps) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        let running = Arc::new(RunningRead::default());
        let watched = Arc::clone(&running);
        let begin = self.begin;
        let job: TxJob = Box::new(move |holder| {
            if !watched.begins(holder) {
                return;
            }
            let result = holder.within(begin, steps);
            watched.ends();
            // The caller may have gone away.
            let _ = answer.send(result);
        });
        self.queue.push(length, job)?;
        let abandoned = Abandoned(&running);
        let result = answered.await;
        std::mem::forget(abandoned);
        result.unwrap_or_else(|_| Err(without_a_result()))
    }
}

impl Drop for StoreThreads {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn work(queue: &Queue, mut holder: Holder) {
    let rest = limits::STORE_RESTS_AFTER;
    let mut patience = None;
    loop {
        match queue.next(patience) {
            NextJob::Work(length, job) => {
                let result = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut holder)));
                queue.done(length);
                if result.is_err() {
                    tracing::error!("store operation panicked");
                }
                patience = Some(rest);
            }
            NextJob::Rest => {
                holder.rest();
                patience = None;
            }
            NextJob::End => return,
        }
    }
}

/// The state of an operation, shared between its thread and its caller.
#[derive(Default)]
struct RunningRead(Mutex<Stage>);

#[derive(Default)]
enum Stage {
    #[default]
    Waits,
    Runs(InterruptHandle),
    Over,
}

impl RunningRead {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the caller still waits.
    fn begins(&self, holder: &mut Holder) -> bool {
        let mut stage = self.stage();
        if matches!(*stage, Stage::Over) {
            return false;
        }
        if let Ok(Tx::Sqlite(connection)) = holder.tx() {
            *stage = Stage::Runs(connection.get_interrupt_handle());
        }
        true
    }

    fn ends(&self) {
        *self.stage() = Stage::Over;
    }
}

/// Ends the operation if the caller stops waiting.
struct Abandoned<'a>(&'a RunningRead);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let mut stage = self.0.stage();
        if let Stage::Runs(handle) = &*stage {
            // This operation is the one that runs: it takes the lock before another can
            // begin.
            handle.interrupt();
        }
        *stage = Stage::Over;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rusqlite::functions::FunctionFlags;
    use tempfile::TempDir;

    use super::*;
    use crate::sql::steps;
    use leadhost_domain::clock::SystemClock;

    /// Reports that it runs, and does not end.
    const ENDLESS: &str = "
with recursive numbers (number) as (select report() union all select number + 1 from numbers)
select count(*) from numbers";

    fn threads(threads: usize, most_waiting: usize) -> (TempDir, Arc<StoreThreads>) {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions::to_write(folder.path().join("t.db"), Arc::new(SystemClock));
        // Only one thread at a time can make the file.
        drop(options.open().expect("the file"));
        let threads =
            StoreThreads::start("t", options, Arc::default(), threads, most_waiting, "begin");
        (folder, Arc::new(threads))
    }

    type Operation = tokio::task::JoinHandle<Result<(), StoreError>>;

    /// Starts an operation that reports that it runs, and that runs until the other end is
    /// dropped.
    fn run(
        threads: &Arc<StoreThreads>,
        length: JobLength,
        runs: &mpsc::Sender<()>,
    ) -> (Operation, mpsc::Sender<()>) {
        let (threads, runs) = (Arc::clone(threads), runs.clone());
        let (end, until) = mpsc::channel::<()>();
        let running = tokio::spawn(async move {
            let (steps, _) = ending(
                steps!(|_tx| {
                    let _ = runs.send(());
                    let _ = until.recv();
                    Ok(())
                }),
                End::Undo,
            );
            threads.run(length, steps).await
        });
        (running, end)
    }

    async fn short(threads: &StoreThreads) -> Result<(), StoreError> {
        let (steps, _) = ending(steps!(|_tx| Ok(())), End::Undo);
        threads.run(JobLength::Short, steps).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_operations_leave_a_thread_to_short_ones() {
        let (_folder, threads) = threads(3, 10);
        let (runs, began) = mpsc::channel();
        let long: Vec<_> = (0..3)
            .map(|_| run(&threads, JobLength::Long, &runs))
            .collect();
        began.recv().expect("one runs");
        began.recv().expect("another one runs");
        short(&threads).await.expect("it has a thread");
        assert!(began.try_recv().is_err(), "a third one runs");
        // Any of the three may be the one that waits for the end of another.
        let (running, ends): (Vec<_>, Vec<_>) = long.into_iter().unzip();
        drop(ends);
        for running in running {
            running.await.expect("no panic").expect("it ends");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_queue_of_operations_is_bounded() {
        let (_folder, threads) = threads(1, 2);
        let (runs, began) = mpsc::channel();
        let (first, end) = run(&threads, JobLength::Short, &runs);
        began.recv().expect("it runs");
        for _ in 0..2 {
            let runs = runs.clone();
            let job: TxJob = Box::new(move |_| runs.send(()).expect("the test receives it"));
            let pushed = threads.queue.push(JobLength::Short, job);
            pushed.expect("there is room");
        }
        let refused = short(&threads).await;
        assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
        drop(end);
        first.await.expect("no panic").expect("it ends");
        began.recv().expect("one that waited runs");
        began.recv().expect("the other one too");
        short(&threads).await.expect("there is room again");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_abandoned_read_is_interrupted() {
        let (_folder, threads) = threads(1, 10);
        let (runs, began) = mpsc::channel();
        let own = Arc::clone(&threads);
        let read = tokio::spawn(async move {
            let (steps, _) = ending(
                steps!(|tx| {
                    let connection = connection(tx)?;
                    let flags = FunctionFlags::SQLITE_UTF8;
                    connection.create_scalar_function("report", 0, flags, move |_| {
                        let _ = runs.send(());
                        Ok(1)
                    })?;
                    Ok(connection.execute_batch(ENDLESS)?)
                }),
                End::Undo,
            );
            own.run(JobLength::Long, steps).await
        });
        began.recv().expect("it runs");
        read.abort();
        short(&threads).await.expect("the thread is free");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_operation_that_waits_for_something_else_is_an_error() {
        let (_folder, threads) = threads(1, 10);
        let (steps, _) = ending(
            steps!(|_tx| {
                std::future::pending::<()>().await;
                Ok(())
            }),
            End::Undo,
        );
        let result = threads.run(JobLength::Short, steps).await;
        assert!(
            matches!(result, Err(StoreError::Inconsistent { .. })),
            "{result:?}"
        );
        short(&threads).await.expect("the thread goes on");
    }
}
