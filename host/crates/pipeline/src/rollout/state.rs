//! The rollouts that this host acts on, and its observations of each.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, mpsc};

use super::guard;
use crate::prelude::*;
use crate::verify::compare::{ComparedOutcomes, GainedValues, Tally};
use crate::verify::cost::{Cost, OfBoth};
use crate::verify::policy::{Part, is_larger};
use leadhost_domain::channel::TemplateSend;
use leadhost_domain::difference::Subject;
use leadhost_domain::time;

/// The open rollouts by the plugin's name. Readers see one consistent table.
#[derive(Default)]
pub struct Rollouts {
    live: ArcSwap<HashMap<String, Arc<LiveRollout>>>,
    /// Signals that a rollout was changed, or that a guard tripped here: to follow it.
    pub look: Notify,
    /// The same: to judge it.
    pub judge: Notify,
}

impl Rollouts {
    pub fn hurry(&self) {
        self.look.notify_one();
        self.judge.notify_one();
    }

    /// Returns the rollout of a plugin, if both versions are loaded here.
    pub fn get(&self, plugin: &str) -> Option<Arc<LiveRollout>> {
        self.live.load().get(plugin).cloned()
    }

    pub fn is_empty(&self) -> bool {
        self.live.load().is_empty()
    }

    pub fn all(&self) -> Vec<Arc<LiveRollout>> {
        self.live.load().values().cloned().collect()
    }

    pub fn follow(&self, rollout: Arc<LiveRollout>) {
        self.live.rcu(|live| {
            let mut live = HashMap::clone(live);
            live.insert(rollout.rollout.name.clone(), Arc::clone(&rollout));
            live
        });
    }

    pub fn leave(&self, plugin: &str) {
        self.live.rcu(|live| {
            let mut live = HashMap::clone(live);
            live.remove(plugin);
            live
        });
    }
}

pub struct LiveRollout {
    pub rollout: Rollout,
    pub candidate: Arc<Loaded>,
    pub stable: Arc<Loaded>,
    /// The version before the stable one, for what both others fail on. Known in a canary.
    pub previous: Option<Arc<Loaded>>,
    pub observed: Arc<Observed>,
}

impl LiveRollout {
    /// Returns whether the candidate converts a part of the deliveries, and no guard has tripped
    /// here.
    pub fn is_canary(&self) -> bool {
        self.rollout.stage == RolloutStage::Canary && !self.observed.is_stopped()
    }

    /// Returns whether the candidate converts the delivery with this key: the same on every host,
    /// and at any time, as long as the percentage does not shrink.
    pub fn takes(&self, key: &str) -> bool {
        self.is_canary() && self.is_among(key.as_bytes(), self.rollout.percent())
    }

    /// Returns whether a delivery is compared after its answer. `is_active`: whether the candidate is
    /// active on this host, which may be a moment ahead of the stage.
    pub fn samples(&self, delivery: DeliveryId, is_active: bool) -> bool {
        let is_ahead = |stage| matches!(stage, RolloutStage::Verified | RolloutStage::Canary);
        let samples = self.rollout.current().map_or(0, |step| step.samples);
        is_active && is_ahead(self.rollout.stage) || self.is_among(delivery.0.as_bytes(), samples)
    }

    /// Returns whether a send is compared after its outcome was stored. In a canary every one is: it
    /// costs no time of the sender, and shows sends that the candidate does not make yet.
    pub fn samples_send(&self, message: MessageId) -> bool {
        let samples = self.rollout.current().map_or(0, |step| step.samples);
        self.rollout.stage == RolloutStage::Canary || self.is_among(message.0.as_bytes(), samples)
    }

