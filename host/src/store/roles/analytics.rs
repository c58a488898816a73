//! The rollups: what data clients read of them, and the job that keeps them.

use async_trait::async_trait;

use super::DatabaseStore;
use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::operations::analytics;
use crate::store::{
    Build, CellQuery, Cells, Cube, RollupState, RollupStatus, Run, Scope, Stepped, StoreError,
    ZoneUse,
};

/// # Errors
///
/// As [`Intake`](super::Intake)'s.
#[async_trait]
pub trait Analytics: Send + Sync + 'static {
    /// Without touching the counts.
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError>;

    async fn rollup_cells(&self, scope: &Scope, query: &CellQuery<'_>)
    -> Result<Cells, StoreError>;

    /// Begins a run: every workspace gets its first build. Ends nothing that another
    /// host does.
    async fn rollup_begin(&self, set: MetricSet) -> Result<Run, StoreError>;

    /// Reads at most `limit` changes of the feed into the build, cubes included. A
    /// build that reaches the feed's clock serves from then on, and those before it
    /// retire; one that has missed removals is made anew. Of a retired build it
    /// removes at most `limit` rows of each kind, and at last the build.
    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError>;

    /// Ends a run: everything is as of its beginning, but for the workspaces whose
    /// serving build is among those that were not read to their end, which stay as
    /// they were. One that is being made or has retired holds nothing back. Nothing
    /// goes back: of two runs that cross the later beginning counts.
    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &Run,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError>;

    /// Begins to make builds anew from the beginning of the feed, where none is being
    /// made; how many. Of one workspace, or of all.
    async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError>;

    async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError>;

    /// Adds to what is known of the zones that are asked for.
    async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError>;

    /// Gives each build the cubes that its workspace needs: the default zone's, and
    /// those asked for often and lately, within bounds. Removes what nobody needs or
    /// is of other rules than `tzdata`. Those that are not whole.
    async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError>;

    /// Adds some more days to a cube; false when it is whole.
    async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError>;
}

#[async_trait]
impl Analytics for DatabaseStore {
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
        analytics::cells::state(&self.database, scope, set).await
    }

    async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<Cells, StoreError> {
        analytics::cells::cells(&self.database, scope, query).await
    }

    async fn rollup_begin(&self, set: MetricSet) -> Result<Run, StoreError> {
        analytics::run::begin(&self.database, set).await
    }

    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
        analytics::step::step(&self.database, build, limit).await
    }

    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &Run,
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
