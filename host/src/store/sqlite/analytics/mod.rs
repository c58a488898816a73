//! Rollups: see `store::analytics` for what they are. A file for each part of the
//! work; this one is the list.
//!
//! What is read is read beside the writer, in one snapshot. Under the write lock
//! it is only made sure that nobody else has changed the build since, and written:
//! each table of a build changes together with its `step`.

mod cells;
mod clear;
mod cubes;
mod run;
mod status;
mod step;

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::analytics::MetricSet;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;
use crate::store::{
    Analytics, Build, CellQuery, Cells, Cube, RollupState, RollupStatus, Run, Scope, Stepped,
    StoreError, ZoneUse,
};

#[async_trait]
impl Analytics for SqliteStore {
    async fn rollup_state(&self, scope: &Scope, set: MetricSet) -> Result<RollupState, StoreError> {
        cells::state(&self.db, scope, set).await
    }

    async fn rollup_cells(
        &self,
        scope: &Scope,
        query: &CellQuery<'_>,
    ) -> Result<Cells, StoreError> {
        cells::cells(&self.db, scope, query).await
    }

    async fn rollup_begin(&self, set: MetricSet) -> Result<Run, StoreError> {
        run::begin(&self.db, self.clock.as_ref(), set).await
    }

    async fn rollup_step(&self, build: &Build, limit: u32) -> Result<Stepped, StoreError> {
        step::step(&self.db, build, limit).await
    }

    async fn rollup_end(
        &self,
        set: MetricSet,
        run: &Run,
        unread: &[Build],
        changes: u64,
    ) -> Result<(), StoreError> {
        run::end(&self.db, self.clock.as_ref(), set, run, unread, changes).await
    }

    async fn rollup_rebuild(
        &self,
        set: MetricSet,
        workspace: Option<WorkspaceId>,
    ) -> Result<u64, StoreError> {
        run::rebuild(&self.db, set, workspace).await
    }

    async fn rollup_status(&self) -> Result<Vec<RollupStatus>, StoreError> {
        status::status(&self.db).await
    }

    async fn note_zones(&self, uses: &[ZoneUse]) -> Result<(), StoreError> {
        cubes::note_zones(&self.db, uses).await
    }

    async fn cubes_due(&self, tzdata: &str, now: Micros) -> Result<Vec<Cube>, StoreError> {
        cubes::due(&self.db, tzdata, now).await
    }

    async fn cube_step(&self, cube: &Cube) -> Result<bool, StoreError> {
        cubes::step(&self.db, cube).await
    }
}

/// The number of a metric set in the tables.
fn code(set: MetricSet) -> i64 {
    i64::from(set.code())
}

/// The number of the feed that it follows.
fn feed(set: MetricSet) -> i64 {
    i64::from(set.entity().code())
}

#[cfg(test)]
pub(super) fn sql() -> Vec<&'static str> {
    [
        cells::SQL,
        clear::SQL,
        cubes::SQL,
        run::SQL,
        status::SQL,
        step::SQL,
    ]
    .concat()
}
