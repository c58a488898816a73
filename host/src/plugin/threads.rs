//! The threads that guests run on, and the queue in front of them.
//!
//! Calls come in lanes, one a connection, served in turn. Three rules keep one
//! lane from harming the others. A lane takes at most its share of the queue.
//! While others wait, it gets no further thread beyond its share. Calls that
//! may take long (the worker's) never hold more than a lane's share, nor all
//! threads together, even when nobody waits, so that a short call inside a
//! request always finds a thread soon. In its lane the short ones go first.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::error::{CallError, EngineError};

pub type Job = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Ends within tens of milliseconds.
    Short,
    /// May take seconds.
    Long,
}

pub struct Threads {
    shared: Arc<Shared>,
}

impl Threads {
    pub fn start(shares: Shares) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::new(shares)),
            wake: Condvar::new(),
        });
        let threads = Self {
            shared: Arc::clone(&shared),
        };
        for index in 0..shares.threads {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("plugin-{index}"))
                .spawn(move || work(&shared))
                .map_err(EngineError::Thread)?;
        }
        Ok(threads)
    }

    /// Puts a job into its lane's queue, or refuses at once.
    pub fn submit(&self, lane: &str, length: Length, job: Job) -> Result<(), CallError> {
        let mut queue = self.shared.lock();
        queue.push(lane, length, job)?;
        let somebody_rests = queue.resting > 0;
        drop(queue);
        // Waking nobody is a system call all the same.
        if somebody_rests {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Takes no more jobs and drops those that wait; those that run end by themselves.
    pub fn close(&self) {
        let waiting = self.shared.lock().close();
        self.shared.wake.notify_all();
        // Their callers hear of it by the drop, outside the lock.
        drop(waiting);
    }

    /// Jobs that wait and jobs that run.
    pub fn load(&self) -> (usize, usize) {
        let queue = self.shared.lock();
        (queue.waiting, queue.running)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.close();
    }
}

/// How much of the whole one lane may take.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    pub threads: usize,
    pub queue: usize,
    pub percent: usize,
}

impl Shares {
    fn lane_threads(self) -> usize {
        (self.threads * self.percent / 100).max(1)
    }

    fn lane_queue(self) -> usize {
        (self.queue * self.percent / 100).max(1)
    }

    /// Threads that long calls of all lanes may hold together.
    fn long_threads(self) -> usize {
        (self.threads - 1).max(1)
    }
}

struct Shared {
    queue: Mutex<Queue<Job>>,
    wake: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue<Job>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work(shared: &Shared) {
    let mut queue = shared.lock();
    loop {
        if let Some(taken) = queue.pop() {
            drop(queue);
            let Taken { job, lane, length } = taken;
            // A panic is a defect of the host; the caller hears that no answer
            // came, and the thread goes on.
            if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a plugin call panicked inside the host");
            }
            queue = shared.lock();
            queue.finish(&lane, length);
            // A thread that was free may now take what this lane's share held back.
            if queue.resting > 0 && queue.waiting > 0 {
                shared.wake.notify_one();
            }
        } else if queue.closed {
            return;
        } else {
            queue.resting += 1;
            queue = shared
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.resting -= 1;
        }
    }
}

/// The order of work, without threads.
struct Queue<J> {
    shares: Shares,
    lanes: HashMap<Arc<str>, Lane<J>>,
    /// Lanes with waiting jobs, the next one first.
    turn: VecDeque<Arc<str>>,
    waiting: usize,
    running: usize,
    running_long: usize,
    /// Threads that wait for a job.
    resting: usize,
    closed: bool,
}

struct Lane<J> {
    short: VecDeque<J>,
    long: VecDeque<J>,
    running: usize,
    running_long: usize,
}

struct Taken<J> {
    job: J,
    lane: Arc<str>,
    length: Length,
}

impl<J> Lane<J> {
    fn waiting(&self) -> usize {
        self.short.len() + self.long.len()
    }
}

impl<J> Queue<J> {
    fn new(shares: Shares) -> Self {
        Self {
            shares,
            lanes: HashMap::new(),
            turn: VecDeque::new(),
            waiting: 0,
            running: 0,
            running_long: 0,
            resting: 0,
            closed: false,
        }
    }

