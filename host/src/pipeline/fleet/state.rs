//! What a host knows of itself and its fleet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::clock;
use crate::config;
use crate::domain::id::HostId;
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::limits;
use crate::plugin::{NotInstalled, Plugins};
use crate::store::{Activation, Beat, HostReport, Preparation, Serves};

/// One per host.
pub struct Fleet {
    pub(super) host: HostId,
    pub(super) name: String,
    pub(super) state: Mutex<State>,
    /// When it last gave a sign of life and then saw what serves, in milliseconds
    /// of the clock that counts suspension; 0: it never had to.
    pub(super) current: AtomicU64,
    /// Something is to be looked at.
    pub(super) look: Notify,
    /// A host said something about itself.
    pub(super) said: Notify,
    pub(super) started: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) serves: BTreeMap<String, Served>,
    pub(super) prepared: BTreeMap<i64, Preparation>,
    pub(super) loads: HashMap<Digest, Load>,
    /// Loaded for a proposal.
    pub(super) aside: HashSet<Digest>,
}

#[derive(Default)]
pub(super) struct Served {
    pub(super) now: Serves,
    pub(super) previous: Option<Digest>,
}

/// A version that is not loaded.
pub(super) enum Load {
    UnderWay,
    Failed {
        /// The proposal that it was tried for.
        number: Option<i64>,
        reason: String,
        at: Instant,
    },
}

impl Fleet {
    pub fn new(config: &config::Server, now: Micros) -> Self {
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
        }
    }

    pub fn host(&self) -> HostId {
        self.host
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it serves, by the plugin's name.
    pub fn serves(&self) -> BTreeMap<String, Serves> {
        self.report().serves
    }

    /// Whether the others still reckon with this host, so that what it serves is
    /// what the fleet serves.
    pub fn is_current(&self) -> bool {
        let current = self.current.load(Ordering::Relaxed);
        let stale = Duration::from_secs(limits::HOST_STALE_SECONDS);
        current == 0 || clock::boot().saturating_sub(Duration::from_millis(current)) < stale
    }

    pub(super) fn saw_all(&self, since: Duration) {
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.current.store(millis.max(1), Ordering::Relaxed);
    }

    /// Calls by this name begin on this version from now on, unless a later
    /// activation was followed already. Whether that is news.
    pub(in crate::pipeline) fn serve(
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
        // The version before stays ready for a rollback; what served before that
        // is loaded again from the store if a fetch still names it.
        for old in [before.now.digest, before.previous].into_iter().flatten() {
            if old != activation.digest && Some(&old) != activation.previous.as_ref() {
                plugins.retire(&old);
            }
        }
        Ok(true)
    }

    /// Whether there is nothing to do about an activation.
    pub(super) fn is_done_with(&self, plugins: &Plugins, activation: &Activation) -> bool {
        self.state().is_done_with(plugins, activation)
    }

    /// The version that should serve does not load here. The one before it has
    /// been left by the fleet: what comes in waits. Whether that is news.
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

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// It is followed, or a later one is. What was followed may have been let go
    /// of since.
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
