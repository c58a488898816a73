//! The outcomes and costs of calls, by version and in slots of time over the last week, in the memory
//! of this host. Metrics keep no history, and operators look back at versions that no longer serve. A
//! call costs one lock that only calls of the same version share, for some additions.

use super::error::CallOutcome;
use crate::prelude::*;

#[derive(Clone, Debug, Default)]
pub struct CallCounts {
    pub outcomes: BTreeMap<CallOutcome, u64>,
    pub ran: u64,
    /// The processor time of all of them, and of the longest one.
    pub processor: Duration,
    pub longest: Duration,
    /// The bytes of memory of the call that needed most.
    pub memory: u64,
}

impl CallCounts {
    pub fn merge(&mut self, other: &Self) {
        self.ran += other.ran;
        self.processor += other.processor;
        self.longest = self.longest.max(other.longest);
        self.memory = self.memory.max(other.memory);
    }

    fn add(&mut self, outcome: CallOutcome, processor: Duration, memory: u64) {
        *self.outcomes.entry(outcome).or_default() += 1;
        if processor.is_zero() {
            return;
        }
        self.ran += 1;
        self.processor += processor;
        self.longest = self.longest.max(processor);
        self.memory = self.memory.max(memory);
    }
}

/// The calls of one version, by the number of the slot and of the hour since 1970.
#[derive(Clone, Debug)]
pub struct VersionCalls {
    pub digest: Digest,
    pub version: String,
    /// Only the last two hours.
    pub slots: BTreeMap<i64, CallCounts>,
    pub hours: BTreeMap<i64, CallCounts>,
}

/// The calls of one version on this host, which its calls add to.
#[derive(Debug)]
pub struct VersionHistory {
    plugin: String,
    calls: Mutex<VersionCalls>,
}

impl VersionHistory {
    fn new(plugin: &str, version: &str, digest: &Digest) -> Self {
        Self {
            plugin: plugin.to_owned(),
            calls: Mutex::new(VersionCalls {
                digest: digest.clone(),
                version: version.to_owned(),
                slots: BTreeMap::new(),
                hours: BTreeMap::new(),
            }),
        }
    }

    pub fn add(&self, now: Micros, outcome: CallOutcome, handle: &CallHandle) {
        let (processor, memory) = (handle.processor(), handle.memory());
        let slot = now.slot(limits::ACTIVITY_SLOT);
        let hour = slot.div_euclid(limits::ACTIVITY_SLOTS_PER_HOUR);
        let mut calls = self.lock();
        let is_new = !calls.slots.contains_key(&slot);
        calls
            .slots
            .entry(slot)
            .or_default()
            .add(outcome, processor, memory);
        calls
            .hours
            .entry(hour)
            .or_default()
            .add(outcome, processor, memory);
        if is_new {
            calls
                .slots
                .retain(|at, _| *at > slot - 2 * limits::ACTIVITY_SLOTS_PER_HOUR && *at <= slot);
            calls
                .hours
                .retain(|at, _| *at > hour - limits::ACTIVITY_HOURS && *at <= hour);
        }
    }

    fn last(&self) -> Option<i64> {
        self.lock().slots.last_key_value().map(|(slot, _)| *slot)
    }

    fn lock(&self) -> MutexGuard<'_, VersionCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of all versions that this host called since it started, also of those that it has
/// unloaded meanwhile.
#[derive(Debug)]
pub struct CallHistories {
    since: Micros,
    versions: Mutex<HashMap<Digest, Arc<VersionHistory>>>,
}

impl CallHistories {
    pub fn new(now: Micros) -> Self {
        Self {
            since: now,
            versions: Mutex::default(),
        }
    }

    pub fn since(&self) -> Micros {
        self.since
    }

