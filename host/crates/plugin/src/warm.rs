//! Warm instances: instances of a version that is slow to start, made before a call needs them.
//!
//! An interpreter needs milliseconds for its first call in a fresh instance, mostly to touch its
//! memory. A warm instance has answered one golden case of the version already, so that a call
//! finds this work done. It serves one call and is thrown away: no delivery sees what another
//! one left behind.
//!
//! The golden case may not show in a later answer either. So a version has warm instances only
//! if its trial showed that it answers all its golden cases after the first one as it does in a
//! fresh instance, and that the first one did not read the time, which belongs to the delivery
//! (`docs/adr/0024` says why random numbers may be drawn). All other versions are called in fresh instances, as is each call that
//! finds no warm one.

use std::sync::Weak;

use super::schedule::drop_in_background;
use crate::prelude::*;

/// The golden case that warms instances of a version up: the longest delivery that is converted,
/// or the first send. `None` for versions without one, and for components that start fast.
pub fn warm_up_case(component_bytes: usize, cases: &[Arc<Case>]) -> Option<Arc<Case>> {
    if component_bytes < limits::WARM_COMPONENT_BYTES {
        return None;
    }
    let is_answered = |case: &Case| {
        case.expect
            .as_ref()
            .is_some_and(|answer| answer.get("ok").is_some())
    };
    let worth = |case: &&Arc<Case>| (is_answered(case), case.body.len());
    let converted = cases.iter().filter(|case| case.call == Call::Convert);
    let sent = || cases.iter().find(|case| case.call == Call::Send);
    converted.max_by_key(worth).or_else(sent).cloned()
}

pub struct WarmInstances {
    /// The golden case that each instance answers before its call.
    case: Arc<Case>,
    state: Mutex<WarmState>,
    /// When a call used the version last, in the pool's count of uses.
    used: AtomicU64,
}

#[derive(Default)]
struct WarmState {
    ready: Vec<WarmStore>,
    making: usize,
    wanted: usize,
    /// Whether an instance could not be made, or is larger than all may be together: no more
    /// are made until the version is activated again.
    failed: bool,
    /// Calls since `wanted` was checked, and the fewest instances that one of them left ready.
    calls: usize,
    least: usize,
}

/// A store whose instance has been warmed up, and its room in the pool.
struct WarmStore {
    store: Store<InstanceState>,
    room: WarmRoom,
}

impl WarmInstances {
    /// Returns the warm instances of a version that this case warms up. None is made yet.
    pub fn new(case: Arc<Case>) -> Self {
        Self {
            case,
            state: Mutex::default(),
            used: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, WarmState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an instance for a call with this environment, if one is ready.
    pub fn take(
        &self,
        pool: &WarmPool,
        environment: Option<&CallEnvironment>,
    ) -> Option<Store<InstanceState>> {
        self.used.store(pool.next_use(), Ordering::Relaxed);
        let WarmStore { mut store, room } = self.state().take()?;
        drop(room);
        if let (Some(wasi), Some(environment)) = (&mut store.data_mut().wasi, environment) {
            wasi.begin(environment);
        }
        Some(store)
    }

    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Wants an instance from now on, even if one could not be made before.
    pub fn want(&self, pool: &WarmPool) {
        self.used.store(pool.next_use(), Ordering::Relaxed);
        let mut state = self.state();
        state.wanted = state.wanted.max(1);
        state.failed = false;
    }

    /// Returns whether an instance is to be made now, which then counts as being made until
    /// [`WarmInstances::end_making`].
    pub fn begin_making(&self) -> bool {
        let mut state = self.state();
        let lacks = state.lacks();
        if lacks {
            state.making += 1;
        }
        lacks
    }

    pub fn end_making(&self) {
        self.state().making -= 1;
    }

    /// Makes no more instances, after one has failed its golden case.
    pub fn give_up(&self) {
        self.state().failed = true;
    }

    /// Keeps an instance that was made, if it is still wanted and has room.
    pub fn keep(&self, pool: &Arc<WarmPool>, store: Store<InstanceState>) {
        let bytes = usize::try_from(store.data().limiter.needed()).unwrap_or(usize::MAX);
        let Some(room) = pool.reserve(bytes, self) else {
            let mut state = self.state();
            state.wanted = state.ready.len();
            state.failed |= bytes > pool.most;
            return;
        };
        let made = WarmStore { store, room };
        let mut state = self.state();
        if state.ready.len() < state.wanted {
            state.ready.push(made);
        } else {
            drop(state);
            discard(vec![made]);
        }
    }

    /// Wants no more instances, and drops those that are ready.
    pub fn cool(&self) {
        let mut state = self.state();
        state.wanted = 0;
        let dropped = std::mem::take(&mut state.ready);
        drop(state);
        discard(dropped);
    }
}

impl Drop for WarmInstances {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        discard(std::mem::take(&mut state.ready));
    }
}

/// Gives the room of instances back at once, and frees their memory in the background.
fn discard(dropped: Vec<WarmStore>) {
    if dropped.is_empty() {
        return;
    }
    let stores: Vec<_> = dropped.into_iter().map(|warm| warm.store).collect();
    drop_in_background(stores);
}

impl WarmState {
    fn take(&mut self) -> Option<WarmStore> {
        let taken = self.ready.pop();
        if taken.is_none() && !self.failed {
            // This call starts cold: more calls come at once than were expected.
            self.wanted = (self.wanted + 1).min(limits::WARM_INSTANCES);
        }
        self.least = self.least.min(self.ready.len());
        self.calls += 1;
        if self.calls >= limits::WARM_CALLS {
            // None of the last calls needed this many instances, so fewer are made from now on.
            self.wanted = self.wanted.saturating_sub(self.least).max(1);
            self.calls = 0;
            self.least = usize::MAX;
        }
        taken
    }

