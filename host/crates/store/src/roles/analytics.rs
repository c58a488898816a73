//! Rollups: how data clients read them, and how the job maintains them.

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::operations::analytics;
use crate::{
    AnalyticsRun, Build, CellQuery, Cube, RollupCells, RollupState, RollupStatus, Scope, Stepped,
    StoreError, ZoneUse,
};
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::time::Micros;

/// The operations on rollups.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`](super::IntakeStore) names.
#[async_trait]
pub trait AnalyticsStore: Send + Sync + 'static {
    /// Returns the state of the rollups without reading the counts.
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError>;

    /// Returns the counts that an answer needs, with their keys and the state of the rollups,
    /// from one snapshot. They are incomplete if [`RollupCells::too_many`] is set.
    async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError>;

    /// Returns what [`rollup_cells`](Self::rollup_cells) returns, for an operator, who belongs to no
    /// workspace.
    async fn rollup_cells_of(
        &self,
        workspace: WorkspaceId,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError>;

    /// Begins a run and gives every workspace its first build. Does not interrupt the work of
    /// another host.
    async fn rollup_begin(&self, set: MetricSet) -> Result<AnalyticsRun, StoreError>;

    /// Reads at most `limit` changes of the feed into the build, including its cubes. A build that
    /// reaches the feed's clock serves from then on, and earlier builds retire. A build that has
    /// missed removals is built again. If the build is retired, a step removes at most `limit` of
    /// its rows of each kind, and finally the build itself.
    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError>;

    /// Ends a run: all counts are as of its beginning, except for workspaces whose serving build is
    /// in `unread`, because it was not read to its end. Their as-of stays as it was. Builds that do
    /// not serve yet, or have retired, hold nothing back. The as-of never decreases: if two runs
    /// overlap, the later beginning counts.
    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &AnalyticsRun,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError>;

    /// Starts new builds from the beginning of the feed, for one workspace or all, unless one is
    /// already being made. Returns how many it started.
    async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError>;

    /// Returns the state of the rollups of each metric set, over all workspaces.
    async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError>;

    /// Adds these uses to the record of requested zones.
    async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError>;

    /// Gives each build the cubes that its workspace needs, within bounds: that of the default
    /// zone, and those of zones that are requested often and recently. Removes cubes that are not
    /// needed or follow rules other than `tzdata`. Returns the cubes that are incomplete.
    async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError>;

    /// Adds some days to a cube. Returns false if the cube is complete.
    async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError>;
}

#[async_trait]
impl AnalyticsStore for DatabaseStore {
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
        analytics::cells::state(&self.database, scope, set).await
    }

    async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError> {
        analytics::cells::cells(&self.database, scope, query).await
    }

    async fn rollup_cells_of(
        &self,
        workspace: WorkspaceId,
        query: &CellQuery<'_>,
    ) -> Result<RollupCells, StoreError> {
        analytics::cells::cells_of_workspace(&self.database, workspace, query).await
    }

    async fn rollup_begin(&self, set: MetricSet) -> Result<AnalyticsRun, StoreError> {
        analytics::run::begin(&self.database, set).await
    }

    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
        analytics::step::step(&self.database, build, limit).await
    }

    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &AnalyticsRun,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError> {
        analytics::run::end(&self.database, set, run, unread, changes).await
    }

    async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError> {
        analytics::run::rebuild(&self.database, set, workspace).await
    }

    async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError> {
        analytics::status::status(&self.database).await
    }

    async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError> {
        analytics::cubes::note_zones(&self.database, uses).await
    }

    async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
        analytics::cubes::due(&self.database, tzdata, now).await
    }

    async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError> {
        analytics::cubes::step(&self.database, cube).await
    }
}
