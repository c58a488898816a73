//! Rollouts, and what hosts report about them.

use std::time::Duration;

use super::RowColumns;
use crate::StoreError;
use leadhost_domain::plugin::Digest;
use leadhost_domain::rollout::{Rollout, RolloutReport};

/// Reads a rollout.
pub fn rollout(row: &impl RowColumns) -> Result<Rollout, StoreError> {
    Ok(Rollout {
        name: row.text("name")?,
        number: row.number("number")?,
        candidate: Digest(row.text("candidate")?),
        stable: Digest(row.text("stable")?),
        stage: row.word("rollouts", "stage", |word| word.parse().ok())?,
        paused: row.flag("paused")?,
        step: row.number("step")?,
        plan: row.json("plan")?,
        generation: row.number("generation")?,
        recorded_spent: Duration::from_secs(row.number("spent_seconds")?),
        spent_at: row.time_if("spent_at")?,
        started_by: row.text("started_by")?,
        started_at: row.time("started_at")?,
        stage_at: row.time("stage_at")?,
        why: row.text_if("why")?,
    })
}

/// Reads the report of a host.
pub fn report(row: &impl RowColumns) -> Result<RolloutReport, StoreError> {
    Ok(RolloutReport {
        name: row.text("name")?,
        number: row.number("number")?,
        host: row.id("host_id")?,
        host_name: row.text("host")?,
        generation: row.number("generation")?,
        error: row.text_if("error")?,
        at: row.time("reported_at")?,
        seen: row.json("seen")?,
    })
}
