//! The data of analytics: rollups, and the types for keeping them up to date.
//!
//! A *build* is one complete rollup of a metric set of a workspace: a fact for each
//! counted thing, quarter hours (slots) as the base, and a cube of local days for each
//! time zone in use. A build follows the feed from its own position, in steps: a step
//! reads what has changed, computes the differences of the counts, and commits counts,
//! facts and position together. Applying a step twice has no effect, so a step may be
//! repeated, may be cut off anywhere, and may run on two hosts at once.
//!
//! A rebuild is a second build. It reads the feed from its beginning while the first
//! build serves, and replaces the first build once it has caught up.

use crate::prelude::*;
use leadhost_domain::analytics::{CountKey, MeasureCounts, MetricSet, TimeSlot};
use leadhost_domain::zone::Day;

/// One build. The number is unique in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Build {
    pub workspace: WorkspaceId,
    pub set: MetricSet,
    pub number: i64,
}

/// One run. It counts everything that was committed before it began.
#[derive(Clone, Debug)]
pub struct AnalyticsRun {
    /// The store's time, read before anything else.
    pub as_of: Micros,
    /// Builds that have something to read or to clean up.
    pub builds: Vec<Build>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// The step read this many changes, and more remain.
    More(u64),
    /// The step read this many changes, and none remain.
    Done(u64),
    /// Another step finished first; this one did nothing.
    Passed,
}

/// Requests of a workspace that use the days of a time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneUse {
    pub workspace: WorkspaceId,
    pub zone: String,
    pub requests: u64,
    pub used_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    pub build: Build,
    pub zone: String,
}

#[derive(Clone, Debug)]
pub struct RollupStatus {
    pub set: MetricSet,
    /// The as-of time of the last successful run.
    pub as_of: Option<Micros>,
    pub finished_at: Option<Micros>,
    pub changes: u64,
    /// Workspaces whose counts are older, because the last run could not count them
    /// completely, each with its as-of time.
    pub behind: Vec<(WorkspaceId, Option<Micros>)>,
    /// Builds in progress, as the first build or beside the serving one, each with the
    /// position in the feed that it has reached.
    pub making: Vec<(Build, Micros)>,
    pub cubes: u64,
    /// The number of those cubes that are not complete yet.
    pub cubes_making: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollupState {
    /// The serving build, and the number of times that its counts have changed. `None`:
    /// nothing was counted yet.
    pub version: Option<(i64, i64)>,
    /// Everything before this time is counted. `None` while no build serves.
    pub as_of: Option<Micros>,
    /// Agents that are left out unless the request names them, in order.
    pub internal: Vec<AgentId>,
}

/// Returns whether counts of this as-of time are too old to be shown without a warning.
/// Counts of an unknown age are stale.
pub fn is_stale(as_of: Option<Micros>, now: Micros) -> bool {
    as_of.is_none_or(|as_of| now.since(as_of) > limits::ANALYTICS_STALE_AFTER)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub from: TimeSlot,
    pub to: TimeSlot,
}

/// The cells that an answer needs. Slots are read only if the zone has no complete cube
/// for this version of its rules.
#[derive(Clone, Debug)]
pub struct CellQuery<'a> {
    pub set: MetricSet,
    pub zone: &'a str,
    pub tzdata: &'a str,
    /// Whole local days: the first day, and the day after the last one.
    pub days: (Day, Day),
    /// The slots before and after the whole days, each with its day.
    pub edges: Vec<(Day, Slots)>,
    /// The whole range in slots, whole days and edges together, by the first day of each
    /// bucket of the answer.
    pub buckets: Vec<(Day, Slots)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RollupCell {
    /// A local day, or the first day of a bucket.
    pub day: Day,
    pub key: i64,
    pub counts: MeasureCounts,
}

/// State, keys and counts from one snapshot.
#[derive(Clone, Debug, Default)]
pub struct RollupCells {
    pub state: RollupState,
    /// At least every key that the cells name, by its number.
    pub keys: Vec<(i64, CountKey)>,
    pub cells: Vec<RollupCell>,
    /// The cells come from a cube, or the zone needs none.
    pub of_cube: bool,
    /// There are more cells than `limits::ANALYTICS_CELLS`; these are some of them.
    pub too_many: bool,
}
