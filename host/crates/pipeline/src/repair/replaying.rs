//! Replays the deliveries of a repair, oldest first. Every second, and after some deliveries, the
//! place and the counts are stored.

use std::collections::VecDeque;

use super::parting;
use super::pass::RepairPass;
use crate::prelude::*;
use crate::replay::{self, InRepair, Prepared, ReplayError};
use crate::versions::serving;
use leadhost_domain::delivery::ItemStatus;
use leadhost_domain::repair::{Repair, RepairOutcome, RepairPlan, RepairState};
use leadhost_domain::text::counted;
use leadhost_store::{DeliveryFilter, DeliveryOutcome, RepairWrite};

/// Between two records of the progress, and the deliveries between them.
const RECORD: Duration = Duration::from_secs(1);
const RECORDED: u32 = 50;

/// Between two attempts for a delivery that is leased, or while the host or the store is busy.
const AGAIN: Duration = Duration::from_millis(500);

/// The wait for a leased delivery beyond the duration of a lease.
const MARGIN: Duration = Duration::from_secs(2);

/// Replays the remaining deliveries of the repair, until it or the work of this host on it ends.
pub(super) async fn run(pass: &mut RepairPass<'_>) -> Result<(), StoreError> {
    loop {
        let Some((ids, more)) = left(pass).await? else {
            return Ok(());
        };
        let counts = &mut pass.repair.counts;
        let known = counts.dealt() + ids.len() as u64;
        match counts.found {
            None => counts.found = Some(known),
            // A host that was killed had replayed these deliveries after its last record, so they
            // count for another version now. Deliveries that still count for this version are
            // replayed and counted again.
            Some(found) if !more => {
                counts.add_many(RepairOutcome::Replayed, found.saturating_sub(known))
            }
            Some(_) => {}
        }
        if !record(pass).await? || !all(pass, &ids).await? {
            return Ok(());
        }
        if !more {
            // What the leads say is right now, so whose they are can be decided.
            if !parting::run(pass).await? || !record(pass).await? {
                return Ok(());
            }
            let unsplit = unsplit(&pass.repair);
            let state = match &unsplit {
                None => RepairState::Done,
                Some(_) => RepairState::Incomplete,
            };
            return pass.end(state, unsplit).await;
        }
        // There were more than are held in memory.
        pass.repair.counts.found = None;
    }
}

/// Replays these deliveries. Returns whether the repair goes on after them.
async fn all(pass: &mut RepairPass<'_>, ids: &[DeliveryId]) -> Result<bool, StoreError> {
    let mut recorded = Instant::now();
    let mut since = 0;
    let mut done = 0;
    let mut prepared = VecDeque::new();
    while done < ids.len() {
        let goes_on = pass.goes_on().await?;
        if !goes_on || is_active(pass) {
            release(pass, &mut prepared).await;
            record(pass).await?;
            if !goes_on || !is_activated(pass).await? {
                // The repair has ended, or this host follows the activation of another version later than others.
                return Ok(false);
            }
            let why = "the version became active again".to_owned();
            pass.end(RepairState::Cancelled, Some(why)).await?;
            return Ok(false);
        }
        let began = Instant::now();
        if prepared.is_empty() {
            // Beside live traffic, a pause comes after each one.
            let most = if pass.is_live() {
                1
            } else {
                limits::REPAIR_AT_ONCE
            };
            let end = ids.len().min(done + most);
            prepared = prepare(pass, &ids[done..end]).await?.into();
        }
        let committing = Instant::now();
        // The commits have the order of the deliveries: a later one may change what an earlier one made.
        let outcome = match prepared.pop_front() {
            Some(first) => one(pass, ids[done], first).await?,
            None => None,
        };
        let Some(outcome) = outcome else {
            release(pass, &mut prepared).await;
            record(pass).await?;
            return Ok(false);
        };
        if committing.elapsed() >= AGAIN {
            // One that waited: those behind it may have changed meanwhile.
            release(pass, &mut prepared).await;
        }
        pass.repair.counts.add(outcome);
        pass.repair.cursor = Some(ids[done]);
        (since, done) = (since + 1, done + 1);
        if since >= RECORDED || recorded.elapsed() >= RECORD {
            if !record(pass).await? {
                return Ok(false);
            }
            (since, recorded) = (0, Instant::now());
        }
        pass.give_way(began).await;
    }
    record(pass).await
}

