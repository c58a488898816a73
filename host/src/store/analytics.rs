//! What analytics keeps: rollups, and the work of keeping them.
//!
//! A *build* is one whole rollup of a metric set of a workspace: a fact for each
//! thing that was counted, quarters of an hour (slots) as the base, and a cube of
//! local days for each zone in use. It follows the feed by a place of its own, in
//! steps: a step reads what changed, works out by how much the counts change, and
//! commits counts, facts and place together. So it may be repeated, cut anywhere
//! and done by two hosts at once: what is counted is counted once.
//!
//! A rebuild is a second build, made from the beginning of the feed beside the
//! one that serves, which takes its place when it has caught up.

use crate::domain::analytics::{Counts, Key, MetricSet, Slot};
use crate::domain::id::{AgentId, WorkspaceId};
use crate::domain::time::Micros;
use crate::domain::zone::Day;
use crate::limits;

/// One build; the number is unique in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Build {
    pub workspace: WorkspaceId,
    pub set: MetricSet,
    pub number: i64,
}

/// A run: it counts everything that was committed before it began.
#[derive(Clone, Debug)]
pub struct Run {
    /// By the store's clock, read before anything else.
    pub as_of: Micros,
    /// Builds that have something to read or to clear away.
    pub builds: Vec<Build>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// So many changes were read, and there are more.
    More(u64),
    /// So many changes were read, and there were no more.
    Done(u64),
    /// Another step was quicker; nothing was done.
    Passed,
}

/// Somebody asks by the days of this zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneUse {
    pub workspace: WorkspaceId,
    pub zone: String,
    /// How often since it was noted last.
    pub requests: u64,
    pub used_at: Micros,
}

/// A cube of a build that is not whole yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cube {
    pub build: Build,
    pub zone: String,
}

/// How the rollups of a metric set are doing.
#[derive(Clone, Debug)]
pub struct RollupStatus {
    pub set: MetricSet,
    /// Of the last successful run.
    pub as_of: Option<Micros>,
    /// When it ended.
    pub finished_at: Option<Micros>,
    /// Changes that it read.
    pub changes: u64,
    /// Workspaces that serve what is older, since the last run could not count them
    /// or not to the end, with what they are as of.
    pub behind: Vec<(WorkspaceId, Option<Micros>)>,
    /// Builds that are being made beside the one that serves, or before there is one,
    /// and the place in the feed that they have reached.
    pub making: Vec<(Build, Micros)>,
    /// Zones with a cube, over all workspaces.
    pub cubes: u64,
    /// Of these so many are not whole yet.
    pub cubes_making: u64,
}

/// What an answer about a metric set stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollupState {
    /// The build that serves, and how often its counts have changed; `None`: nothing
    /// was counted yet.
    pub version: Option<(i64, i64)>,
    /// Everything before was counted; `None` as long as no build serves.
    pub as_of: Option<Micros>,
    /// Agents that are left out unless they are asked for, in order.
    pub internal: Vec<AgentId>,
}

/// Whether what is as of this moment is too old to be shown without saying so, or
/// of an unknown age.
pub fn is_stale(as_of: Option<Micros>, now: Micros) -> bool {
    let longest = limits::ANALYTICS_STALE_SECONDS * Micros::SECOND;
    as_of.is_none_or(|as_of| now.0.saturating_sub(as_of.0) > longest)
}

/// A bucket of slots: `from` included, `to` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub from: Slot,
    pub to: Slot,
}

/// What an answer is made of. Slots only where the zone has no whole cube of these rules.
#[derive(Clone, Debug)]
pub struct CellQuery<'a> {
    pub set: MetricSet,
    pub zone: &'a str,
    /// The version of the zone's rules.
    pub tzdata: &'a str,
    /// Whole local days: the first, and the one past the last.
    pub days: (Day, Day),
    /// What lies before and after the whole days, with its day.
    pub edges: Vec<(Day, Slots)>,
    /// All of it in slots by the first day of each bucket of the answer, whole days
    /// and edges together.
    pub buckets: Vec<(Day, Slots)>,
}

/// Counts of a day or of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// A local day, or the first day of a bucket.
    pub day: Day,
    pub key: i64,
    pub counts: Counts,
}

/// State, keys and counts from one snapshot.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    pub state: RollupState,
    /// Every key that the cells name, at least; by number.
    pub keys: Vec<(i64, Key)>,
    pub cells: Vec<Cell>,
    /// They are of a cube; the zone needs none.
    pub of_cube: bool,
    /// There are more than `limits::ANALYTICS_CELLS`: these are some of them.
    pub too_many: bool,
}
