//! The state of a host between rounds.

use tokio::sync::Notify;

use super::failures::RoundFailures;
use super::zones::Zones;
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::time::Micros;

#[derive(Default)]
pub struct Rollup {
    pub(super) zones: Zones,
    /// One round at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// A round is due at once, although its time has not come.
    pub(super) due: Notify,
    pub(super) failures: RoundFailures,
}

impl Rollup {
    /// Counts a request for the days of this zone. The store gets the counts before the
    /// next round.
    pub fn used(&self, workspace: WorkspaceId, zone: &str, now: Micros) {
        self.zones.used(workspace, zone, now);
    }

    /// Makes the host that holds the job begin a round at once.
    pub fn hurry(&self) {
        self.due.notify_one();
    }
}