    fn is_among(&self, key: &[u8], percent: u8) -> bool {
        let mut hash = Sha256::new();
        hash.update(self.candidate.digest.0.as_bytes());
        hash.update(key);
        let hash = hash.finalize();
        let place = u16::from_be_bytes([hash[0], hash[1]]);
        u32::from(place) * 100 < u32::from(percent) << 16
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Observations {
    pub tally: Tally,
    pub sends: Tally,
    /// The comparisons of the sender checks, if the candidate's differ: a sender that passes only the stable
    /// version's checks is a failure.
    pub checks: Tally,
    /// Deliveries that the candidate converted, and whose result was stored.
    pub served: u64,
    /// Deliveries chosen for the candidate that got the stable version's result, because the candidate failed
    /// or did harm.
    pub saved: u64,
    /// Deliveries and sends that were not compared, because too many waited, the host was busy, they
    /// were erased or the rollout ended before their comparison.
    pub dropped: u64,
    /// Deliveries and sends that wait to be compared, and those whose comparison is under way.
    pub waiting: u64,
    /// A guard tripped by what one host has seen.
    pub tripped: bool,
    /// Comparisons of deliveries and sends in the steps of a canary, by the percentage of the step.
    pub steps: BTreeMap<u8, u64>,
    /// Conversions of both versions one after the other, and how long they took in total.
    pub timed: u64,
    #[serde(rename = "stableUs", with = "time::microseconds")]
    pub stable_time: Duration,
    #[serde(rename = "candidateUs", with = "time::microseconds")]
    pub candidate_time: Duration,
    pub slower: u64,
    /// Conversions whose memory is known for both versions, and the bytes in total.
    pub measured: u64,
    pub stable_bytes: u64,
    pub candidate_bytes: u64,
    pub larger: u64,
}

impl Observations {
    pub fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.sends.merge(other.sends);
        self.checks.merge(other.checks);
        self.served += other.served;
        self.saved += other.saved;
        self.dropped += other.dropped;
        self.waiting += other.waiting;
        self.tripped |= other.tripped;
        for (percent, compared) in other.steps {
            *self.steps.entry(percent).or_default() += compared;
        }
        self.timed += other.timed;
        self.stable_time += other.stable_time;
        self.candidate_time += other.candidate_time;
        self.slower += other.slower;
        self.measured += other.measured;
        self.stable_bytes += other.stable_bytes;
        self.candidate_bytes += other.candidate_bytes;
        self.larger += other.larger;
    }

    /// Counts what waits as dropped, because it will not be compared.
    pub fn drop_waiting(&mut self) {
        self.dropped += std::mem::take(&mut self.waiting);
    }

    /// Returns the mean time of a conversion by each version, in whole microseconds. `None` if none
    /// was timed.
    pub fn mean_times(&self) -> Option<OfBoth<Duration>> {
        let mean = |total: Duration| {
            let micros = u64::try_from(total.as_micros()).unwrap_or(u64::MAX);
            micros.checked_div(self.timed).map(Duration::from_micros)
        };
        Some(OfBoth {
            stable: mean(self.stable_time)?,
            candidate: mean(self.candidate_time)?,
        })
    }

    pub fn in_step(&self, percent: u8) -> u64 {
        self.steps.get(&percent).copied().unwrap_or_default()
    }

    pub fn part(&self, part: Part) -> &Tally {
        match part {
            Part::Deliveries => &self.tally,
            Part::Sends => &self.sends,
            Part::Checks => &self.checks,
        }
    }

    fn part_mut(&mut self, part: Part) -> &mut Tally {
        match part {
            Part::Deliveries => &mut self.tally,
            Part::Sends => &mut self.sends,
            Part::Checks => &mut self.checks,
        }
    }

    fn add_cost(&mut self, cost: Cost, policy: &config::VerifySection) {
        if let Some(took) = cost.took {
            self.timed += 1;
            self.stable_time += took.stable;
            self.candidate_time += took.candidate;
            self.slower += u64::from(is_slower(took));
        }
        if let Some(memory) = cost.memory {
            self.measured += 1;
            self.stable_bytes += memory.stable;
            self.candidate_bytes += memory.candidate;
            self.larger += u64::from(is_larger(memory.stable, memory.candidate, policy));
        }
    }
}

fn is_slower(took: OfBoth<Duration>) -> bool {
    took.candidate > took.stable * TIMES_SLOWER + SLOWER
}

/// A candidate is far slower if it takes more than so many times the time of the stable version…
pub const TIMES_SLOWER: u32 = 3;

/// …and so much longer.
pub const SLOWER: Duration = Duration::from_millis(5);

pub struct SentSend {
    pub message: MessageId,
    pub connection: ConnectionId,
    pub send: TemplateSend,
    /// Without the secrets of the instance. `None` if there was none, or it was too long.
    pub response: Option<HttpResponse>,
}

pub enum Next {
    Delivery(DeliveryId),
    Send(Box<SentSend>),
}

pub struct Waiting {
    deliveries: mpsc::Receiver<DeliveryId>,
    sends: mpsc::Receiver<Box<SentSend>>,
}

impl Waiting {
    /// Waits for the delivery or send that is to be compared next. Returns `None` when the rollout has ended here.
    pub async fn next(&mut self) -> Option<Next> {
        tokio::select! {
            delivery = self.deliveries.recv() => delivery.map(Next::Delivery),
            send = self.sends.recv() => send.map(Next::Send),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    AtOnce,
    /// Afterwards: it came from a queue, and counted as waiting until now.
    Waited,
}

#[derive(Default)]
struct Counted {
    /// `waiting` includes what was taken out of a queue and is being compared.
    seen: Observations,
    /// The last report is made: what comes later counts nowhere.
    has_ended: bool,
    /// The newest deliveries and sends that were counted before their outcome, because the candidate failed.
    failed: VecDeque<Subject>,
    gained: GainedValues,
}

pub struct Observed {
    counted: Mutex<Counted>,
    /// A guard tripped here: the candidate gets no more deliveries until the judge decides.
    stopped: AtomicBool,
    asking: AtomicBool,
    deliveries: mpsc::Sender<DeliveryId>,
    sends: mpsc::Sender<Box<SentSend>>,
}

impl Observed {
    pub fn new() -> (Self, Waiting) {
        let (deliveries, waiting_deliveries) = mpsc::channel(limits::ROLLOUT_WAITING);
        let (sends, waiting_sends) = mpsc::channel(limits::ROLLOUT_SENDS_WAITING);
        let observed = Self {
            counted: Mutex::default(),
            stopped: AtomicBool::new(false),
            asking: AtomicBool::new(false),
            deliveries,
            sends,
        };
        let waiting = Waiting {
            deliveries: waiting_deliveries,
            sends: waiting_sends,
        };
        (observed, waiting)
    }

    pub fn stored(&self, one: ComparedOutcomes) -> Tally {
        one.into_stored(&mut self.lock().gained)
    }

    /// Adds a comparison, in this step of a canary if there is one. Returns whether the guards trip by
    /// what this host has seen. `None`: the last report is made, and it is not counted.
    pub fn add(
        &self,
        (part, step, turn): (Part, Option<u8>, Turn),
        one: Tally,
        cost: Cost,
        policy: &config::VerifySection,
    ) -> Option<bool> {
        let may_trip = one.harm.harm() > 0 || one.harm.changed > 0;
        let mut counted = self.lock();
        if counted.has_ended {
            return None;
        }
        let seen = &mut counted.seen;
        if turn == Turn::Waited {
            seen.waiting = seen.waiting.saturating_sub(1);
        }
        // Sender checks are compared on every delivery, also if the candidate converts none.
        if let Some(percent) = step.filter(|_| part != Part::Checks) {
            *seen.steps.entry(percent).or_default() += one.differences.compared;
        }
        seen.add_cost(cost, policy);
        seen.part_mut(part).merge(one);
        Some(may_trip && guard::trips(part, &seen.part(part).harm, policy))
    }

    /// Counts a delivery that the candidate was chosen for: whether its result was stored.
    pub fn chosen(&self, served: bool) {
        let seen = &mut self.lock().seen;
        if served {
            seen.served += 1
        } else {
            seen.saved += 1
        }
    }

    /// Remembers a delivery or a send that is counted before its outcome. Returns false if it was counted
    /// already.
    pub fn counts_at_once(&self, subject: Subject) -> bool {
        let failed = &mut self.lock().failed;
        if failed.contains(&subject) {
            return false;
        }
        if failed.len() >= limits::ROLLOUT_FAILED {
            failed.pop_front();
        }
        failed.push_back(subject);
        true
    }

    pub fn has_counted(&self, subject: Subject) -> bool {
        self.lock().failed.contains(&subject)
    }

    pub fn offer(&self, delivery: DeliveryId) {
        self.put(&self.deliveries, delivery);
    }

    pub fn offer_send(&self, sent: SentSend) {
        self.put(&self.sends, Box::new(sent));
    }

    /// Puts one into a queue. It is counted under the same lock, so before it can be compared.
    fn put<T>(&self, queue: &mpsc::Sender<T>, one: T) {
        let mut counted = self.lock();
        if counted.has_ended {
            return;
        }
        match queue.try_send(one) {
            Ok(()) => counted.seen.waiting += 1,
            Err(_) => counted.seen.dropped += 1,
        }
    }

    /// Counts a delivery or a send that is not compared.
    pub fn drop_one(&self, turn: Turn) {
        let seen = &mut self.lock().seen;
        if turn == Turn::Waited {
            seen.waiting = seen.waiting.saturating_sub(1);
        }
        seen.dropped += 1;
    }

    /// One that came from a queue needs no comparison of its own: it was compared already.
    pub fn pass_over(&self) {
        let seen = &mut self.lock().seen;
        seen.waiting = seen.waiting.saturating_sub(1);
    }

    pub fn dropped(&self) -> u64 {
        self.lock().seen.dropped
    }

    pub fn stop(&self) -> bool {
        !self.stopped.swap(true, Ordering::Relaxed)
    }

    /// Returns whether a version may be asked for its sender checks now: one question at a time.
    pub fn begin_asking(&self) -> bool {
        !self.asking.swap(true, Ordering::Relaxed)
    }

    pub fn end_asking(&self) {
        self.asking.store(false, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn so_far(&self) -> Observations {
        let mut seen = self.lock().seen.clone();
        seen.tripped = self.is_stopped();
        seen
    }

    /// Returns the observations at the end of the rollout. What waits, or is being compared, counts as
    /// dropped, and comparisons count no more.
    pub fn at_end(&self) -> Observations {
        let mut counted = self.lock();
        counted.has_ended = true;
        counted.seen.drop_waiting();
        drop(counted);
        self.so_far()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counted.lock().expect("the lock is not poisoned")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::difference::Differences;

    fn one() -> Tally {
        Tally {
            differences: Differences {
                compared: 1,
                ..Differences::default()
            },
            ..Tally::default()
        }
    }

    #[test]
    fn times_are_stored_in_microseconds_and_their_mean_is_that_of_one_conversion() {
        let millis = Duration::from_millis;
        let mut seen = Observations::default();
        assert_eq!(seen.mean_times(), None);
        for (stable, candidate) in [(2, 3), (4, 9)] {
            let took = OfBoth {
                stable: millis(stable),
                candidate: millis(candidate),
            };
            let cost = Cost {
                took: Some(took),
                ..Cost::default()
            };
            seen.add_cost(cost, &config::VerifySection::STRICT);
        }
        let stored = serde_json::to_value(&seen).expect("it is JSON");
        assert_eq!(stored["timed"], 2);
        assert_eq!(stored["stableUs"], 6_000);
        assert_eq!(stored["candidateUs"], 12_000);
        let read: Observations = serde_json::from_value(stored).expect("it was written");
        assert_eq!(read, seen);
        let mean = OfBoth {
            stable: millis(3),
            candidate: millis(6),
        };
        assert_eq!(read.mean_times(), Some(mean));
        let without: Observations = serde_json::from_str("{}").expect("every field has a default");
        assert_eq!(without, Observations::default());
    }

    #[test]
    fn comparisons_count_for_the_step_in_which_they_were_made_on_every_host() {
        let (observed, _waiting) = Observed::new();
        let add = |part, step| {
            let policy = config::VerifySection::STRICT;
            observed.add((part, step, Turn::AtOnce), one(), Cost::default(), &policy)
        };
        add(Part::Deliveries, Some(1));
        add(Part::Deliveries, Some(10));
        add(Part::Sends, Some(10));
        add(Part::Checks, Some(10));
        add(Part::Deliveries, None);
        let stored = serde_json::to_value(observed.so_far()).expect("it is JSON");
        let mut seen: Observations = serde_json::from_value(stored).expect("it was written");
        seen.merge(observed.so_far());
        let in_steps = [1, 10, 50].map(|percent| seen.in_step(percent));
        assert_eq!(in_steps, [2, 4, 0]);
    }

    #[tokio::test]
    async fn a_running_comparison_waits_until_it_is_counted_and_is_dropped_at_the_end() {
        let (observed, mut queues) = Observed::new();
        let offer = || observed.offer(DeliveryId(uuid::Uuid::nil()));
        let compare = || {
            let policy = config::VerifySection::STRICT;
            let of = (Part::Deliveries, None, Turn::Waited);
            observed.add(of, one(), Cost::default(), &policy)
        };
        let check = |seen: &Observations, expect: [u64; 3]| {
            let counts = [seen.tally.differences.compared, seen.waiting, seen.dropped];
            assert_eq!(counts, expect);
        };
        for _ in 0..5 {
            offer();
        }
        assert!(queues.next().await.is_some());
        check(&observed.so_far(), [0, 5, 0]);
        assert_eq!(compare(), Some(false));
        check(&observed.so_far(), [1, 4, 0]);
        assert!(queues.next().await.is_some());
        observed.drop_one(Turn::Waited);
        check(&observed.so_far(), [1, 3, 1]);
        assert!(queues.next().await.is_some());
        observed.pass_over();
        check(&observed.so_far(), [1, 2, 1]);
        assert!(queues.next().await.is_some());
        check(&observed.at_end(), [1, 0, 3]);
        // It is compared too late, and another one comes too late.
        assert_eq!(compare(), None);
        offer();
        check(&observed.at_end(), [1, 0, 3]);
    }
}
