//! The zones that were requested from this host since it last stored them. Counting a
//! request touches memory only.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_store::{Store, ZoneUse};

/// The number of requests by zone, and the time of the last.
type Uses = HashMap<WorkspaceId, HashMap<String, (u64, Micros)>>;

#[derive(Default)]
pub struct Zones {
    state: Mutex<ZoneCounts>,
}

#[derive(Default)]
struct ZoneCounts {
    uses: Uses,
    /// The number of zones in it, of all workspaces together.
    count: usize,
}

impl Zones {
    pub fn used(&self, workspace: WorkspaceId, zone: &str, now: Micros) {
        self.state().add(workspace, zone, 1, now);
    }

    pub async fn note(&self, store: &Store) -> Result<(), StoreError> {
        let uses = self.take();
        if uses.is_empty() {
            return Ok(());
        }
        let noted = store.note_zones(&uses).await;
        if noted.is_err() {
            self.give_back(&uses);
        }
        noted
    }

    fn take(&self) -> Vec<ZoneUse> {
        let ZoneCounts { uses, .. } = std::mem::take(&mut *self.state());
        let mut taken = Vec::new();
        for (workspace, zones) in uses {
            for (zone, (requests, used_at)) in zones {
                taken.push(ZoneUse {
                    workspace,
                    zone,
                    requests,
                    used_at,
                });
            }
        }
        taken
    }

    /// Restores counts that the store did not accept.
    fn give_back(&self, uses: &[ZoneUse]) {
        let mut state = self.state();
        for one in uses {
            state.add(one.workspace, &one.zone, one.requests, one.used_at);
        }
    }

    fn state(&self) -> MutexGuard<'_, ZoneCounts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ZoneCounts {
    fn add(&mut self, workspace: WorkspaceId, zone: &str, requests: u64, at: Micros) {
        let zones = self.uses.entry(workspace).or_default();
        if let Some((counted, used_at)) = zones.get_mut(zone) {
            *counted += requests;
            *used_at = at.max(*used_at);
        } else if self.count < limits::ZONES_COUNTED {
            zones.insert(zone.to_owned(), (requests, at));
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_added_up_and_rejected_counts_are_kept() {
        let zones = Zones::default();
        let workspace = WorkspaceId::new(Micros(0));
        zones.used(workspace, "Asia/Kolkata", Micros(5));
        zones.used(workspace, "Asia/Kolkata", Micros(3));
        let taken = zones.take();
        let expect = ZoneUse {
            workspace,
            zone: "Asia/Kolkata".to_owned(),
            requests: 2,
            used_at: Micros(5),
        };
        assert_eq!(taken, [expect]);
        assert!(zones.take().is_empty());

        zones.used(workspace, "Asia/Kolkata", Micros(9));
        zones.give_back(&taken);
        let again = zones.take();
        assert_eq!((again[0].requests, again[0].used_at), (3, Micros(9)));
    }

    #[test]
    fn past_the_bound_only_known_zones_are_counted() {
        let zones = Zones::default();
        let workspace = WorkspaceId::new(Micros(0));
        for number in 0..=limits::ZONES_COUNTED {
            zones.used(workspace, &number.to_string(), Micros(1));
        }
        zones.used(workspace, "0", Micros(2));
        let taken = zones.take();
        assert_eq!(taken.len(), limits::ZONES_COUNTED);
        let first = taken.iter().find(|one| one.zone == "0").expect("the first");
        assert_eq!(first.requests, 2);
    }
}
