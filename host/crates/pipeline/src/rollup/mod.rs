//! Keeps analytics counted. A round goes through the metric sets: a run of each set reads
//! changes into its builds, so that at its end everything is counted that was committed
//! before the run began. Then cubes of local days get the days that they lack. `job`
//! schedules rounds, `round` runs them, `round_robin` decides which piece comes next, `zones`
//! counts the zones that are requested.
//!
//! The store applies each step as a whole, so a round may be cut anywhere, and two rounds
//! may run at the same time: steps are idempotent. One host runs rounds periodically, to
//! avoid double work; a host that is asked for a round runs it itself.
//!
//! A long build does not delay other workspaces: all pieces take turns, and a run ends
//! after a while, leaving builds that have more to read to the next.

mod failures;
mod job;
mod permit;
mod round;
mod round_robin;
pub(super) mod state;
mod zones;

use std::sync::Arc;

pub use job::run;
pub use permit::RoundStop;
pub use round::{RollupRun, Round};

use self::permit::RoundPermit;
use crate::state::Pipeline;

/// Runs a round on this host that begins after this call, whichever host holds the job.
#[leadhost_boxed::boxed]
pub async fn now(pipeline: &Arc<Pipeline>) -> Result<Round, RoundStop> {
    let rollup = &pipeline.rollup;
    let _turn = rollup.turn.lock().await;
    rollup.zones.note(&pipeline.store).await?;
    let mut permit = RoundPermit::new(pipeline);
    let round = round::round(pipeline, &mut permit).await?;
    if !round.is_ripe {
        return Ok(round);
    }
    let next = round::round(pipeline, &mut permit).await?;
    Ok(round.and(next))
}
