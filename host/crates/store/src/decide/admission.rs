//! Admission of deliveries to the quarantine of their connection, with the evictions that make
//! room for them (`quarantine`).

use super::quarantine::Quarantined;
use crate::decide::prelude::*;

/// Takes a delivery into the quarantine of its connection, and returns how many
/// deliveries it evicts. `None`: there is no room, and nothing changes.
pub(super) fn admit(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    connection: &ConnectionId,
    new: Quarantined,
) -> Option<u32> {
    // Not loaded: it has enough room for the whole batch.
    let Some(quarantine) = set.quarantine.get_mut(connection) else {
        return Some(0);
    };
    let evicted = quarantine.make_room(&new)?;
    quarantine.add(new);
    for delivery in &evicted {
        let row = set.deliveries.remove(&delivery.id);
        // A delivery that this batch brings is not stored yet, and will not be.
        if row.is_none_or(|row| row.brought_by.is_none()) {
            set.evicted.push((workspace, delivery.id));
        }
    }
    Some(u32::try_from(evicted.len()).unwrap_or(u32::MAX))
}

/// Like [`admit`], for a stored delivery that the worker found to be unproven. Returns the number of
/// evicted deliveries. Its sender
/// was answered with 200, so it stays even if there is no room.
pub(super) fn admit_stored(
    set: &mut WorkingSet,
    workspace: WorkspaceId,
    connection: &ConnectionId,
    stored: Quarantined,
) -> u32 {
    let evicted = admit(set, workspace, connection, stored);
    if evicted.is_none()
        && let Some(quarantine) = set.quarantine.get_mut(connection)
    {
        quarantine.add(stored);
    }
    evicted.unwrap_or(0)
}
