//! Rollups on PostgreSQL: see `store::analytics` for what they are. A file for each
//! part of the work; this one is the list.
//!
//! A step reads from one snapshot, which locks nothing, and writes in a
//! transaction of its own. Whoever writes to a build has locked the rows of all
//! builds of its workspace and set first, in the order of their numbers, and
//! nothing that a batch of leads takes: no batch waits for a step, and no two
//! hosts wait for each other in a circle.

pub(super) mod builds;
pub(super) mod cells;
pub(super) mod clear;
pub(super) mod cubes;
pub(super) mod run;
pub(super) mod status;
pub(super) mod step;

use async_trait::async_trait;

use super::PostgresStore;
use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::{
    Analytics, Build, CellQuery, Cells, Cube, RollupState, RollupStatus, Run, Scope, Stepped,
    StoreError, ZoneUse,
};

#[async_trait]
impl Analytics for PostgresStore {
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
        self.within(cells::state(&self.db, scope, set)).await
    }

    async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<Cells, StoreError> {
        self.within(cells::cells(&self.db, scope, query)).await
    }

    async fn rollup_begin(&self, set: MetricSet) -> Result<Run, StoreError> {
        self.within(run::begin(&self.db, set)).await
    }

    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
        self.within(step::step(&self.db, build, limit)).await
    }

    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &Run,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError> {
        self.within(run::end(&self.db, set, run, unread, changes))
            .await
    }

    async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError> {
        self.within(run::rebuild(&self.db, set, workspace)).await
    }

    async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError> {
        self.within(status::status(&self.db)).await
    }

    async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError> {
        self.within(cubes::note_zones(&self.db, uses)).await
    }

    async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
        self.within(cubes::due(&self.db, tzdata, now)).await
    }

    async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError> {
        self.within(cubes::step(&self.db, cube)).await
    }
}