    /// Returns where the calls of a version are counted. Past the bound, an unloaded version is
    /// forgotten; if there is none, `None`.
    pub fn for_version(
        &self,
        plugin: &str,
        version: &str,
        digest: &Digest,
    ) -> Option<Arc<VersionHistory>> {
        let mut versions = self.lock();
        if !versions.contains_key(digest) && versions.len() >= limits::CALL_HISTORIES {
            let unloaded = versions
                .iter()
                .filter(|(_, history)| Arc::strong_count(history) == 1);
            let oldest = unloaded.min_by_key(|(_, history)| history.last());
            let oldest = oldest.map(|(digest, _)| digest.clone())?;
            versions.remove(&oldest);
        }
        let history = versions
            .entry(digest.clone())
            .or_insert_with(|| Arc::new(VersionHistory::new(plugin, version, digest)));
        Some(Arc::clone(history))
    }

    pub fn calls_for_plugin(&self, name: &str) -> Vec<VersionCalls> {
        let versions: Vec<Arc<VersionHistory>> = {
            let versions = self.lock();
            let named = versions.values().filter(|history| history.plugin == name);
            named.cloned().collect()
        };
        versions.iter().map(|one| one.lock().clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Arc<VersionHistory>>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> VersionHistory {
        VersionHistory::new("portal", "1.0.0", &Digest("0".repeat(64)))
    }

    #[test]
    fn calls_are_counted_by_slot_and_hour_and_old_ones_are_forgotten() {
        let history = history();
        let hour = Duration::from_hours(1);
        let begin = Micros::from_slot(500_000, hour);
        let micros = Duration::from_micros;
        let handle = CallHandle::default();
        handle.set_needs(Duration::from_millis(3), 7);
        history.add(begin, CallOutcome::Ok, &handle);
        handle.set_needs(Duration::from_millis(1), 9);
        history.add(begin.plus(micros(1)), CallOutcome::Trapped, &handle);
        // It never ran.
        history.add(
            begin.plus(micros(2)),
            CallOutcome::Busy,
            &CallHandle::default(),
        );
        let calls = history.lock().clone();
        let counts = &calls.hours[&500_000];
        assert_eq!(
            counts.outcomes,
            BTreeMap::from([
                (CallOutcome::Ok, 1),
                (CallOutcome::Trapped, 1),
                (CallOutcome::Busy, 1)
            ])
        );
        assert_eq!((counts.ran, counts.memory), (2, 9));
        assert_eq!(counts.processor, Duration::from_millis(4));
        assert_eq!(counts.longest, Duration::from_millis(3));

        for later in 1..limits::ACTIVITY_HOURS + 20 {
            history.add(
                Micros::from_slot(500_000 + later, hour),
                CallOutcome::Ok,
                &handle,
            );
        }
        let calls = history.lock().clone();
        assert_eq!(calls.hours.len() as i64, limits::ACTIVITY_HOURS);
        assert!(calls.slots.len() <= 2);
        assert!(!calls.hours.contains_key(&500_000));
    }

    #[test]
    fn past_the_bound_the_version_that_was_unloaded_first_is_forgotten() {
        let histories = CallHistories::new(Micros(0));
        let digest = |number: usize| Digest(format!("{number:064}"));
        let version = |number| histories.for_version("portal", "1.0.0", &digest(number));
        let loaded: Vec<_> = (0..limits::CALL_HISTORIES).map(version).collect();
        assert!(loaded.iter().all(Option::is_some));
        assert!(version(limits::CALL_HISTORIES).is_none(), "all are loaded");
        let first = loaded[0].clone().expect("it is counted");
        drop(loaded);
        first.add(Micros(1), CallOutcome::Ok, &CallHandle::default());
        assert!(version(limits::CALL_HISTORIES).is_some());
        let kept = histories.calls_for_plugin("portal");
        assert_eq!(kept.len(), limits::CALL_HISTORIES);
        assert!(kept.iter().any(|one| one.digest == digest(0)));
    }

    #[test]
    fn a_clock_that_goes_back_leaves_no_calls_of_a_time_to_come() {
        let history = history();
        let handle = CallHandle::default();
        let day = |number| Micros::from_slot(number, Duration::from_hours(24));
        history.add(day(20), CallOutcome::Ok, &handle);
        history.add(day(19), CallOutcome::Ok, &handle);
        let calls = history.lock().clone();
        assert_eq!(calls.hours.len(), 1);
        assert_eq!(calls.slots.len(), 1);
    }
}
