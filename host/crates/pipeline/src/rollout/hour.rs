//! The guard of a probation against the hour before. Each host counts how many deliveries of a
//! connection fail, are refused, bring no lead, or bring a lead without a name, phone, e-mail address,
//! external id or listing. When a candidate is activated, the counts of the last hour are what the
//! deliveries since then are tested against ([`HourComparison::worse`]).
//!
//! The test has two parts, because such a share belongs to the source as much as to the version.
//!
//! 1. **Is it worse than the hour before?** The allowed share is the upper bound of the share in the
//!    hour before, by the Chernoff bound with a chance of error of [`FALSE_ALARMS`]. A sequential
//!    probability ratio test compares it with ten times as much, at most half of the way to 1, and may be
//!    looked at after each delivery. A small hour gives a wide bound: a connection without deliveries
//!    in it never trips.
//! 2. **Is it the version?** The version before the candidate converts the same deliveries after their
//!    answer. If it has the same flaw on at least half of them, the source has changed, and no guard
//!    trips. At least [`EXPLAINED`] of them have to be compared: without a comparison nothing is proved.
//!
//! Leads that are fetched later are not counted: the guards that compare both versions see them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::guard;
use crate::connections::Live;
use crate::verify::flaws::{Flaw, Flaws};
use leadhost_config as config;
use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_domain::time::Micros;

/// The greatest chance that each of the two bounds of the test is wrong.
const FALSE_ALARMS: f64 = 0.000_01;

/// Deliveries with a flaw that both versions have to convert before the version or the source is blamed.
const EXPLAINED: u64 = 3;

/// The length of a slot of counts.
const SLOT: Duration = Duration::from_mins(5);

/// Slots of an hour, besides the one that is not finished.
const SLOTS: i64 = 12;

/// How many deliveries can have a flaw, and how many have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlawCount {
    pub of: u64,
    pub flawed: u64,
}

/// The counts of all flaws, by their places in [`Flaw::ALL`]. Stored by the names of the flaws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Flaw, FlawCount>", into = "BTreeMap<Flaw, FlawCount>")]
pub struct FlawCounts([FlawCount; Flaw::ALL.len()]);

impl From<BTreeMap<Flaw, FlawCount>> for FlawCounts {
    fn from(counts: BTreeMap<Flaw, FlawCount>) -> Self {
        let count = |place: usize| counts.get(&Flaw::ALL[place]).copied();
        Self(std::array::from_fn(|place| {
            count(place).unwrap_or_default()
        }))
    }
}

impl From<FlawCounts> for BTreeMap<Flaw, FlawCount> {
    fn from(counts: FlawCounts) -> Self {
        let all = Flaw::ALL.iter().copied().zip(counts.0);
        all.filter(|(_, count)| count.of > 0).collect()
    }
}

impl FlawCounts {
    fn add(&mut self, flaws: &Flaws) {
        for (count, has) in self.0.iter_mut().zip(flaws.all()) {
            count.of += u64::from(has.is_some());
            count.flawed += u64::from(has == Some(true));
        }
    }

    /// Adds what another version makes of a delivery, for the flaws that it has.
    fn explain(&mut self, served: &Flaws, other: &Flaws) {
        for ((count, served), other) in self.0.iter_mut().zip(served.all()).zip(other.all()) {
            if let (Some(true), Some(other)) = (served, other) {
                count.of += 1;
                count.flawed += u64::from(other);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            count.of += other.of;
            count.flawed += other.flawed;
        }
    }

    /// Returns what came after an earlier moment.
    fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        for (count, earlier) in since.0.iter_mut().zip(earlier.0) {
            count.of = count.of.saturating_sub(earlier.of);
            count.flawed = count.flawed.saturating_sub(earlier.flawed);
        }
        since
    }

    /// Returns the number of deliveries.
    pub fn deliveries(&self) -> u64 {
        self.0[Flaw::Failed as usize].of
    }
}

type ByConnection = BTreeMap<ConnectionId, FlawCounts>;

/// The deliveries of the hour before the activation of a candidate, and those since then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HourComparison {
    /// The hour before the activation.
    pub before: ByConnection,
    /// The time since the activation.
    pub since: ByConnection,
    /// The flaws since then that were compared, and how many of them the version before the candidate
    /// has on the same delivery too.
    pub explained: ByConnection,
}

/// Returns the counts of a connection, unless too many others have some.
fn counts_of<'a>(
    counts: &'a mut ByConnection,
    connection: &ConnectionId,
) -> Option<&'a mut FlawCounts> {
    let is_full = counts.len() >= limits::VERIFY_CONNECTIONS && !counts.contains_key(connection);
    (!is_full).then(|| counts.entry(connection.clone()).or_default())
}

