//! The threads that hold connections to the file: one that writes, a few that read. An
//! operation runs from its start to its end on its thread, in one transaction.
//!
//! A transaction that fails is rolled back; a connection that cannot roll back, or
//! whose operation panicked, is closed, which does the same, and the next operation
//! opens another. A read that nobody waits for any more is interrupted.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;

use super::checkpoint::Commits;
use super::connections::Opening;
use crate::limits;
use crate::store::StoreError;
use crate::store::sql::Tx;

/// What an operation does in its transaction.
pub type Steps<'t, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 't>>;

/// How a transaction ends that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    /// It is undone on purpose.
    Undo,
}

/// An operation whose transaction always ends like this when it goes well.
pub fn ending<T, F>(
    steps: F,
    end: End,
) -> impl for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)> + Send + 'static
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, T> + Send + 'static,
{
    move |tx| {
        let steps = steps(tx);
        Box::pin(async move { Ok((steps.await?, end)) })
    }
}

/// How long a read may take beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// A few rows that an index leads to.
    Short,
    /// A page of many rows. One thread is always left to short reads.
    Long,
}

/// The connection of a transaction on one of these threads.
pub fn connection(tx: &mut Tx) -> Result<&mut Connection, StoreError> {
    match tx {
        Tx::Sqlite(connection) => Ok(connection),
        Tx::Postgres(_) => Err(StoreError::Inconsistent {
            what: "a connection of another database".to_owned(),
        }),
    }
}

/// Work beside the threads, with a connection of its own: it may block.
pub async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::Inconsistent {
            what: format!("work on the file of the store ended badly: {error}"),
        })
    })
}

/// Work for a thread: it takes the thread's transaction and answers to who waits.
type Job = Box<dyn FnOnce(&mut Holder) + Send>;

/// What a thread works with.
struct Holder {
    opening: Opening,
    tx: Option<Tx>,
    commits: Arc<Commits>,
}

impl Holder {
    /// The connection, opened where there is none.
    fn tx(&mut self) -> Result<&mut Tx, StoreError> {
        match &mut self.tx {
            Some(tx) => Ok(tx),
            none => Ok(none.insert(Tx::Sqlite(self.opening.open()?))),
        }
    }

    /// Gives back the pages that the connection has at hand. Where that fails it keeps them.
    fn rest(&mut self) {
        if let Some(Tx::Sqlite(connection)) = &mut self.tx {
            let _ = connection.execute_batch("pragma shrink_memory");
        }
    }

    /// One transaction.
    fn within<T>(
        &mut self,
        begin: &str,
        steps: impl for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)>,
    ) -> Result<T, StoreError> {
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
        let ended = match result {
            Ok((value, End::Commit)) => batch(tx, "commit").map(|()| (value, End::Commit)),
            Ok((value, End::Undo)) => batch(tx, "rollback").map(|()| (value, End::Undo)),
            Err(error) => Err(error),
        };
        match ended {
            Ok((value, end)) => {
                if end == End::Commit {
                    self.commits.add();
                }
                Ok(value)
            }
            Err(error) => {
                let is_at_rest = connection(tx).is_ok_and(|connection| connection.is_autocommit());
                if !is_at_rest && batch(tx, "rollback").is_err() {
                    self.tx = None;
                }
                Err(error)
            }
        }
    }
}

fn batch(tx: &mut Tx, sql: &str) -> Result<(), StoreError> {
    Ok(connection(tx)?.execute_batch(sql)?)
}

/// What a future answers that waits for nothing.
fn at_once<T>(mut future: Steps<'_, T>) -> Result<T, StoreError> {
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Inconsistent {
            what: "an operation waited for something beside the store".to_owned(),
        }),
    }
}

/// What waits for threads, and threads that wait for work.
struct Queue {
    state: Mutex<State>,
    /// Threads that long work may have at once.
    most_long: usize,
    most_waiting: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Length, Job)>,
    /// The last one to come is the first to go: its connection is open, its pages are at
    /// hand, and the others rest.
    idle: Vec<Thread>,
    long_running: usize,
    closed: bool,
}