    fn push(&mut self, lane: &str, length: Length, job: J) -> Result<(), CallError> {
        if self.closed {
            return Err(CallError::ShuttingDown);
        }
        if self.waiting >= self.shares.queue {
            return Err(CallError::Busy);
        }
        if !self.lanes.contains_key(lane) {
            let empty = Lane {
                short: VecDeque::new(),
                long: VecDeque::new(),
                running: 0,
                running_long: 0,
            };
            self.lanes.insert(Arc::from(lane), empty);
        }
        let most = self.shares.lane_queue();
        let name = self
            .lanes
            .get_key_value(lane)
            .map(|(name, _)| Arc::clone(name))
            .expect("inserted above");
        let entry = self.lanes.get_mut(lane).expect("inserted above");
        if entry.waiting() >= most {
            return Err(CallError::Busy);
        }
        if entry.waiting() == 0 {
            self.turn.push_back(name);
        }
        match length {
            Length::Short => entry.short.push_back(job),
            Length::Long => entry.long.push_back(job),
        }
        self.waiting += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<Taken<J>> {
        // First the lanes within their share, then, so that no thread idles,
        // short calls of those beyond it.
        self.pop_where(true).or_else(|| self.pop_where(false))
    }

    fn pop_where(&mut self, within_share: bool) -> Option<Taken<J>> {
        let share = self.shares.lane_threads();
        let long_allowed = self.running_long < self.shares.long_threads();
        for position in 0..self.turn.len() {
            let lane = Arc::clone(&self.turn[position]);
            let entry = self
                .lanes
                .get_mut(&lane)
                .expect("a lane whose turn comes has an entry");
            if within_share && entry.running >= share {
                continue;
            }
            let (job, length) = if let Some(job) = entry.short.pop_front() {
                (job, Length::Short)
            } else if long_allowed
                && entry.running_long < share
                && let Some(job) = entry.long.pop_front()
            {
                (job, Length::Long)
            } else {
                continue;
            };
            entry.running += 1;
            self.running += 1;
            self.waiting -= 1;
            if length == Length::Long {
                entry.running_long += 1;
                self.running_long += 1;
            }
            let more = entry.waiting() > 0;
            self.turn.remove(position);
            if more {
                self.turn.push_back(Arc::clone(&lane));
            }
            return Some(Taken { job, lane, length });
        }
        None
    }

    fn finish(&mut self, lane: &Arc<str>, length: Length) {
        self.running -= 1;
        if length == Length::Long {
            self.running_long -= 1;
        }
        let entry = self
            .lanes
            .get_mut(lane)
            .expect("a lane with a running job has an entry");
        entry.running -= 1;
        if length == Length::Long {
            entry.running_long -= 1;
        }
        if entry.running == 0 && entry.waiting() == 0 {
            self.lanes.remove(lane);
        }
    }

    fn close(&mut self) -> Vec<J> {
        self.closed = true;
        self.turn.clear();
        self.waiting = 0;
        let mut dropped = Vec::new();
        for lane in self.lanes.values_mut() {
            dropped.extend(lane.short.drain(..));
            dropped.extend(lane.long.drain(..));
        }
        self.lanes.retain(|_, lane| lane.running > 0);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(threads: usize) -> Queue<&'static str> {
        Queue::new(Shares {
            threads,
            queue: 8,
            percent: 50,
        })
    }

    fn pop(queue: &mut Queue<&'static str>) -> Option<&'static str> {
        queue.pop().map(|taken| taken.job)
    }

    #[test]
    fn lanes_are_served_in_turn() {
        let mut queue = queue(8);
        for job in ["a1", "a2", "a3"] {
            queue.push("a", Length::Short, job).expect("room");
        }
        queue.push("b", Length::Short, "b1").expect("room");
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut queue)).collect();
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
    }

    #[test]
    fn while_others_wait_a_lane_gets_no_thread_beyond_its_share() {
        let mut queue = queue(4);
        for job in ["a1", "a2", "a3"] {
            queue.push("a", Length::Short, job).expect("room");
        }
        assert_eq!(pop(&mut queue), Some("a1"));
        assert_eq!(pop(&mut queue), Some("a2"));
        queue.push("b", Length::Short, "b1").expect("room");
        assert_eq!(pop(&mut queue), Some("b1"), "a has its two of four threads");
        assert_eq!(pop(&mut queue), Some("a3"), "nobody else waits");
    }

    #[test]
    fn long_calls_never_hold_more_than_the_share_nor_all_threads() {
        let mut queue = queue(4);
        for job in ["a1", "a2", "a3"] {
            queue.push("a", Length::Long, job).expect("room");
        }
        let first = queue.pop().expect("free");
        assert_eq!(pop(&mut queue), Some("a2"));
        assert_eq!(pop(&mut queue), None, "the share is used");
        queue.push("b", Length::Long, "b1").expect("room");
        queue.push("c", Length::Long, "c1").expect("room");
        assert_eq!(pop(&mut queue), Some("b1"));
        assert_eq!(pop(&mut queue), None, "one thread stays for short calls");
        queue.push("a", Length::Short, "a4").expect("room");
        assert_eq!(pop(&mut queue), Some("a4"));
        queue.finish(&first.lane, first.length);
        assert_eq!(pop(&mut queue), Some("c1"));
    }

    #[test]
    fn a_full_lane_is_busy_while_another_still_has_room() {
        let mut queue = queue(4);
        for job in ["a1", "a2", "a3", "a4"] {
            queue.push("a", Length::Short, job).expect("room");
        }
        assert_eq!(queue.push("a", Length::Short, "a5"), Err(CallError::Busy));
        for job in ["b1", "b2", "b3", "b4"] {
            queue.push("b", Length::Short, job).expect("room");
        }
        assert_eq!(queue.push("c", Length::Short, "c1"), Err(CallError::Busy));
    }

    #[test]
    fn a_closed_queue_drops_what_waits_and_takes_no_more() {
        let mut queue = queue(4);
        queue.push("a", Length::Short, "a1").expect("room");
        let running = queue.pop().expect("free");
        queue.push("a", Length::Short, "a2").expect("room");
        assert_eq!(queue.close(), ["a2"]);
        queue.finish(&running.lane, running.length);
        assert_eq!(
            queue.push("a", Length::Short, "a3"),
            Err(CallError::ShuttingDown)
        );
        assert!(queue.lanes.is_empty());
    }

    #[test]
    fn lanes_that_are_done_leave_nothing_behind() {
        let mut queue = queue(2);
        for lane in ["a", "b", "c"] {
            queue.push(lane, Length::Short, "job").expect("room");
            let taken = queue.pop().expect("free");
            queue.finish(&taken.lane, taken.length);
        }
        assert!(queue.lanes.is_empty() && queue.turn.is_empty());
    }
}