    fn lacks(&self) -> bool {
        !self.failed && self.ready.len() + self.making < self.wanted
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmLoad {
    pub instances: usize,
    pub bytes: usize,
}

/// The part of a pool that one instance has. It is given back when it is dropped, whatever becomes of
/// the instance or of its version.
struct WarmRoom {
    pool: Arc<WarmPool>,
    bytes: usize,
}

impl Drop for WarmRoom {
    fn drop(&mut self) {
        let mut taken = self.pool.taken();
        taken.instances -= 1;
        taken.bytes -= self.bytes;
    }
}

pub struct WarmPool {
    most: usize,
    taken: Mutex<WarmLoad>,
    uses: AtomicU64,
    versions: Mutex<Vec<Weak<WarmInstances>>>,
}

impl WarmPool {
    /// Returns a pool for warm instances whose memories have at most this many bytes together.
    /// 0: there are none.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::default(),
            uses: AtomicU64::new(0),
            versions: Mutex::default(),
        }
    }

    pub fn load(&self) -> WarmLoad {
        *self.taken()
    }

    pub fn is_used(&self) -> bool {
        self.most > 0
    }

    fn taken(&self) -> MutexGuard<'_, WarmLoad> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    fn versions(&self) -> MutexGuard<'_, Vec<Weak<WarmInstances>>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a version whose instances may be dropped to make room for others.
    pub fn add(&self, warm: &Arc<WarmInstances>) {
        let mut versions = self.versions();
        versions.retain(|known| known.strong_count() > 0);
        let is_known =
            |known: &Weak<WarmInstances>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(warm));
        if !versions.iter().any(is_known) {
            versions.push(Arc::downgrade(warm));
        }
    }

    /// Reserves room for an instance of this version. If there is too little, instances of versions
    /// that were used longer ago are dropped for it.
    fn reserve(self: &Arc<Self>, bytes: usize, for_version: &WarmInstances) -> Option<WarmRoom> {
        loop {
            if let Some(room) = self.room(bytes) {
                return Some(room);
            }
            if bytes > self.most || !self.drop_one_used_before(for_version) {
                return None;
            }
        }
    }

    fn room(self: &Arc<Self>, bytes: usize) -> Option<WarmRoom> {
        let mut taken = self.taken();
        let together = taken.bytes.checked_add(bytes)?;
        // The engine has no more places for instances that wait: calls would find none.
        if together > self.most || taken.instances >= limits::WARM_INSTANCES_OF_ALL {
            return None;
        }
        taken.bytes = together;
        taken.instances += 1;
        drop(taken);
        let pool = Arc::clone(self);
        Some(WarmRoom { pool, bytes })
    }

    fn drop_one_used_before(&self, version: &WarmInstances) -> bool {
        let used = version.used.load(Ordering::Relaxed);
        let mut versions: Vec<Arc<WarmInstances>> =
            self.versions().iter().filter_map(Weak::upgrade).collect();
        let used_at = |warm: &Arc<WarmInstances>| warm.used.load(Ordering::Relaxed);
        // Each time of use is read once, because calls change it meanwhile and a sort needs stable
        // keys.
        versions.sort_by_cached_key(used_at);
        let dropped = versions
            .iter()
            .take_while(|warm| used_at(warm) < used)
            .find_map(|warm| warm.state().ready.pop());
        let found = dropped.is_some();
        discard(dropped.into_iter().collect());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(pool: &WarmPool) -> Arc<WarmInstances> {
        let warm = WarmInstances::new(Arc::new(Case::new("one", Call::Convert)));
        warm.want(pool);
        Arc::new(warm)
    }

    #[test]
    fn room_is_bounded_in_bytes_and_given_back_when_it_is_dropped() {
        let pool = Arc::new(WarmPool::new(10));
        let warm = version(&pool);
        assert!(pool.reserve(11, &warm).is_none());
        let first = pool.reserve(6, &warm).expect("it fits");
        assert!(pool.reserve(5, &warm).is_none());
        let second = pool.reserve(4, &warm).expect("it fits");
        assert_eq!(pool.load().bytes, 10);
        drop(first);
        assert!(pool.reserve(7, &warm).is_none());
        drop(second);
        assert_eq!(*pool.taken(), WarmLoad::default());
        assert!(pool.reserve(10, &warm).is_some());
    }

    #[test]
    fn small_instances_are_bounded_in_number() {
        let pool = Arc::new(WarmPool::new(usize::MAX));
        let warm = version(&pool);
        let mut rooms: Vec<_> = (0..limits::WARM_INSTANCES_OF_ALL)
            .map(|_| pool.reserve(0, &warm).expect("there is room"))
            .collect();
        assert!(pool.reserve(0, &warm).is_none());
        rooms.pop();
        assert!(pool.reserve(0, &warm).is_some());
    }
}
