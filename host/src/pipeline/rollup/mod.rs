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
mod trouble;
mod turns;
mod zones;

use std::sync::Arc;

use tokio::sync::Notify;

pub use job::run;
pub use leave::Cut;
pub use round::{Ran, Round};

use self::leave::Leave;
use self::trouble::Trouble;
use self::zones::Zones;
use crate::app::App;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;

/// What a host knows of its rounds. One per host.
#[derive(Default)]
pub struct Rollup {
    zones: Zones,
    /// One round at a time.
    turn: tokio::sync::Mutex<()>,
    /// A round is due, whatever the time.
    due: Notify,
    trouble: Trouble,
}

impl Rollup {
    /// Somebody asks by the days of this zone. The store hears of it before the
    /// next round.
    pub fn used(&self, workspace: WorkspaceId, zone: &str, now: Micros) {
        self.zones.used(workspace, zone, now);
    }

    /// The host that does the rounds begins one at once.
    pub fn hurry(&self) {
        self.due.notify_one();
    }
}

/// A round that begins after this was called, done here, whoever does them
/// otherwise.
pub async fn now(app: &Arc<App>) -> Result<Round, Cut> {
    let rollup = &app.pipeline.rollup;
    let _turn = rollup.turn.lock().await;
    zones::note(app).await?;
    let mut leave = Leave::of(app);
    let round = round::round(app, &mut leave).await?;
    if !round.is_ripe {
        return Ok(round);
    }
    let next = round::round(app, &mut leave).await?;
    Ok(round.and(next))
}
