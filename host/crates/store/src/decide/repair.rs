//! Replays of a repair. A narrow repair, which only counts differences or writes one field, leaves the
//! delivery and its unfinished items as they are. The receipt is in `receipt`.

use super::items::{ItemContext, put};
use super::lead;
use super::working_set::WorkingSet;
use crate::{DeliveryOutcome, ItemResult, Reconversion, RepairWrite, WriteOutcome};
use leadhost_domain::repair::RepairState;

pub(super) fn runs(set: &WorkingSet, repair: &RepairWrite) -> bool {
    set.repairs.get(&repair.id) == Some(&(RepairState::Running, repair.generation))
}

/// Decides the replay of a narrow repair. The delivery is held under this lease, and is released
/// with the last part.
pub(super) fn narrow(
    set: &mut WorkingSet,
    new: &Reconversion,
    repair: &RepairWrite,
) -> WriteOutcome {
    let Some(delivery) = set.deliveries.get_mut(&new.delivery) else {
        return WriteOutcome::Stale;
    };
    delivery.hold_until_last(new.part.as_ref());
    let status = delivery.status;
    let mut context = ItemContext::from_replay(new, delivery);
    let mut items = Vec::new();
    for new_item in &new.result.items {
        let ItemResult::Lead(lead) = &new_item.result else {
            continue;
        };
        let (index, item) = lead::look(set, &mut context, new_item.index, lead);
        items.push(item.outcome(index));
        // Its contact may be another one now.
        if repair.apply && item.deal.is_some() {
            put(set, new.delivery, index, item);
        }
    }
    WriteOutcome::Done(DeliveryOutcome {
        delivery: new.delivery,
        status,
        error: None,
        items,
        evicted: 0,
        greeted: Vec::new(),
    })
}
