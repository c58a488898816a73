//! Merges the contacts from which deals moved in a repair, so that no contact without data is left
//! behind. The moves are read from the receipt, which has them since their commit: so none is
//! forgotten if the store fails, or the host stops, between a move and its merge.

use super::pass::RepairPass;
use crate::prelude::*;
use leadhost_store::{ContactMerge, RepairMove, RepairPlace};

/// Merges the contacts of the moves that this host has not dealt with yet. Returns whether its work on
/// the repair goes on.
pub(super) async fn run(pass: &mut RepairPass<'_>) -> Result<bool, StoreError> {
    if !pass.repair.plan.apply {
        return Ok(true);
    }
    loop {
        let began = Instant::now();
        let (store, most) = (&pass.pipeline.store, limits::REPAIR_MOVES_AT_ONCE);
        let moves = store
            .repair_moves(pass.repair.id, pass.merged, most)
            .await?;
        for one in &moves {
            if one.is_unmerged() && !merge(pass, one).await? {
                return Ok(false);
            }
            pass.merged = one.number;
        }
        if moves.len() < most as usize {
            return Ok(true);
        }
        pass.give_way(began).await;
        if !pass.goes_on().await? {
            return Ok(false);
        }
    }
}

/// Merges the former contact of a deal, if nothing belongs to it now. Returns false if the repair
/// was ended, or another host has taken it.
async fn merge(pass: &RepairPass<'_>, of: &RepairMove) -> Result<bool, StoreError> {
    let place = RepairPlace {
        repair: pass.repair.id,
        generation: pass.repair.generation,
        delivery: of.delivery,
        item: of.item,
    };
    let store = &pass.pipeline.store;
    match store
        .merge_contact(of.workspace, of.from, of.into, Some(place))
        .await
    {
        Ok(merged) => Ok(merged != ContactMerge::Stale),
        Err(error) if error.is_temporary() => Err(error),
        Err(error) => {
            // It would fail again, and the other deliveries are to be repaired.
            tracing::warn!(repair = %place.repair, delivery = %of.delivery, %error, "contact without deals not merged, it stays");
            Ok(true)
        }
    }
}
