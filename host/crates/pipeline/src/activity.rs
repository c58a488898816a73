//! Counts the deliveries and messages of the last week, by connection and instance, for the console.
//! Counting a week of a busy connection takes seconds, so it is done off the requests: finished hours
//! are counted once and kept in memory, and the last two are counted again at a request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_store::{ActivityOf, ActivitySlot};

pub const SLOTS_PER_HOUR: i64 = limits::ACTIVITY_SLOTS_PER_HOUR;
/// The unit of the counts that are further back.
pub const HOUR: Duration = Duration::from_hours(1);
const HOURS: i64 = limits::ACTIVITY_HOURS;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// Deliveries of a connection, messages of an instance.
    pub taken: u64,
    pub leads: u64,
    pub failed: u64,
    pub rejected: u64,
}

impl ActivityCounts {
    fn add(&mut self, slot: &ActivitySlot) {
        self.taken += slot.taken;
        self.leads += slot.leads;
        self.failed += slot.failed;
        self.rejected += slot.rejected;
    }
}

/// The counts of one connection or instance, by the number of the hour and of the slot since 1970.
#[derive(Clone, Debug, Default)]
pub struct ActivitySeries {
    pub workspace: String,
    pub name: String,
    pub is_instance: bool,
    pub hours: BTreeMap<i64, ActivityCounts>,
    /// Only the last two hours.
    pub slots: BTreeMap<i64, ActivityCounts>,
    /// The first hour that is not finished.
    counted_to: Option<i64>,
}

#[derive(Default)]
pub struct ActivityCounter {
    counted: Mutex<CountedActivity>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct CountedActivity {
    at: Option<Micros>,
    series: BTreeMap<String, ActivitySeries>,
}

impl ActivityCounter {
    /// Returns when the counts were made, and all of them by the id of their connection or channel. `None`:
    /// not yet since the host started.
    pub fn counted(&self) -> (Option<Micros>, BTreeMap<String, ActivitySeries>) {
        let counted = self.lock();
        (counted.at, counted.series.clone())
    }

    pub fn is_due(&self, now: Micros) -> bool {
        let counted = self.lock();
        let is_new = |at: Micros| at.is_recent(now, limits::ACTIVITY_FRESH);
        !counted.at.is_some_and(is_new) && self.turn.try_lock().is_ok()
    }

    /// Counts the rows that arrived since the last count. Does nothing if a count is under way.
    pub async fn count(&self, core: &Core) -> Result<(), StoreError> {
        let Ok(_turn) = self.turn.try_lock() else {
            return Ok(());
        };
        let now = core.clock.now();
        let hour = now.slot(HOUR);
        let workspaces = core.store.workspaces().await?;
        let mut wanted = Vec::new();
        for connection in core.store.connections(None).await? {
            let of = match (connection.kind, connection.agent) {
                (ConnectionKind::Channel, Some(agent)) => {
                    ActivityOf::Instance(connection.workspace, agent)
                }
                (ConnectionKind::Channel, None) => continue,
                _ => ActivityOf::Connection(connection.workspace, connection.id.clone()),
            };
            let workspace = workspaces.iter().find(|one| one.id == connection.workspace);
            let slug = workspace.map_or_else(String::new, |one| one.slug.to_string());
            wanted.push((connection.id.as_str().to_owned(), slug, connection.name, of));
        }
        wanted.truncate(limits::ACTIVITY_SERIES);
        let mut old = self.lock().series.clone();
        let mut made = BTreeMap::new();
        for (id, workspace, name, of) in wanted {
            let mut series = old.remove(&id).unwrap_or_default();
            series.workspace = workspace;
            series.name = name;
            series.is_instance = matches!(of, ActivityOf::Instance(..));
            // The hour before may have got deliveries while it was counted.
            let first = series.counted_to.map_or(hour - HOURS + 1, |to| to - 1);
            let first = first.max(hour - HOURS + 1);
            for one in first..=hour {
                let (from, until) = (
                    Micros::from_slot(one, HOUR),
                    Micros::from_slot(one + 1, HOUR),
                );
                let slots = core.store.activity(&of, from, until).await?;
                let mut sum = ActivityCounts::default();
                for slot in &slots {
                    sum.add(slot);
                    let mut counts = ActivityCounts::default();
                    counts.add(slot);
                    if one >= hour - 1 {
                        series.slots.insert(slot.slot, counts);
                    }
                }
                if sum == ActivityCounts::default() {
                    series.hours.remove(&one);
                } else {
                    series.hours.insert(one, sum);
                }
            }
            series.counted_to = Some(hour);
            series.hours.retain(|at, _| *at > hour - HOURS);
            series
                .slots
                .retain(|at, _| *at >= (hour - 1) * SLOTS_PER_HOUR);
            made.insert(id, series);
        }
        let mut counted = self.lock();
        counted.series = made;
        counted.at = Some(now);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, CountedActivity> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