/// Gives up the claims of deliveries that are not committed.
async fn release(pass: &RepairPass<'_>, prepared: &mut VecDeque<Prepared>) {
    for one in prepared.drain(..) {
        replay::release_prepared(pass.pipeline, one).await;
    }
}

/// Stores the progress. Returns false if the repair was ended, or another host has taken it.
async fn record(pass: &RepairPass<'_>) -> Result<bool, StoreError> {
    pass.pipeline.store.note_repair(&pass.repair).await
}

/// Returns whether the version that did harm is active here: a replay would convert with it.
fn is_active(pass: &RepairPass<'_>) -> bool {
    let plan = &pass.repair.plan;
    let active = pass.pipeline.plugins.active(&plan.plugin);
    active.is_some_and(|active| active.digest == plan.converted_by)
}

async fn is_activated(pass: &RepairPass<'_>) -> Result<bool, StoreError> {
    let plan = &pass.repair.plan;
    let active = serving(pass.pipeline, &plan.plugin).await?;
    Ok(active.as_ref() == Some(&plan.converted_by))
}

pub(super) fn filter(plan: &RepairPlan) -> DeliveryFilter {
    DeliveryFilter {
        connection: plan.connection.clone(),
        since: plan.since,
        until: plan.until,
        version: Some(plan.converted_by.0.clone()),
        limit: limits::DELIVERIES_PER_PAGE,
        ..DeliveryFilter::default()
    }
}

/// Returns the deliveries after the cursor, oldest first: all, or the first ones and true if they
/// are too many to be held at once. `None` if this host does not go on.
async fn left(pass: &mut RepairPass<'_>) -> Result<Option<(Vec<DeliveryId>, bool)>, StoreError> {
    let mut filter = filter(&pass.repair.plan);
    let cursor = pass.repair.cursor;
    let (mut ids, mut more) = (Vec::new(), false);
    // The list has the newest first.
    loop {
        if !pass.goes_on().await? {
            return Ok(None);
        }
        let began = Instant::now();
        let page = pass.pipeline.store.deliveries(&filter).await?;
        let is_last = page.len() < limits::DELIVERIES_PER_PAGE as usize;
        filter.before = page.last().map(|last| last.id);
        let before = ids.len();
        let newer = page.iter().map(|delivery| delivery.id);
        ids.extend(newer.take_while(|id| cursor.is_none_or(|cursor| *id > cursor)));
        let has_met_cursor = ids.len() - before < page.len();
        if ids.len() > limits::REPAIR_IDS {
            more = true;
            ids.drain(..ids.len() - limits::REPAIR_IDS);
        }
        if is_last || has_met_cursor {
            break;
        }
        pass.give_way(began).await;
    }
    ids.reverse();
    Ok(Some((ids, more)))
}

/// Claims and converts these deliveries. If the store fails on the claim, each of them is tried again.
async fn prepare(pass: &RepairPass<'_>, ids: &[DeliveryId]) -> Result<Vec<Prepared>, StoreError> {
    match replay::prepare(pass.pipeline, ids).await {
        Err(error) if error.is_temporary() => {
            tracing::debug!(repair = %pass.repair.id, %error, "store failed, retrying the deliveries of a repair");
            Ok(ids.iter().map(|_| Err(StoreError::Busy.into())).collect())
        }
        prepared => prepared,
    }
}

/// Replays one delivery, and counts its leads. Returns its outcome, or `None` if the repair or
/// the work of this host on it has ended.
async fn one(
    pass: &mut RepairPass<'_>,
    id: DeliveryId,
    first: Prepared,
) -> Result<Option<RepairOutcome>, StoreError> {
    let patience = pass.pipeline.config.worker.lease() + MARGIN;
    let began = Instant::now();
    let mut prepared = first;
    loop {
        match attempt(pass, id, prepared).await? {
            ReplayAttempt::Done(outcome) => return Ok(Some(outcome)),
            ReplayAttempt::Ended => return Ok(None),
            ReplayAttempt::Waits(outcome) if began.elapsed() >= patience => {
                return Ok(Some(outcome));
            }
            ReplayAttempt::Waits(_) | ReplayAttempt::Again => {}
        }
        // Otherwise a repair that was ended meanwhile would wait on.
        if !pass.goes_on().await? || !record(pass).await? {
            return Ok(None);
        }
        pass.wait(AGAIN).await;
        let Some(again) = prepare(pass, &[id]).await?.pop() else {
            return Ok(None);
        };
        prepared = again;
    }
}

