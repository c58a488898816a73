//! What a host remembers between rounds.

use tokio::sync::Notify;

use super::trouble::Trouble;
use super::zones::Zones;
use crate::domain::id::WorkspaceId;
use crate::domain::time::Micros;

/// What a host knows of its rounds. One per host.
#[derive(Default)]
pub struct Rollup {
    pub(super) zones: Zones,
    /// One round at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// A round is due, whatever the time.
    pub(super) due: Notify,
    pub(super) trouble: Trouble,
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
