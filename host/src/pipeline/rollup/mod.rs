//! Analytics is kept counted. A round goes through the metric sets: a run of each
//! reads what changed into its builds, so that everything committed before the run
//! began is counted at its end; then cubes of local days get the days that they
//! lack. `job` says when a round is due, `round` what is done in it, `turns` who
//! comes next, `zones` counts which zones are asked for.
//!
//! The store makes each step whole, so a round may be cut anywhere, and a second
//! one may go on at the same time: what is counted is counted once. One host does
//! it periodically, to do it once; whoever is asked for a round does it itself.
//!
//! A long build holds up no other workspace: everything has its turns, and a run
//! ends after a while without what has more to read, which goes on in the next.

mod job;
mod leave;
mod round;
pub(super) mod state;
mod trouble;
mod turns;
mod zones;

use std::sync::Arc;

pub use job::run;
pub use leave::Cut;
pub use round::{Ran, Round};

use self::leave::Leave;
use crate::pipeline::state::Pipeline;

/// A round that begins after this was called, done here, whoever does them
/// otherwise.
pub async fn now(pipeline: &Arc<Pipeline>) -> Result<Round, Cut> {
    let rollup = &pipeline.rollup;
    let _turn = rollup.turn.lock().await;
    rollup.zones.note(&*pipeline.core.store).await?;
    let mut leave = Leave::of(pipeline);
    let round = round::round(pipeline, &mut leave).await?;
    if !round.is_ripe {
        return Ok(round);
    }
    let next = round::round(pipeline, &mut leave).await?;
    Ok(round.and(next))
}
