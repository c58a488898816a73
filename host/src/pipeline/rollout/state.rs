//! The rollouts that this host acts on, and what it has seen of each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, mpsc};

use super::guard;
use crate::config;
use crate::domain::id::DeliveryId;
use crate::domain::rollout::{Rollout, RolloutStage};
use crate::limits;
use crate::pipeline::verify::compare::Tally;
use crate::plugin::Loaded;

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
    /// Has the rollouts looked at now.
    pub fn hurry(&self) {
        self.look.notify_one();
        self.judge.notify_one();
    }

    /// Returns the rollout of a plugin, if both versions are loaded here.
    pub fn of(&self, plugin: &str) -> Option<Arc<LiveRollout>> {
        self.live.load().get(plugin).cloned()
    }

    /// Returns all rollouts that this host acts on.
    pub fn all(&self) -> Vec<Arc<LiveRollout>> {
        self.live.load().values().cloned().collect()
    }

    /// Acts on a rollout from now on.
    pub fn follow(&self, rollout: Arc<LiveRollout>) {
        self.live.rcu(|live| {
            let mut live = HashMap::clone(live);
            live.insert(rollout.rollout.name.clone(), Arc::clone(&rollout));
            live
        });
    }

    /// Acts on a plugin's rollout no more.
    pub fn leave(&self, plugin: &str) {
        self.live.rcu(|live| {
            let mut live = HashMap::clone(live);
            live.remove(plugin);
            live
        });
    }
}

/// A rollout with its loaded versions.
pub struct LiveRollout {
    pub rollout: Rollout,
    pub candidate: Arc<Loaded>,
    pub stable: Arc<Loaded>,
    pub observed: Arc<Observed>,
}

impl LiveRollout {
    /// Returns whether the candidate converts a part of the deliveries, and no guard has tripped
    /// here.
    pub fn is_canary(&self) -> bool {
        self.rollout.stage == RolloutStage::Canary && !self.observed.is_stopped()
    }

    /// Returns whether the candidate converts the delivery with this key: the same on every host,
    /// and whenever it is asked while the percentage does not shrink.
    pub fn takes(&self, key: &str) -> bool {
        self.is_canary() && self.is_in_share(key.as_bytes())
    }

    /// Returns whether a delivery is compared after its answer.
    pub fn samples(&self, delivery: DeliveryId) -> bool {
        match self.rollout.stage {
            RolloutStage::Shadow => self.is_in_share(delivery.0.as_bytes()),
            RolloutStage::Probation => true,
            _ => false,
        }
    }

    fn is_in_share(&self, key: &[u8]) -> bool {
        let mut hash = Sha256::new();
        hash.update(self.candidate.digest.0.as_bytes());
        hash.update(key);
        let hash = hash.finalize();
        let place = u16::from_be_bytes([hash[0], hash[1]]);
        u32::from(place) * 100 < u32::from(self.rollout.percent()) << 16
    }
}

/// What a host has seen of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Observations {
    pub tally: Tally,
    /// Deliveries that the candidate converted, and whose result was stored.
    pub served: u64,
    /// Deliveries that the candidate was chosen for, and whose result was that of the stable
    /// version, because the candidate failed or did harm.
    pub saved: u64,
    /// Deliveries that were not compared, because too many waited or the host was busy.
    pub dropped: u64,
    /// A guard tripped by what one host has seen.
    pub tripped: bool,
    /// Conversions of both versions one after the other, and how long they took in total.
    pub timed: u64,
    pub stable_us: u64,
    pub candidate_us: u64,
    /// Those for which the candidate took far longer.
    pub slower: u64,
}

impl Observations {
    /// Adds those of another host.
    pub fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.served += other.served;
        self.saved += other.saved;
        self.dropped += other.dropped;
        self.tripped |= other.tripped;
        self.timed += other.timed;
        self.stable_us += other.stable_us;
        self.candidate_us += other.candidate_us;
        self.slower += other.slower;
    }
}

/// How long both versions took for one delivery.
#[derive(Clone, Copy)]
pub struct Took {
    pub stable: Duration,
    pub candidate: Duration,
}

impl Took {
    /// Returns whether the candidate took far longer.
    fn is_slower(self) -> bool {
        self.candidate > self.stable * TIMES_SLOWER + SLOWER
    }
}

/// A candidate is far slower if it takes more than so many times the time of the stable version…
const TIMES_SLOWER: u32 = 3;

/// …and so much.
const SLOWER: Duration = Duration::from_millis(5);

/// What this host has seen of a rollout since it follows it.
pub struct Observed {
    seen: Mutex<Observations>,
    dropped: AtomicU64,
    /// A guard tripped here: the candidate gets no more deliveries until the judge decides.
    stopped: AtomicBool,
    queue: mpsc::Sender<DeliveryId>,
}

impl Observed {
    /// Returns it with nothing seen, and the queue of deliveries to compare.
    pub fn new() -> (Self, mpsc::Receiver<DeliveryId>) {
        let (queue, waiting) = mpsc::channel(limits::ROLLOUT_WAITING);
        let observed = Self {
            seen: Mutex::default(),
            dropped: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            queue,
        };
        (observed, waiting)
    }

    /// Adds a comparison. Returns whether the guards trip by what this host has seen.
    pub fn add(&self, one: Tally, took: Option<Took>, policy: &config::Verify) -> bool {
        let harmful = one.harm.is_harmful();
        let mut seen = self.lock();
        seen.tally.merge(one);
        if let Some(took) = took {
            let micros = |took: Duration| u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            seen.timed += 1;
            seen.stable_us += micros(took.stable);
            seen.candidate_us += micros(took.candidate);
            seen.slower += u64::from(took.is_slower());
        }
        harmful && guard::trips(&seen.tally.harm, policy)
    }

    /// Counts a delivery that the candidate was chosen for: whether its result was stored.
    pub fn chosen(&self, served: bool) {
        let mut seen = self.lock();
        match served {
            true => seen.served += 1,
            false => seen.saved += 1,
        }
    }

    /// Puts a delivery into the queue of those to compare, if there is room.
    pub fn offer(&self, delivery: DeliveryId) {
        if self.queue.try_send(delivery).is_err() {
            self.drop_one();
        }
    }

    /// Counts a delivery that is not compared.
    pub fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the candidate no more deliveries. Returns whether it got some until now.
    pub fn stop(&self) -> bool {
        !self.stopped.swap(true, Ordering::Relaxed)
    }

    /// Returns whether a guard has tripped here.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns what was seen so far.
    pub fn so_far(&self) -> Observations {
        let mut seen = self.lock().clone();
        seen.dropped += self.dropped.load(Ordering::Relaxed);
        seen.tripped = self.is_stopped();
        seen
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Observations> {
        self.seen.lock().expect("the lock is not poisoned")
    }
}