/// What a thread is to do.
enum Next {
    Work(Length, Job),
    /// Nothing came for as long as it was to wait.
    Rest,
    /// There will be nothing more.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, length: Length, job: Job) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.waiting.len() >= self.most_waiting {
            return Err(StoreError::Busy);
        }
        state.waiting.push_back((length, job));
        wake_one(state);
        Ok(())
    }

    /// The next work for this thread, which waits for it this long at most.
    fn next(&self, patience: Option<Duration>) -> Next {
        let until = patience.map(|patience| Instant::now() + patience);
        let this = thread::current();
        loop {
            let mut state = self.state();
            state.idle.retain(|idle| idle.id() != this.id());
            let may_be_long = state.long_running < self.most_long;
            let next = state
                .waiting
                .iter()
                .position(|(length, _)| may_be_long || *length == Length::Short);
            if let Some((length, job)) = next.and_then(|place| state.waiting.remove(place)) {
                state.long_running += usize::from(length == Length::Long);
                return Next::Work(length, job);
            }
            if state.closed {
                return Next::End;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Next::Rest;
            }
            state.idle.push(this.clone());
            drop(state);
            match left {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }

    fn done(&self, length: Length) {
        if length == Length::Long {
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

/// Has an idle thread look for work: one that is busy looks when it is done.
fn wake_one(mut state: MutexGuard<'_, State>) {
    let idle = state.idle.pop();
    drop(state);
    if let Some(idle) = idle {
        idle.unpark();
    }
}

/// Threads of one kind.
pub struct Threads {
    queue: Arc<Queue>,
    begin: &'static str,
}

impl Threads {
    /// One thread that writes, and counts what it commits.
    pub fn writer(opening: Opening, commits: Arc<Commits>) -> Self {
        Self::start(
            "store-writer",
            opening,
            commits,
            1,
            limits::STORE_WRITES_WAITING,
            "begin immediate",
        )
    }

    /// Threads that read, each on a snapshot.
    pub fn readers(opening: Opening) -> Self {
        let threads = limits::STORE_READERS as usize;
        Self::start(
            "store-reader",
            opening,
            // They never commit.
            Arc::default(),
            threads,
            limits::STORE_READS_WAITING,
            "begin",
        )
    }

    fn start(
        name: &str,
        opening: Opening,
        commits: Arc<Commits>,
        threads: usize,
        most_waiting: usize,
        begin: &'static str,
    ) -> Self {
        let queue = Queue::new(threads, most_waiting);
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            let holder = Holder {
                opening: opening.clone(),
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

    /// Runs an operation in a transaction of its own, and waits for its answer.
    pub async fn run<T, F>(&self, length: Length, steps: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Steps<'t, (T, End)> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let running = Arc::new(Running::default());
        let watched = Arc::clone(&running);
        let begin = self.begin;
        let job: Job = Box::new(move |holder| {
            if !watched.begins(holder) {
                return;
            }
            let result = holder.within(begin, steps);
            watched.ends();
            // Nobody may wait any more.
            let _ = answer.send(result);
        });
        self.queue.push(length, job)?;
        let abandoned = Abandoned(&running);
        let result = answered.await;
        std::mem::forget(abandoned);
        result.unwrap_or_else(|_| {
            Err(StoreError::Inconsistent {
                what: "an operation of the store ended badly".to_owned(),
            })
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn work(queue: &Queue, mut holder: Holder) {
    let rest = Duration::from_secs(limits::STORE_REST_SECONDS);
    let mut patience = None;
    loop {
        match queue.next(patience) {
            Next::Work(length, job) => {
                let result = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut holder)));
                queue.done(length);
                if result.is_err() {
                    tracing::error!("an operation of the store panicked");
                }
                patience = Some(rest);
            }
            Next::Rest => {
                holder.rest();
                patience = None;
            }
            Next::End => return,
        }
    }
}

/// An operation on its thread, for who waits for it.
#[derive(Default)]
struct Running(Mutex<Stage>);

#[derive(Default)]
enum Stage {
    #[default]
    Waits,
    Runs(InterruptHandle),
    Over,
}

impl Running {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits for it still.
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

/// Dropped while an operation is waited for, it ends the operation.
struct Abandoned<'a>(&'a Running);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let mut stage = self.0.stage();
        if let Stage::Runs(handle) = &*stage {
            // What runs is this operation: it takes the lock before another begins.
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
    use crate::clock::SystemClock;
    use crate::store::sql::steps;

    /// It tells that it runs, and has no end.
    const ENDLESS: &str = "
with recursive numbers (number) as (select told() union all select number + 1 from numbers)
select count(*) from numbers";

    fn threads(threads: usize, most_waiting: usize) -> (TempDir, Arc<Threads>) {
        let folder = tempfile::tempdir().expect("a folder");
        let opening = Opening::to_write(folder.path().join("t.db"), Arc::new(SystemClock));
        let threads = Threads::start("t", opening, Arc::default(), threads, most_waiting, "begin");
        (folder, Arc::new(threads))
    }

    type Operation = tokio::task::JoinHandle<Result<(), StoreError>>;

    /// An operation that tells that it runs, and runs until the other end is dropped.
    fn run(
        threads: &Arc<Threads>,
        length: Length,
        runs: &mpsc::Sender<()>,
    ) -> (Operation, mpsc::Sender<()>) {
        let (threads, runs) = (Arc::clone(threads), runs.clone());
        let (end, until) = mpsc::channel::<()>();
        let running = tokio::spawn(async move {
            let steps = ending(
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

    async fn short(threads: &Threads) -> Result<(), StoreError> {
        let steps = ending(steps!(|_tx| Ok(())), End::Undo);
        threads.run(Length::Short, steps).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_operations_leave_a_thread_to_short_ones() {
        let (_folder, threads) = threads(3, 10);
        let (runs, began) = mpsc::channel();
        let long: Vec<_> = (0..3).map(|_| run(&threads, Length::Long, &runs)).collect();
        began.recv().expect("one runs");
        began.recv().expect("another one runs");
        short(&threads).await.expect("it has a thread");
        assert!(began.try_recv().is_err(), "a third one runs");
        for (running, end) in long {
            drop(end);
            running.await.expect("no panic").expect("it ends");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_operations_wait_than_may() {
        let (_folder, threads) = threads(1, 2);
        let (runs, began) = mpsc::channel();
        let (first, end) = run(&threads, Length::Short, &runs);
        began.recv().expect("it runs");
        for _ in 0..2 {
            let runs = runs.clone();
            let job: Job = Box::new(move |_| runs.send(()).expect("the test hears it"));
            let pushed = threads.queue.push(Length::Short, job);
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
    async fn a_read_that_nobody_waits_for_is_interrupted() {
        let (_folder, threads) = threads(1, 10);
        let (runs, began) = mpsc::channel();
        let own = Arc::clone(&threads);
        let read = tokio::spawn(async move {
            let steps = ending(
                steps!(|tx| {
                    let connection = connection(tx)?;
                    let flags = FunctionFlags::SQLITE_UTF8;
                    connection.create_scalar_function("told", 0, flags, move |_| {
                        let _ = runs.send(());
                        Ok(1)
                    })?;
                    Ok(connection.execute_batch(ENDLESS)?)
                }),
                End::Undo,
            );
            own.run(Length::Long, steps).await
        });
        began.recv().expect("it runs");
        read.abort();
        short(&threads).await.expect("the thread is free");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_operation_that_waits_for_something_else_is_an_error() {
        let (_folder, threads) = threads(1, 10);
        let steps = ending(
            steps!(|_tx| {
                std::future::pending::<()>().await;
                Ok(())
            }),
            End::Undo,
        );
        let result = threads.run(Length::Short, steps).await;
        assert!(
            matches!(result, Err(StoreError::Inconsistent { .. })),
            "{result:?}"
        );
        short(&threads).await.expect("the thread goes on");
    }
}
