//! The items of a delivery: their places, and the rules by which an item replaces another. A
//! finished item, which made or changed a deal, stays.

use super::working_set::ClaimKey;
use crate::Reconversion;
use crate::decide::prelude::*;

pub(super) struct ItemContext<'a> {
    pub delivery: DeliveryId,
    pub workspace: WorkspaceId,
    pub received_at: Micros,
    /// It is stored in this write: no other delivery arrived after it.
    pub arrives: bool,
    pub ran: Option<&'a RanWith>,
    /// `None`: the first conversion.
    pub mode: Option<Mode>,
    /// Keys that items of this conversion have used. The first item owns a key; later
    /// ones are duplicates within the delivery.
    pub used: HashSet<ClaimKey>,
}

impl<'a> ItemContext<'a> {
    pub fn from_replay(new: &'a Reconversion, delivery: &DeliveryRecord) -> Self {
        let part = new.part.as_ref();
        Self {
            delivery: new.delivery,
            workspace: delivery.workspace,
            received_at: delivery.received_at,
            arrives: false,
            ran: new.result.ran.as_ref(),
            mode: Some(new.mode),
            used: part.map(|part| part.used.clone()).unwrap_or_default(),
        }
    }
}

/// The last place that a conversion can give an item.
pub(super) const ITEMS_LAST_PLACE: u32 = limits::ITEMS_PER_DELIVERY as u32 - 1;

pub(super) fn stored(set: &WorkingSet, delivery: DeliveryId, index: u32) -> Option<ItemRecord> {
    set.deliveries
        .get(&delivery)?
        .items
        .get(&index)
        .filter(|item| item.change != RowChange::Removed)
        .cloned()
}

/// Returns the requested place, or one past the last place if a finished item occupies
/// it.
pub(super) fn free_place(set: &WorkingSet, delivery: DeliveryId, index: u32) -> u32 {
    let taken = stored(set, delivery, index).is_some_and(|item| item.is_finished());
    if taken {
        next_place(set, delivery)
    } else {
        index
    }
}

pub(super) fn next_place(set: &WorkingSet, delivery: DeliveryId) -> u32 {
    set.deliveries
        .get(&delivery)
        .and_then(|delivery| {
            let looked_at = delivery.items.keys().next_back().copied();
            looked_at.max(delivery.others.last)
        })
        .map_or(0, |last| last + 1)
}

/// Stores the item, except that a finished item is never replaced by an unfinished one.
pub(super) fn put(set: &mut WorkingSet, delivery: DeliveryId, index: u32, mut item: ItemRecord) {
    let Some(delivery) = set.deliveries.get_mut(&delivery) else {
        return;
    };
    if let Some(before) = delivery.items.get(&index) {
        if before.change != RowChange::Removed && before.is_finished() && !item.is_finished() {
            return;
        }
        item.change = RowChange::Changed;
    }
    delivery.items.insert(index, item);
}

/// Removes the unfinished items at these places, with their fetches and the keys that
/// those hold.
pub(super) fn drop_unfinished(set: &mut WorkingSet, id: DeliveryId, places: impl Fn(u32) -> bool) {
    let Some(delivery) = set.deliveries.get_mut(&id) else {
        return;
    };
    let mut dropped = Vec::new();
    for (index, item) in &mut delivery.items {
        if places(*index) && !item.is_finished() {
            item.change = RowChange::Removed;
            dropped.push(*index);
        }
    }
    for index in dropped {
        drop_fetch(set, id, index);
    }
}

/// Ends the fetch of an item. Its key is released unless a deal was made for it.
pub(super) fn drop_fetch(set: &mut WorkingSet, id: DeliveryId, index: u32) {
    if let Some(fetch) = set.fetches.get_mut(&(id, index)) {
        fetch.change = RowChange::Removed;
        if let Some(key) = &fetch.dedupe_key {
            let key = (fetch.connection.clone(), key.clone());
            set.release_claim(&key, id, index);
        }
    }
}