enum ReplayAttempt {
    Done(RepairOutcome),
    /// It cannot be replayed now. This is its outcome if that lasts for longer than a lease.
    Waits(RepairOutcome),
    Again,
    /// The repair was ended, or another host has taken it.
    Ended,
}

async fn attempt(
    pass: &mut RepairPass<'_>,
    id: DeliveryId,
    prepared: Prepared,
) -> Result<ReplayAttempt, StoreError> {
    let plan = &pass.repair.plan;
    let write = RepairWrite {
        id: pass.repair.id,
        generation: pass.repair.generation,
        field: plan.field,
        apply: plan.apply,
    };
    let replayed = match replay::commit_in_repair(pass.pipeline, prepared, write).await {
        Ok(replayed) => replayed,
        Err(ReplayError::Store(error)) if error.is_temporary() => {
            tracing::debug!(repair = %write.id, delivery = %id, %error, "store failed, retrying the delivery of a repair");
            return Ok(ReplayAttempt::Again);
        }
        Err(ReplayError::Emptied(_)) => return Ok(ReplayAttempt::Done(RepairOutcome::Emptied)),
        Err(ReplayError::Busy(_)) => return Ok(ReplayAttempt::Waits(RepairOutcome::Leased)),
        Err(ReplayError::NotFound(_)) => return Ok(ReplayAttempt::Done(RepairOutcome::Gone)),
        Err(error) => InRepair::Failed(error.to_string()),
    };
    Ok(match replayed {
        InRepair::Replayed(outcome) => {
            count(&mut pass.repair, &outcome);
            ReplayAttempt::Done(RepairOutcome::Replayed)
        }
        InRepair::Failed(why) => {
            // It may have a converter's words, and these a person's data.
            tracing::debug!(repair = %write.id, delivery = %id, why, "delivery of a repair not replayed, it stays as it is");
            ReplayAttempt::Done(RepairOutcome::Failed)
        }
        InRepair::Rejected => ReplayAttempt::Done(RepairOutcome::Rejected),
        InRepair::Quarantined => ReplayAttempt::Done(RepairOutcome::Quarantined),
        InRepair::Later(why) => {
            tracing::debug!(repair = %write.id, delivery = %id, why, "delivery of a repair cannot be converted now");
            ReplayAttempt::Waits(RepairOutcome::Failed)
        }
        InRepair::Stale => {
            if pass.stands().await? {
                ReplayAttempt::Waits(RepairOutcome::Leased)
            } else {
                ReplayAttempt::Ended
            }
        }
    })
}

/// Returns which contacts the repair could not part from its leads. `None`: there is none.
fn unsplit(repair: &Repair) -> Option<String> {
    let counts = &repair.counts;
    let named: Vec<String> = counts
        .unsplit_contacts
        .iter()
        .map(ContactId::to_string)
        .collect();
    (counts.unsplit > 0).then(|| {
        format!(
            "{} not wholly parted from {} contact: somebody has answered from the wrong number, which the contact keeps, or the right contact already talks with the same instance, so that the conversation stays, or the store failed (see the log): look at contact {}, and correct them by hand",
            counted(counts.unsplit, "lead is", "leads are"),
            if counts.unsplit == 1 { "its" } else { "their" },
            named.join(", ")
        )
    })
}

/// Counts the fields that people edited, and, without `apply`, what would change.
fn count(repair: &mut Repair, outcome: &DeliveryOutcome) {
    let counts = &mut repair.counts;
    for item in &outcome.items {
        let edited = item.diff.iter().filter(|diff| diff.edited_by_person);
        counts.kept += edited.count() as u64;
        if repair.plan.apply {
            continue;
        }
        let (mut deal, mut contact) = (false, false);
        for diff in item.diff.iter().filter(|diff| !diff.edited_by_person) {
            *counts.would_change.entry(diff.field.clone()).or_default() += 1;
            if diff.field.starts_with("contact.") {
                contact = true
            } else {
                deal = true
            }
        }
        counts.would_deals += u64::from(deal);
        counts.would_contacts += u64::from(contact);
        // With a field, no lead is created.
        let is_new = item.deal_id.is_none()
            && item.status == ItemStatus::Converted
            && repair.plan.field.is_none();
        counts.would_create += u64::from(is_new);
    }
}