/// A flaw that more deliveries of a connection have than in the hour before, because of the candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worse {
    pub connection: ConnectionId,
    pub flaw: Flaw,
    pub before: FlawCount,
    pub since: FlawCount,
}

impl Worse {
    /// Returns it in a sentence, about the connection with this name.
    pub fn sentence(&self, connection: &str) -> String {
        let Self {
            flaw,
            before,
            since,
            ..
        } = self;
        format!(
            "on connection {connection} {} of {} {}, {} of {} in the hour before",
            since.flawed,
            since.of,
            flaw.describe_deliveries(),
            before.flawed,
            before.of
        )
    }
}

impl HourComparison {
    /// Adds those of another host.
    pub fn merge(&mut self, other: Self) {
        let Self {
            before,
            since,
            explained,
        } = other;
        for (own, other) in [
            (&mut self.before, before),
            (&mut self.since, since),
            (&mut self.explained, explained),
        ] {
            for (connection, counts) in other {
                own.entry(connection).or_default().merge(&counts);
            }
        }
    }

    /// Counts a delivery since the activation.
    pub fn add(&mut self, connection: &ConnectionId, flaws: &Flaws) {
        if let Some(since) = counts_of(&mut self.since, connection) {
            since.add(flaws);
        }
    }

    /// Adds what the version before the candidate makes of a delivery that was served with these flaws.
    pub fn explain(&mut self, connection: &ConnectionId, served: &Flaws, other: &Flaws) {
        if let Some(explained) = counts_of(&mut self.explained, connection) {
            explained.explain(served, other);
        }
    }

    /// Returns the number of deliveries in the hour before and since the activation. `None` before it.
    pub fn deliveries(&self) -> Option<(u64, u64)> {
        let all = |counts: &ByConnection| counts.values().map(FlawCounts::deliveries).sum();
        (*self != Self::default()).then(|| (all(&self.before), all(&self.since)))
    }

    /// Returns the counts since the activation, to look at what comes after them.
    #[must_use]
    pub fn moment(&self) -> Self {
        Self {
            before: ByConnection::new(),
            since: self.since.clone(),
            explained: self.explained.clone(),
        }
    }

    /// Returns what is worse since the activation, or since one of these earlier moments, so that what a
    /// version did well before does not excuse what it does now. `None`: nothing.
    pub fn worse<'a>(
        &self,
        earlier: impl Iterator<Item = &'a Self> + Clone,
        policy: &config::VerifySection,
    ) -> Option<Worse> {
        self.since.iter().find_map(|(connection, since)| {
            let before = self.before.get(connection)?;
            let of = |counts: &ByConnection| counts.get(connection).copied().unwrap_or_default();
            let explained = of(&self.explained);
            let moments = earlier.clone().map(|then| {
                let explained = explained.since(&of(&then.explained));
                (since.since(&of(&then.since)), explained)
            });
            let mut spans = std::iter::once((*since, explained)).chain(moments);
            spans.find_map(|(since, explained)| worst(connection, before, since, explained, policy))
        })
    }
}

/// Returns the share that the policy allows, per thousand.
fn allowed(flaw: Flaw, policy: &config::VerifySection) -> u64 {
    match flaw {
        Flaw::Failed | Flaw::Refused => policy.failing_per_mille,
        Flaw::NoLead => policy.leads_per_mille,
        Flaw::NoName | Flaw::NoPhone | Flaw::NoEmail | Flaw::NoExternalId | Flaw::NoListing => {
            policy.lost_per_mille
        }
    }
}

fn worst(
    connection: &ConnectionId,
    before: &FlawCounts,
    since: FlawCounts,
    explained: FlawCounts,
    policy: &config::VerifySection,
) -> Option<Worse> {
    let mut flaws = Flaw::ALL.iter().copied().enumerate();
    let (place, flaw) = flaws.find(|(place, flaw)| {
        let (before, since) = (before.0[*place], since.0[*place]);
        is_more(before, since, allowed(*flaw, policy)) && is_of_version(explained.0[*place])
    })?;
    Some(Worse {
        connection: connection.clone(),
        flaw,
        before: before.0[place],
        since: since.0[place],
    })
}

/// Returns whether the share has grown by more than chance explains.
fn is_more(before: FlawCount, since: FlawCount, allowed_per_mille: u64) -> bool {
    let former = upper_bound(before);
    let allowed = guard::share(allowed_per_mille, 1_000).max(former);
    let tested = (allowed * guard::TIMES).min(f64::midpoint(allowed, 1.0));
    let evidence = guard::evidence(since.flawed, since.of, allowed, tested);
    evidence >= -FALSE_ALARMS.ln()
}

/// Returns whether the version before has the flaw on less than half of the deliveries that were compared.
fn is_of_version(explained: FlawCount) -> bool {
    explained.of >= EXPLAINED && explained.flawed * 2 < explained.of
}

