//! Gives leads to the people to whom they belong, once a repair has corrected what all of them say: before,
//! a wrong key that is not corrected yet could lead to a wrong contact. The contacts are read from the
//! receipt, so a host that takes the repair over begins again, and finds what is left.

use super::merging;
use super::pass::RepairPass;
use crate::prelude::*;
use leadhost_domain::repair::{RepairCounts, RepairState};
use leadhost_store::{CorrectedContact, RepairWrite};

const NAMED: usize = 10;

/// The newest repairs among which one that was cancelled is looked for.
const LOOKED_AT: u32 = 100;

/// Decides whose the leads of all corrected contacts are. Returns whether the work of this host on the
/// repair goes on.
pub(super) async fn run(pass: &mut RepairPass<'_>) -> Result<bool, StoreError> {
    let plan = &pass.repair.plan;
    let has_keys = plan.field.is_none_or(|field| field.keys().is_some());
    if !plan.apply || !has_keys {
        return Ok(true);
    }
    // A host before may have counted some.
    let counts = &mut pass.repair.counts;
    (counts.unsplit, counts.unsplit_contacts) = Default::default();
    let mut receipts = cancelled(pass.pipeline, &pass.repair.plan.converted_by).await?;
    receipts.push(pass.repair.id);
    for step in [Step::Values, Step::Leads] {
        for receipt in &receipts {
            let (store, mut after) = (&pass.pipeline.store, 0);
            loop {
                let began = Instant::now();
                let Some(contact) = store.corrected_contact(*receipt, after).await? else {
                    break;
                };
                pass.give_way(began).await;
                after = contact.number;
                if !part(pass, &contact, step).await? {
                    return Ok(false);
                }
            }
        }
    }
    // After all: the receipt names a merged contact no more.
    merging::run(pass).await
}

/// What is done with all contacts before the next step: a wrong key of another one must lead nowhere.
#[derive(Clone, Copy)]
enum Step {
    Values,
    Leads,
}

/// Returns the earlier repairs of this version that an operator cancelled: they may have corrected leads, and
/// not decided whose they are.
pub(super) async fn cancelled(
    pipeline: &Arc<Pipeline>,
    version: &Digest,
) -> Result<Vec<RepairId>, StoreError> {
    let all = pipeline.store.repairs(None, LOOKED_AT).await?;
    let own = all.into_iter().filter(|one| {
        one.state == RepairState::Cancelled && one.plan.apply && one.plan.converted_by == *version
    });
    Ok(own.map(|one| one.id).collect())
}

/// Decides whose the leads of a contact are. Returns false if the repair was ended, or another host has
/// taken it.
async fn part(
    pass: &mut RepairPass<'_>,
    contact: &CorrectedContact,
    step: Step,
) -> Result<bool, StoreError> {
    let repair = RepairWrite {
        id: pass.repair.id,
        generation: pass.repair.generation,
        field: pass.repair.plan.field,
        apply: true,
    };
    let parts = match step {
        Step::Values => contact.without_wrong_values(repair).into_iter().collect(),
        Step::Leads => contact.parts(repair),
    };
    for part in parts {
        let began = Instant::now();
        if !pass.goes_on().await? {
            return Ok(false);
        }
        let leads = part.leads.len() as u64;
        let write = Write::PartContact(Box::new(part));
        let counts = &mut pass.repair.counts;
        match pass.pipeline.writer.submit_background(write).await {
            Ok(WriteOutcome::Parted { unparted }) => {
                if matches!(step, Step::Leads) {
                    note(counts, contact, unparted);
                }
            }
            Ok(_) => return Ok(false),
            Err(error) if error.is_temporary() => return Err(error),
            Err(error) => {
                // It would fail again, and the other contacts are to be parted.
                tracing::warn!(repair = %repair.id, contact = %contact.contact, %error, "leads of a contact not parted, they stay");
                note(counts, contact, leads);
            }
        }
        pass.give_way(began).await;
    }
    Ok(true)
}

fn note(counts: &mut RepairCounts, contact: &CorrectedContact, unparted: u64) {
    counts.unsplit += unparted;
    if unparted > 0 && counts.unsplit_contacts.len() < NAMED {
        counts.unsplit_contacts.insert(contact.contact);
    }
}
