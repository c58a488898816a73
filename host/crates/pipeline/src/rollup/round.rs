//! One round: a run of each metric set, then the cubes.

use std::sync::atomic::{AtomicU64, Ordering};

use super::permit::{RoundPermit, RoundStop};
use super::round_robin::{self, StepOutcome, UnfinishedPieces};
use crate::prelude::*;
use leadhost_domain::analytics::MetricSet;
use leadhost_domain::zone;
use leadhost_store::{Build, Cube, Stepped};
use leadhost_telemetry::RunEnd;

#[derive(Debug)]
pub struct Round {
    pub runs: Vec<RollupRun>,
    pub more: bool,
    /// A cube became complete: a build that waited for it takes over in the next one.
    pub(super) is_ripe: bool,
}

impl Round {
    pub(super) fn and(mut self, next: Self) -> Self {
        for (ran, next) in self.runs.iter_mut().zip(next.runs) {
            ran.changes += next.changes;
            ran.took += next.took;
            ran.as_of = next.as_of;
            ran.unfinished = next.unfinished;
            ran.failed = next.failed;
        }
        Self {
            runs: self.runs,
            ..next
        }
    }
}

#[derive(Debug)]
pub struct RollupRun {
    pub set: MetricSet,
    /// Everything before is counted, except for workspaces that failed or have more to
    /// read.
    pub as_of: Micros,
    pub changes: u64,
    pub took: Duration,
    /// Workspaces with more to read than a run has time for.
    pub unfinished: Vec<WorkspaceId>,
    pub failed: Vec<(WorkspaceId, String)>,
}

pub async fn round(
    pipeline: &Arc<Pipeline>,
    permit: &mut RoundPermit<'_>,
) -> Result<Round, RoundStop> {
    let mut runs = Vec::new();
    for set in MetricSet::ALL {
        runs.push(run(pipeline, permit, set).await?);
    }
    // Queries can be answered without them, so they delay nothing.
    let cubes = cubes(pipeline, permit).await?;
    let left = cubes.left || runs.iter().any(|run| !run.unfinished.is_empty());
    Ok(Round {
        runs,
        more: left || cubes.whole,
        is_ripe: cubes.whole,
    })
}

async fn run(
    pipeline: &Arc<Pipeline>,
    permit: &mut RoundPermit<'_>,
    set: MetricSet,
) -> Result<RollupRun, RoundStop> {
    let began = Instant::now();
    let counted = count(pipeline, permit, set).await;
    let took = began.elapsed();
    let changes = counted.as_ref().map_or(0, |counted| counted.changes);
    let end = match counted {
        Ok(_) => RunEnd::Ended,
        Err(_) => RunEnd::Cut,
    };
    let metrics = &pipeline.metrics.analytics;
    metrics.run(set, end, changes, took);
    let CountedChanges {
        as_of,
        changes,
        rest,
    } = counted?;
    let failed = rest.failed.iter();
    let ran = RollupRun {
        set,
        as_of,
        changes,
        took,
        unfinished: workspaces(&rest.left),
        failed: failed
            .map(|(build, error)| (build.workspace, error.to_string()))
            .collect(),
    };
    let failed = rest.failed.into_iter();
    let failed = failed.map(|(build, error)| ((build, None), error));
    let failures = &pipeline.rollup.failures;
    failures
        .settle(
            &pipeline.store,
            |(build, zone)| build.set == set && zone.is_none(),
            failed.collect(),
        )
        .await;
    Ok(ran)
}

struct CountedChanges {
    as_of: Micros,
    changes: u64,
    rest: UnfinishedPieces<Build>,
}

async fn count(
    pipeline: &Arc<Pipeline>,
    permit: &mut RoundPermit<'_>,
    set: MetricSet,
) -> Result<CountedChanges, RoundStop> {
    permit.check().await?;
    let run = pipeline.store.rollup_begin(set).await?;
    let changes = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&changes);
    let rest = round_robin::all(
        pipeline,
        permit,
        run.builds.clone(),
        end(),
        move |pipeline, build| step(pipeline, build, Arc::clone(&counter)),
    )
    .await?;
    let changes = changes.load(Ordering::Relaxed);
    let failed = rest.failed.iter().map(|(build, _)| build);
    let unread: Vec<Build> = rest.left.iter().chain(failed).copied().collect();
    pipeline
        .store
        .rollup_end(set, &run, &unread, changes)
        .await?;
    Ok(CountedChanges {
        as_of: run.as_of,
        changes,
        rest,
    })
}

async fn step(
    pipeline: Arc<Pipeline>,
    build: Build,
    changes: Arc<AtomicU64>,
) -> Result<StepOutcome, StoreError> {
    let stepped = pipeline
        .store
        .rollup_step(&build, limits::ROLLUP_CHANGES)
        .await?;
    let (read, turn) = match stepped {
        Stepped::More(read) => (read, StepOutcome::More),
        Stepped::Done(read) => (read, StepOutcome::Done),
        Stepped::Passed => (0, StepOutcome::Passed),
    };
    changes.fetch_add(read, Ordering::Relaxed);
    Ok(turn)
}

struct Cubes {
    left: bool,
    whole: bool,
}

async fn cubes(pipeline: &Arc<Pipeline>, permit: &mut RoundPermit<'_>) -> Result<Cubes, RoundStop> {
    permit.check().await?;
    let now = pipeline.clock.now();
    let due = pipeline.store.cubes_due(zone::tzdata(), now).await?;
    let count = due.len();
    let rest = round_robin::all(
        pipeline,
        permit,
        due,
        end(),
        |pipeline, cube: Cube| async move {
            let more = pipeline.store.cube_step(&cube).await?;
            Ok(if more {
                StepOutcome::More
            } else {
                StepOutcome::Done
            })
        },
    )
    .await?;
    let cubes = Cubes {
        left: !rest.left.is_empty(),
        whole: rest.left.len() + rest.failed.len() < count,
    };
    let failed = rest.failed.into_iter();
    let failed = failed.map(|(cube, error)| ((cube.build, Some(cube.zone)), error));
    pipeline
        .rollup
        .failures
        .settle(
            &pipeline.store,
            |(_, zone)| zone.is_some(),
            failed.collect(),
        )
        .await;
    Ok(cubes)
}

/// Returns the time after which pieces that had their first turn wait for the next round.
fn end() -> Instant {
    Instant::now() + limits::ROLLUP_RUN_LONGEST
}

fn workspaces(builds: &[Build]) -> Vec<WorkspaceId> {
    let mut workspaces: Vec<WorkspaceId> = builds.iter().map(|build| build.workspace).collect();
    workspaces.sort_unstable();
    workspaces.dedup();
    workspaces
}
