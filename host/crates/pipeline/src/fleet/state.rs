//! The state of a host in its fleet.

mod clocks;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use self::clocks::ClockComparison;
use crate::prelude::*;
use leadhost_domain::clock;
use leadhost_plugin::{NotInstalled, Plugins};
use leadhost_store::{Beat, HostReport, Preparation, Serves};

pub struct FleetMembership {
    pub(super) host: HostId,
    pub(super) name: String,
    pub(super) state: Mutex<FleetState>,
    /// The time of the last heartbeat that was followed by a read of the active versions,
    /// in milliseconds of the clock that counts suspension; 0 if the host never had to.
    pub(super) current: AtomicU64,
    pub(super) look: Notify,
    /// Another host reported something.
    pub(super) said: Notify,
    pub(super) started: AtomicBool,
    pub(super) clocks: ClockComparison,
}

#[derive(Default)]
pub(super) struct FleetState {
    pub(super) serves: BTreeMap<String, Served>,
    pub(super) prepared: BTreeMap<i64, Preparation>,
    pub(super) loads: HashMap<Digest, VersionLoad>,
    /// Versions loaded for a proposal.
    pub(super) aside: HashSet<Digest>,
}

#[derive(Default)]
pub(super) struct Served {
    pub(super) now: Serves,
    pub(super) previous: Option<Digest>,
}

pub(super) enum VersionLoad {
    UnderWay,
    Failed {
        /// The proposal that it was loaded for.
        number: Option<i64>,
        reason: String,
        at: Instant,
    },
}

impl FleetMembership {
    /// Returns the state of a host that starts now, with a new id. Without a configured name the host has the
    /// machine's.
    pub fn new(config: &config::ServerSection, now: Micros) -> Self {
        let name = if config.name.is_empty() {
            rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned()
        } else {
            config.name.clone()
        };
        Self {
            host: HostId::new(now),
            name,
            state: Mutex::default(),
            current: AtomicU64::new(0),
            look: Notify::new(),
            said: Notify::new(),
            started: AtomicBool::new(false),
            clocks: ClockComparison::default(),
        }
    }

    pub fn host(&self) -> HostId {
        self.host
    }

    /// Returns the name of this host for operators. Two hosts may have the same.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn serves(&self) -> BTreeMap<String, Serves> {
        self.report().serves
    }

    /// Returns whether the other hosts still count this host as live, so that its active versions are the
    /// fleet's.
    pub fn is_current(&self) -> bool {
        let current = self.current.load(Ordering::Relaxed);
        let stale = limits::HOST_STALE;
        current == 0 || clock::boot().saturating_sub(Duration::from_millis(current)) < stale
    }

    /// Notes that this host had followed all activations at `since`, by the clock since the
    /// start of the machine.
    pub(super) fn saw_all(&self, since: Duration) {
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.current.store(millis.max(1), Ordering::Relaxed);
    }

    /// Directs new calls by this name to this version, unless a later activation was
    /// followed already. Returns whether that changed anything.
    pub(crate) fn serve(
        &self,
        plugins: &Plugins,
        activation: &Activation,
    ) -> Result<bool, NotInstalled> {
        let mut state = self.state();
        if state.is_done_with(plugins, activation) {
            return Ok(false);
        }
        plugins.activate(&activation.name, &activation.digest)?;
        let served = Served {
            now: Serves {
                digest: Some(activation.digest.clone()),
                generation: activation.generation,
                error: None,
            },
            previous: activation.previous.clone(),
        };
        let before = state
            .serves
            .insert(activation.name.clone(), served)
            .unwrap_or_default();
        // The previous version stays loaded for a rollback. The one before it is retired,
        // and loaded again from the store if a fetch still names it.
        for old in [before.now.digest, before.previous].into_iter().flatten() {
            if old != activation.digest && Some(&old) != activation.previous.as_ref() {
                plugins.retire(&old);
            }
        }
        Ok(true)
    }

    pub(super) fn is_done_with(&self, plugins: &Plugins, activation: &Activation) -> bool {
        self.state().is_done_with(plugins, activation)
    }

    /// Records that the active version fails to load here. The fleet has left the version
    /// before it, so new deliveries wait. Returns whether that changed anything.
    pub(super) fn cannot(&self, plugins: &Plugins, activation: &Activation, reason: &str) -> bool {
        let mut state = self.state();
        let served = Served {
            now: Serves {
                digest: None,
                generation: activation.generation,
                error: Some(reason.to_owned()),
            },
            previous: activation.previous.clone(),
        };
        let before = state.serves.get(&activation.name);
        if before.is_some_and(|before| before.now == served.now) || state.is_past(activation) {
            return false;
        }
        let before = state.serves.insert(activation.name.clone(), served);
        if let Some(old) = before.and_then(|before| before.now.digest) {
            plugins.retire(&old);
        }
        true
    }

    pub(super) fn report(&self) -> HostReport {
        let state = self.state();
        let serves = state.serves.iter();
        HostReport {
            serves: serves
                .map(|(name, served)| (name.clone(), served.now.clone()))
                .collect(),
            prepared: state.prepared.clone(),
            clock_ahead_minutes: self.clocks.wrong_minutes(),
        }
    }

    pub(super) fn beat(&self) -> Beat {
        Beat {
            host: self.host,
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            report: self.report(),
        }
    }

    /// Locks the state, also after a panic of its holder.
    pub(super) fn state(&self) -> MutexGuard<'_, FleetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FleetState {
    /// Returns whether the activation, or a later one, is followed. The version itself may
    /// have been retired since.
    pub(super) fn is_done_with(&self, plugins: &Plugins, activation: &Activation) -> bool {
        let active = plugins.active(&activation.name);
        let serves = active.is_some_and(|loaded| loaded.digest == activation.digest);
        let follows = self.serves.get(&activation.name).is_some_and(|served| {
            served.now.generation == activation.generation
                && served.now.digest.as_ref() == Some(&activation.digest)
        });
        (serves && follows) || self.is_past(activation)
    }

    pub(super) fn is_past(&self, activation: &Activation) -> bool {
        self.serves
            .get(&activation.name)
            .is_some_and(|served| served.now.generation > activation.generation)
    }
}
