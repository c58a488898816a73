//! The order of work, without threads and clocks: which work is ready, which lane is next,
//! and how many calls may be in progress.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;

/// The bounds of the queue: how much there may be at once. A lane may use a share of each.
#[derive(Clone, Copy, Debug)]
pub struct QueueBounds {
    pub waiting: usize,
    /// Calls in progress: each holds an instance.
    pub begun: usize,
    /// Calls in progress that are not quick.
    pub slow: usize,
    pub share_percent: usize,
}

impl QueueBounds {
    fn share(self, of: usize) -> usize {
        (of * self.share_percent / 100).max(1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// Too much work waits already, in this lane or in all lanes.
    Full,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Threads with the priority of those that serve requests.
    Quick,
    /// Background threads, with less weight.
    Slow,
}

/// The properties of a piece of work.
#[derive(Clone, Debug)]
pub struct TaskProperties {
    pub lane: Arc<str>,
    /// The version of the plugin, which is charged for time beyond the ordinary.
    pub digest: Digest,
    /// Whether the work holds an instance from its first slice to its end.
    pub instance: bool,
}

/// A piece of work that is ready or running.
#[derive(Debug)]
pub struct ScheduledTask<J> {
    pub job: J,
    properties: TaskProperties,
    /// Processor time so far, in nanoseconds.
    ran: u64,
    begun: bool,
    /// Counted as slow, if it holds an instance.
    slow: bool,
}

struct Lane<J> {
    /// Virtual time in nanoseconds of processor time, never behind the queue's own when the
    /// lane becomes active.
    time: u64,
    /// Nanoseconds that a call of this lane takes, averaged over the last few.
    average: u64,
    fresh: VecDeque<ScheduledTask<J>>,
    /// Calls that have begun and were quick so far.
    quick: VecDeque<ScheduledTask<J>>,
    slow: VecDeque<ScheduledTask<J>>,
    begun: usize,
    begun_slow: usize,
    running: usize,
}

impl<J> Lane<J> {
    fn new(time: u64) -> Self {
        Self {
            time,
            average: 0,
            fresh: VecDeque::new(),
            quick: VecDeque::new(),
            slow: VecDeque::new(),
            begun: 0,
            begun_slow: 0,
            running: 0,
        }
    }

    fn has_ready(&self) -> bool {
        !(self.fresh.is_empty() && self.quick.is_empty() && self.slow.is_empty())
    }

    fn is_slow(&self) -> bool {
        self.average > nanos(limits::QUICK_CALL)
    }
}

/// Work that waits and work in progress, by lane.
pub struct TaskQueue<J> {
    bounds: QueueBounds,
    lanes: HashMap<Arc<str>, Lane<J>>,
    /// Lanes with ready work, by virtual time.
    turn: BTreeSet<(u64, Arc<str>)>,
    /// The debts of digests, each as a virtual time; lanes with its work are not scheduled
    /// before it.
    digests: HashMap<Digest, u64>,
    /// The virtual time of the lane that was scheduled last; it never decreases.
    now: u64,
    waiting: usize,
    begun: usize,
    begun_slow: usize,
    running: usize,
    closed: bool,
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl<J> TaskQueue<J> {
    pub fn new(bounds: QueueBounds) -> Self {
        Self {
            bounds,
            lanes: HashMap::new(),
            turn: BTreeSet::new(),
            digests: HashMap::new(),
            now: 0,
            waiting: 0,
            begun: 0,
            begun_slow: 0,
            running: 0,
            closed: false,
        }
    }

    pub fn load(&self) -> (usize, usize) {
        let ready: usize = self
            .lanes
            .values()
            .map(|lane| lane.quick.len() + lane.slow.len())
            .sum();
        (self.waiting, self.running + ready)
    }

    pub fn is_empty(&self) -> bool {
        self.turn.is_empty()
    }

    pub fn has_work_for(&self, class: Class) -> bool {
        let mut lanes = self.turn.iter();
        lanes.any(|(_, name)| self.ready_in(name, class).is_some())
    }

    pub fn is_done(&self) -> bool {
        self.closed && self.turn.is_empty() && self.running == 0
    }

    /// Adds work. Returns the class of threads that will run it first.
    pub fn push(&mut self, properties: TaskProperties, job: J) -> Result<Class, SubmitError> {
        if self.closed {
            return Err(SubmitError::Closed);
        }
        if self.waiting >= self.bounds.waiting {
            return Err(SubmitError::Full);
        }
        let most = self.bounds.share(self.bounds.waiting);
        let name = Arc::clone(&properties.lane);
        let now = self.now;
        let lane = self
            .lanes
            .entry(Arc::clone(&name))
            .or_insert_with(|| Lane::new(now));
        if lane.fresh.len() >= most {
            return Err(SubmitError::Full);
        }
        if !lane.has_ready() {
            lane.time = lane.time.max(now);
            self.turn.insert((lane.time, Arc::clone(&name)));
        }
        let class = if lane.is_slow() {
            Class::Slow
        } else {
            Class::Quick
        };
        lane.fresh.push_back(ScheduledTask {
            job,
            properties,
            ran: 0,
            begun: false,
            slow: false,
        });
        self.waiting += 1;
        Ok(class)
    }

    pub fn pop(&mut self, class: Class) -> Option<ScheduledTask<J>> {
        let mut passed: Option<(u64, Arc<str>)> = None;
        loop {
            let from = match &passed {
                None => self.turn.first(),
                Some(key) => self
                    .turn
                    .range((std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded))
                    .next(),
            };
            let key = from?.clone();
            if self.pays_for_its_digest(&key) {
                continue;
            }
            let Some(found) = self.ready_in(&key.1, class) else {
                passed = Some(key);
                continue;
            };
            if passed.is_none() {
                // The queue's time only follows the lane that used least. Otherwise a lane
                // with debts would move a new lane behind those that have been active for
                // long.
                self.now = self.now.max(key.0);
            }
            return Some(self.take(&key, found));
        }
    }

    /// Moves a lane whose next work belongs to an indebted digest behind that debt. Returns
    /// whether it moved.
    fn pays_for_its_digest(&mut self, key: &(u64, Arc<str>)) -> bool {
        let lane = self.lanes.get_mut(&key.1).expect("a lane whose turn it is");
        let next = lane
            .quick
            .front()
            .or_else(|| lane.fresh.front())
            .or_else(|| lane.slow.front())
            .expect("a lane whose turn it is has something ready");
        let owed = self
            .digests
            .get(&next.properties.digest)
            .copied()
            .unwrap_or(0);
        if owed <= lane.time {
            return false;
        }
        lane.time = owed;
        self.turn.remove(key);
        self.turn.insert((owed, Arc::clone(&key.1)));
        true
    }

    fn ready_in(&self, name: &Arc<str>, class: Class) -> Option<LaneQueue> {
        let lane = &self.lanes[name];
        let may_begin = |task: &ScheduledTask<J>| {
            !task.properties.instance
                || (self.begun < self.bounds.begun
                    && lane.begun < self.bounds.share(self.bounds.begun))
        };
        let may_be_slow = |task: &ScheduledTask<J>| {
            !task.properties.instance
                || (self.begun_slow < self.bounds.slow
                    && lane.begun_slow < self.bounds.share(self.bounds.slow))
        };
        let fresh = lane.fresh.front().filter(|task| may_begin(task));
        let begun = match class {
            Class::Quick => (!lane.quick.is_empty()).then_some(LaneQueue::Quick),
            Class::Slow => (!lane.slow.is_empty()).then_some(LaneQueue::Slow),
        };
        begun.or_else(|| {
            match class {
                Class::Quick => fresh.filter(|_| !lane.is_slow()),
                Class::Slow => fresh.filter(|task| lane.is_slow() && may_be_slow(task)),
            }
            .map(|_| LaneQueue::Fresh)
        })
    }

    fn take(&mut self, key: &(u64, Arc<str>), from: LaneQueue) -> ScheduledTask<J> {
        let lane = self.lanes.get_mut(&key.1).expect("a lane whose turn it is");
        let slow_lane = lane.is_slow();
        let list = match from {
            LaneQueue::Fresh => &mut lane.fresh,
            LaneQueue::Quick => &mut lane.quick,
            LaneQueue::Slow => &mut lane.slow,
        };
        let mut task = list.pop_front().expect("looked at above");
        if !task.begun {
            task.begun = true;
            self.waiting -= 1;
            task.slow = slow_lane;
            if task.properties.instance {
                lane.begun += 1;
                self.begun += 1;
                if task.slow {
                    lane.begun_slow += 1;
                    self.begun_slow += 1;
                }
            }
        }
        lane.running += 1;
        self.running += 1;
        if !lane.has_ready() {
            self.turn.remove(key);
        }
        task
    }

    /// Returns work to the queue after a slice of `ran` nanoseconds. If too many calls are
    /// slow already, one is given up and returned.
    pub fn put_back(&mut self, mut task: ScheduledTask<J>, ran: u64) -> Option<ScheduledTask<J>> {
        self.charge(&mut task, ran);
        let becomes_slow = !task.slow && task.ran >= nanos(limits::QUICK_CALL);
        let mut given_up = None;
        if becomes_slow {
            if task.properties.instance {
                let most = self.bounds.share(self.bounds.slow);
                let lane = &self.lanes[&task.properties.lane];
                if lane.begun_slow >= most {
                    return Some(self.forget(task));
                }
                if self.begun_slow >= self.bounds.slow {
                    match self.dearest(lane.time) {
                        Some(lane) => given_up = Some(self.give_up_one(&lane)),
                        None => return Some(self.forget(task)),
                    }
                }
                let lane = self.lane(&task.properties.lane);
                lane.begun_slow += 1;
                self.begun_slow += 1;
            }
            task.slow = true;
        }
        let name = Arc::clone(&task.properties.lane);
        let lane = self.lane(&name);
        lane.running -= 1;
        if !lane.has_ready() {
            let key = (lane.time, Arc::clone(&name));
            self.turn.insert(key);
        }
        let lane = self.lane(&name);
        if task.slow {
            lane.slow.push_back(task);
        } else {
            // Calls in progress finish before the lane begins more, so that fewer instances
            // exist.
            lane.quick.push_front(task);
        }
        self.running -= 1;
        given_up
    }

    /// Removes work that has ended; its last slice took `ran` nanoseconds.
    pub fn finish(&mut self, mut task: ScheduledTask<J>, ran: u64) -> ScheduledTask<J> {
        self.charge(&mut task, ran);
        self.forget(task)
    }

    /// Returns the lane with waiting slow work that used the most, if that is more than
    /// `time`.
    fn dearest(&self, time: u64) -> Option<Arc<str>> {
        let (name, lane) = self
            .lanes
            .iter()
            .filter(|(_, lane)| lane.slow.iter().any(|task| task.properties.instance))
            .max_by_key(|(_, lane)| lane.time)?;
        (lane.time > time).then(|| Arc::clone(name))
    }

    fn give_up_one(&mut self, name: &Arc<str>) -> ScheduledTask<J> {
        let lane = self.lane(name);
        let position = lane
            .slow
            .iter()
            .position(|task| task.properties.instance)
            .expect("looked for above");
        let task = lane.slow.remove(position).expect("found above");
        // Counted as running, so that there is one path for removal.
        lane.running += 1;
        let key = (lane.time, Arc::clone(name));
        if !lane.has_ready() {
            self.turn.remove(&key);
        }
        self.running += 1;
        self.forget(task)
    }

    fn forget(&mut self, task: ScheduledTask<J>) -> ScheduledTask<J> {
        let lane = self.lane(&task.properties.lane);
        lane.running -= 1;
        // A moving average over about the last four calls.
        lane.average = (lane.average * 3 + task.ran) / 4;
        if task.properties.instance {
            lane.begun -= 1;
            if task.slow {
                lane.begun_slow -= 1;
            }
            self.begun -= 1;
            if task.slow {
                self.begun_slow -= 1;
            }
        }
        self.running -= 1;
        self.tidy(&task.properties.lane);
        task
    }

    fn charge(&mut self, task: &mut ScheduledTask<J>, ran: u64) {
        let ordinary = nanos(limits::QUICK_CALL);
        let before = task.ran;
        task.ran = before.saturating_add(ran);
        let name = Arc::clone(&task.properties.lane);
        let lane = self.lane(&name);
        let key = (lane.time, Arc::clone(&name));
        // A slice that is too short to measure costs its handling.
        lane.time = lane
            .time
            .saturating_add(ran.max(nanos(limits::SLICE_LEAST)));
        let after = (lane.time, name);
        if lane.has_ready() {
            self.turn.remove(&key);
            self.turn.insert(after);
        }
        let beyond = task.ran.saturating_sub(before.max(ordinary));
        if beyond > 0 {
            let now = self.now;
            let owed = self
                .digests
                .entry(task.properties.digest.clone())
                .or_insert(now);
            *owed = (*owed).max(now).saturating_add(beyond);
        }
    }

    /// Forgets a lane that is idle and owes nothing, and digests that owe nothing.
    fn tidy(&mut self, name: &Arc<str>) {
        let lane = &self.lanes[name];
        let at_rest = |lane: &Lane<J>| lane.running == 0 && !lane.has_ready();
        if at_rest(lane) && lane.time <= self.now && !lane.is_slow() {
            self.lanes.remove(name);
        }
        if self.lanes.len() > limits::LANES_KEPT {
            self.lanes.retain(|_, lane| !at_rest(lane));
        }
        if self.digests.len() > limits::DIGESTS_KEPT {
            let now = self.now;
            self.digests.retain(|_, owed| *owed > now);
        }
    }

    fn lane(&mut self, name: &Arc<str>) -> &mut Lane<J> {
        self.lanes
            .get_mut(name)
            .expect("a lane with work has an entry")
    }

    /// Stops taking work. Returns the work that has not begun; work in progress finishes.
    pub fn close(&mut self) -> Vec<ScheduledTask<J>> {
        self.closed = true;
        self.waiting = 0;
        let mut dropped = Vec::new();
        self.turn.clear();
        for (name, lane) in &mut self.lanes {
            dropped.extend(lane.fresh.drain(..));
            if lane.has_ready() {
                self.turn.insert((lane.time, Arc::clone(name)));
            }
        }
        dropped
    }
}

/// The list of a lane from which work is taken.
enum LaneQueue {
    Fresh,
    Quick,
    Slow,
}