/// Returns the greatest share that explains the count with a chance of more than [`FALSE_ALARMS`].
fn upper_bound(count: FlawCount) -> f64 {
    if count.of == 0 {
        return 1.0;
    }
    let (of, seen) = (
        guard::number(count.of),
        guard::share(count.flawed, count.of),
    );
    let divergence = |share: f64| {
        let part = |seen: f64, share: f64| match seen {
            0.0 => 0.0,
            _ => seen * (seen / share).ln(),
        };
        part(seen, share) + part(1.0 - seen, 1.0 - share)
    };
    let (mut low, mut high) = (seen, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        match of * divergence(middle) > -FALSE_ALARMS.ln() {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// Halvings of the range of a share: it is then known to six digits.
const HALVINGS: u32 = 20;

/// The flaws of the deliveries of the last hour, one per host.
#[derive(Default)]
pub struct LastHour {
    connections: Mutex<HashMap<ConnectionId, ConnectionHour>>,
}

struct ConnectionHour {
    plugin: String,
    /// The version whose results are counted. If another one is compared, the counts start at zero.
    version: Digest,
    /// By the number of the slot since 1970.
    slots: BTreeMap<i64, FlawCounts>,
}

impl LastHour {
    /// Counts a delivery of a connection, as this version converted it.
    pub fn add(&self, live: &Live, version: &Digest, flaws: &Flaws, now: Micros) {
        let (id, plugin) = (&live.connection.id, &live.connection.plugin);
        let slot = now.slot(SLOT);
        let mut connections = self.lock();
        if !connections.contains_key(id) {
            if connections.len() >= limits::HOUR_CONNECTIONS {
                connections.retain(|_, hour| hour.is_recent(slot));
            }
            if connections.len() >= limits::HOUR_CONNECTIONS {
                return;
            }
            let hour = ConnectionHour {
                plugin: plugin.clone(),
                version: version.clone(),
                slots: BTreeMap::new(),
            };
            connections.insert(id.clone(), hour);
        }
        let Some(hour) = connections.get_mut(id) else {
            return;
        };
        if hour.plugin != *plugin || hour.version != *version {
            hour.plugin.clone_from(plugin);
            hour.version.clone_from(version);
            hour.slots.clear();
        }
        if !hour.slots.contains_key(&slot) {
            hour.slots.retain(|at, _| is_in_hour(*at, slot));
        }
        hour.slots.entry(slot).or_default().add(flaws);
    }

    /// Returns the counts of the last hour of the connections whose deliveries this version of a plugin
    /// converted.
    pub fn converted_by(&self, plugin: &str, version: &Digest, now: Micros) -> ByConnection {
        let slot = now.slot(SLOT);
        let connections = self.lock();
        let its = |hour: &ConnectionHour| hour.plugin == plugin && hour.version == *version;
        let converted = connections.iter().filter(|(_, hour)| its(hour));
        let sums = converted.filter_map(|(id, hour)| {
            let mut sum = FlawCounts::default();
            let slots = hour.slots.iter().filter(|(at, _)| is_in_hour(**at, slot));
            slots.for_each(|(_, counts)| sum.merge(counts));
            (sum.deliveries() > 0).then(|| (id.clone(), sum))
        });
        sums.take(limits::VERIFY_CONNECTIONS).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionId, ConnectionHour>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionHour {
    fn is_recent(&self, slot: i64) -> bool {
        let mut slots = self.slots.keys();
        slots.next_back().is_some_and(|at| is_in_hour(*at, slot))
    }
}

/// Returns whether a slot is of the last hour. After a clock was set back, later slots are not.
fn is_in_hour(at: i64, slot: i64) -> bool {
    (0..=SLOTS).contains(&(slot - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: config::VerifySection = config::VerifySection::STRICT;

    const PORTAL: &str = "portalportalportalport";

    /// Counts of deliveries of which each brings a lead, and so many lack its phone.
    fn phones(of: u64, without: u64) -> FlawCounts {
        let mut counts = FlawCounts::default();
        for number in 0..of {
            let has_phone = number >= without;
            counts.add(&Flaws::converted([[true, has_phone, true, true, true]]));
        }
        counts
    }

    fn on(connection: &str, counts: FlawCounts) -> ByConnection {
        ByConnection::from([(connection.parse().expect("an id"), counts)])
    }

    fn hour(before: FlawCounts, since: FlawCounts, explained: FlawCounts) -> HourComparison {
        HourComparison {
            before: on(PORTAL, before),
            since: on(PORTAL, since),
            explained: on(PORTAL, explained),
        }
    }

    /// So many deliveries without a phone were compared, and so many lack it under both versions.
    fn explained(of: u64, flawed: u64) -> FlawCounts {
        let mut counts = FlawCounts::default();
        counts.0[Flaw::NoPhone as usize] = FlawCount { of, flawed };
        counts
    }

    fn worse(hour: &HourComparison) -> Option<Worse> {
        hour.worse(std::iter::empty(), &STRICT)
    }

    #[test]
    fn a_share_that_only_the_candidate_makes_worse_trips_and_says_so() {
        let hour = hour(phones(300, 6), phones(20, 12), explained(8, 0));
        let worse = worse(&hour).expect("it trips");
        assert_eq!(worse.flaw, Flaw::NoPhone);
        let expect = "on connection `demo/portal` 12 of 20 deliveries have a lead without a phone, 6 of 300 in the hour before";
        assert_eq!(worse.sentence("`demo/portal`"), expect);
    }

    #[test]
    fn a_source_that_changed_trips_nothing_however_much_it_changed() {
        let changed = hour(phones(300, 6), phones(900, 900), explained(800, 790));
        assert_eq!(worse(&changed), None);
    }

    #[test]
    fn nothing_trips_before_both_versions_were_compared() {
        let few = hour(phones(300, 6), phones(100, 100), explained(2, 0));
        assert_eq!(worse(&few), None);
        let none = hour(phones(300, 6), phones(500, 500), explained(0, 0));
        assert_eq!(worse(&none), None);
    }

    #[test]
    fn a_share_as_in_the_hour_before_trips_nothing() {
        for (before, since) in [
            ((300, 6), (1_000, 20)),
            ((300, 6), (1_000, 40)),
            ((20, 10), (20, 14)),
            ((300, 300), (300, 300)),
            ((0, 0), (400, 400)),
        ] {
            let (before, since) = (phones(before.0, before.1), phones(since.0, since.1));
            let hour = hour(before, since, explained(100, 0));
            assert_eq!(worse(&hour), None);
        }
    }

    #[test]
    fn a_small_hour_needs_more_deliveries_than_a_large_one() {
        let trips = |before: u64, since: u64| {
            let hour = hour(phones(before, 0), phones(since, since), explained(since, 0));
            worse(&hour).is_some()
        };
        assert!(!trips(300, 4));
        assert!(trips(300, 6));
        assert!(!trips(15, 12));
        assert!(trips(15, 40));
    }

    #[test]
    fn good_deliveries_at_first_do_not_excuse_bad_ones_later() {
        let good = hour(phones(300, 0), phones(10_000, 0), explained(0, 0));
        let mut later = good.clone();
        let mut since = phones(10_000, 0);
        since.merge(&phones(30, 30));
        later.since = on(PORTAL, since);
        later.explained = on(PORTAL, explained(30, 0));
        assert_eq!(worse(&later), None);
        let moments = [good.moment()];
        let found = later.worse(moments.iter(), &STRICT).expect("it trips");
        assert_eq!(found.since, FlawCount { of: 30, flawed: 30 });
    }

    #[test]
    fn failures_and_refusals_and_missing_leads_are_flaws_of_their_own() {
        let with = |flaws: Flaws| {
            let mut counts = FlawCounts::default();
            (0..20).for_each(|_| counts.add(&flaws));
            let mut compared = FlawCounts::default();
            for count in &mut compared.0 {
                count.of = 20;
            }
            let hour = hour(phones(300, 0), counts, compared);
            worse(&hour).map(|worse| worse.flaw)
        };
        assert_eq!(with(Flaws::failed()), Some(Flaw::Failed));
        assert_eq!(with(Flaws::refused()), Some(Flaw::Refused));
        assert_eq!(with(Flaws::converted([])), Some(Flaw::NoLead));
        assert_eq!(with(Flaws::converted([[true; 5]])), None);
    }

    #[test]
    fn a_policy_that_allows_a_loss_is_respected() {
        let hour = hour(phones(300, 0), phones(50, 50), explained(50, 0));
        let lenient = config::VerifySection {
            lost_per_mille: 1_000,
            ..STRICT
        };
        assert_eq!(hour.worse(std::iter::empty(), &lenient), None);
    }

    #[test]
    fn the_counts_of_hosts_are_added_and_survive_storage() {
        let mut sum = hour(phones(200, 4), phones(10, 6), explained(4, 0));
        sum.merge(hour(phones(100, 2), phones(10, 6), explained(4, 0)));
        assert_eq!(sum, hour(phones(300, 6), phones(20, 12), explained(8, 0)));
        let stored = serde_json::to_value(&sum).expect("it is JSON");
        let count = &stored["since"][PORTAL]["noPhone"];
        assert_eq!(*count, serde_json::json!({"of": 20, "flawed": 12}));
        let read: HourComparison = serde_json::from_value(stored).expect("it was written");
        assert_eq!(read, sum);
    }
}
