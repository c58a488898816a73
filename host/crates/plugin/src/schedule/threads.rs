//! The threads that run plugin work. A thread takes the next work, polls it once, which is
//! a slice, charges the lane for the processor time, and returns the work to the queue.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Condvar;
use std::task::{Context, Poll, Waker};

use rustix::time::{ClockId, clock_gettime};

use super::background::lower_priority;
use super::queue::{Class, QueueBounds, ScheduledTask, SubmitError, TaskProperties, TaskQueue};
use crate::error::EngineError;
use crate::prelude::*;

/// A piece of work. It yields by being pending once: no waker is needed, and it is polled
/// again when its turn comes.
pub struct PluginTask {
    pub future: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Set before the future is dropped because too many calls are slow already.
    pub evicted: Arc<Evicted>,
}

#[derive(Debug, Default)]
pub struct Evicted(AtomicBool);

impl Evicted {
    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The amount of work that waits to begin, and of work in progress.
pub type QueueLoad = (usize, usize);

pub struct PluginThreads {
    shared: Arc<SchedulerState>,
}

struct SchedulerState {
    queue: Mutex<TaskQueue<PluginTask>>,
    quick: Condvar,
    slow: Condvar,
    /// Threads of each class that wait for work.
    resting: [AtomicUsize; 2],
}

impl PluginThreads {
    pub fn start(threads: usize, bounds: QueueBounds) -> Result<Self, EngineError> {
        let shared = Arc::new(SchedulerState {
            queue: Mutex::new(TaskQueue::new(bounds)),
            quick: Condvar::new(),
            slow: Condvar::new(),
            resting: Default::default(),
        });
        let started = Self {
            shared: Arc::clone(&shared),
        };
        for index in 0..threads {
            for (class, name) in [(Class::Quick, "plugin"), (Class::Slow, "plugin-slow")] {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("{name}-{index}"))
                    .spawn(move || {
                        if class == Class::Slow {
                            lower_priority();
                        }
                        work(&shared, class);
                    })
                    .map_err(EngineError::Thread)?;
            }
        }
        Ok(started)
    }

    pub fn submit(
        &self,
        lane: &str,
        digest: &Digest,
        instance: bool,
        work: PluginTask,
    ) -> Result<(), SubmitError> {
        let properties = TaskProperties {
            lane: Arc::from(lane),
            digest: digest.clone(),
            instance,
        };
        let class = self.shared.lock().push(properties, work)?;
        self.shared.wake(class);
        Ok(())
    }

    /// Stops taking work and drops work that has not begun. Work in progress finishes.
    pub fn close(&self) {
        let dropped = self.shared.lock().close();
        self.shared.wake_all();
        // Dropping the work notifies the callers, outside the lock.
        drop(dropped);
    }

    pub fn load(&self) -> QueueLoad {
        self.shared.lock().load()
    }
}

impl Drop for PluginThreads {
    fn drop(&mut self) {
        self.close();
    }
}

impl SchedulerState {
    fn lock(&self) -> MutexGuard<'_, TaskQueue<PluginTask>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn condition(&self, class: Class) -> &Condvar {
        match class {
            Class::Quick => &self.quick,
            Class::Slow => &self.slow,
        }
    }

    fn wake_all(&self) {
        self.quick.notify_all();
        self.slow.notify_all();
    }

    /// A notification without a waiting thread would still be a system call.
    fn wake(&self, class: Class) {
        if self.rests(class) {
            self.condition(class).notify_one();
        }
    }

    fn rests(&self, class: Class) -> bool {
        self.resting[class as usize].load(Ordering::Relaxed) > 0
    }
}

fn work(shared: &SchedulerState, class: Class) {
    let other = match class {
        Class::Quick => Class::Slow,
        Class::Slow => Class::Quick,
    };
    let mut queue = shared.lock();
    loop {
        if let Some(mut task) = queue.pop(class) {
            let more = !queue.is_empty();
            drop(queue);
            if more {
                // Another thread of this class may find work too.
                shared.wake(class);
            }
            let (polled, ran) = slice(&mut task);
            queue = shared.lock();
            let over = match polled {
                Polled::Ended => Some(queue.finish(task, ran)),
                Polled::GaveWay => {
                    let over = queue.put_back(task, ran);
                    if let Some(over) = &over {
                        over.job.evicted.set();
                    }
                    over
                }
            };
            // Threads of the other class are woken only for work of that class: usually all
            // of it is quick.
            let more = shared.rests(other) && queue.has_work_for(other);
            let done = queue.is_done();
            drop(queue);
            // Dropping ends suspended work, which takes time.
            drop(over);
            if more {
                // Work that ended made room, and returned work may have become slow.
                shared.wake(other);
            }
            if done {
                shared.wake_all();
            }
            queue = shared.lock();
        } else if queue.is_done() {
            return;
        } else {
            let resting = &shared.resting[class as usize];
            resting.fetch_add(1, Ordering::Relaxed);
            let woken = shared.condition(class).wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
            resting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

enum Polled {
    Ended,
    GaveWay,
}

fn slice(task: &mut ScheduledTask<PluginTask>) -> (Polled, u64) {
    let began = processor_time();
    SLICE.set(Some(began));
    let future = task.job.future.as_mut();
    let mut context = Context::from_waker(Waker::noop());
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.poll(&mut context)));
    SLICE.set(None);
    let ran = processor_time().saturating_sub(began);
    let ran = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
    let polled = match polled {
        Ok(Poll::Pending) => Polled::GaveWay,
        Ok(Poll::Ready(())) => Polled::Ended,
        // A panic is a defect of the host. The caller gets no answer, and the thread
        // continues.
        Err(_) => {
            tracing::error!("plugin call panicked inside the host");
            Polled::Ended
        }
    };
    (polled, ran)
}

thread_local! {
    /// Processor time of this thread when its slice began.
    static SLICE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Returns the processor time that the current slice on this thread has used so far.
pub fn processor_time_of_slice() -> Duration {
    SLICE
        .get()
        .map(|began| processor_time().saturating_sub(began))
        .unwrap_or_default()
}

/// Ends the slice if it has lasted long enough. To be awaited between the steps of the
/// host's own work.
pub async fn give_way() {
    if processor_time_of_slice() < limits::SLICE {
        return;
    }
    let mut gave_way = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut gave_way, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
