//! Repairs as they are changed and recorded.

use super::{ContactParting, PartedLead, RepairWrite};
use crate::prelude::*;
use leadhost_domain::contact;
use leadhost_domain::repair::Repair;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairChanged {
    /// With its new generation.
    Done(Repair),
    /// This other one is open, and one is open at a time.
    Open(Repair),
    /// It was changed since its generation was read.
    Stale,
}

/// The lead of a repair for which something is done. It has no effect unless the repair is running in
/// this generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairPlace {
    pub repair: RepairId,
    pub generation: i64,
    pub delivery: DeliveryId,
    pub item: u32,
}

/// A deal that moved to another contact in a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairMove {
    /// The number of the change in the receipt.
    pub number: i64,
    pub workspace: WorkspaceId,
    pub delivery: DeliveryId,
    pub item: u32,
    /// The contact whose data the values are: `from`, or the one into which that was merged.
    pub contact: ContactId,
    pub from: ContactId,
    pub into: ContactId,
}

impl RepairMove {
    /// Returns whether the former contact is still there, as far as the receipt knows.
    pub fn is_unmerged(&self) -> bool {
        self.contact == self.from
    }
}

/// A contact whose leads disagree about the person since a repair.
#[derive(Clone, Debug)]
pub struct CorrectedContact {
    /// The number of its first change in the receipt.
    pub number: i64,
    pub workspace: WorkspaceId,
    pub contact: ContactId,
    /// The lead of that change.
    pub place: PartedLead,
    /// Its leads that may belong to others, in the order of their deals, with the match keys that they name.
    pub leads: Vec<(PartedLead, Vec<String>)>,
    pub gone: GoneValues,
}

impl CorrectedContact {
    /// Adds these changes of what its leads say, and chooses the suspects from what they all say now.
    pub fn know(
        &mut self,
        changes: &[(PartedLead, Value, Value)],
        leads: Vec<(PartedLead, Value)>,
    ) {
        let (mut changed, mut touched) = (HashMap::new(), HashSet::new());
        for (lead, before, after) in changes {
            self.gone.add(before, after);
            let (before, after) = (contact::said_keys(before), contact::said_keys(after));
            if before != after {
                changed.insert(lead.deal, *lead);
                touched.extend(before.into_iter().chain(after));
            }
        }
        let mut left: Vec<_> = leads
            .into_iter()
            .map(|(lead, said)| (lead, contact::said_keys(&said)))
            .collect();
        let suspects = &mut self.leads;
        // A lead that found the contact by a touched key may have brought others by its further keys.
        loop {
            let is_touched = |(lead, keys): &mut (PartedLead, Vec<String>)| {
                changed.contains_key(&lead.deal) || keys.iter().any(|key| touched.contains(key))
            };
            let found: Vec<_> = left.extract_if(.., is_touched).collect();
            if found.is_empty() {
                break;
            }
            touched.extend(found.iter().flat_map(|(_, keys)| keys.clone()));
            suspects.extend(found);
        }
        for (lead, _) in suspects.iter_mut() {
            *lead = changed.get(&lead.deal).copied().unwrap_or(*lead);
        }
        suspects.sort_by_key(|(lead, _)| lead.deal);
    }

    /// Returns the write that removes its values and match keys that no lead gives.
    pub fn without_wrong_values(&self, repair: RepairWrite) -> Option<ContactParting> {
        (!self.gone.are_none()).then(|| self.part(repair, &[]))
    }

    /// Returns the writes that give its leads to the people to whom they belong, in order.
    pub fn parts(&self, repair: RepairWrite) -> Vec<ContactParting> {
        let parts = self.leads.chunks(limits::REPAIR_PARTED_AT_ONCE);
        let mut parts: Vec<_> = parts.map(|leads| self.part(repair, leads)).collect();
        let last = parts.len().saturating_sub(1);
        for part in parts.iter_mut().take(last) {
            part.is_last = false;
        }
        parts
    }

    fn part(&self, repair: RepairWrite, leads: &[(PartedLead, Vec<String>)]) -> ContactParting {
        ContactParting {
            repair,
            workspace: self.workspace,
            contact: self.contact,
            place: self.place,
            leads: leads.iter().map(|(lead, _)| *lead).collect(),
            keys: leads.iter().flat_map(|(_, keys)| keys.clone()).collect(),
            gone: self.gone.clone(),
            is_last: true,
        }
    }
}

/// What leads said of the person before a repair and no longer say.
#[derive(Clone, Debug, Default)]
pub struct GoneValues {
    /// The match keys of phones and addresses.
    pub keys: BTreeSet<String>,
    /// The values of fields that a lead has lost entirely, by the name of the field.
    pub values: BTreeSet<(&'static str, String)>,
}

impl GoneValues {
    /// Adds what a lead said before and does not say after.
    pub fn add(&mut self, before: &Value, after: &Value) {
        let now = contact::said_keys(after);
        let keys = contact::said_keys(before).into_iter();
        self.keys.extend(keys.filter(|key| !now.contains(key)));
        for field in ["name", "phones", "emails"] {
            if contact::said(after, field).is_empty() {
                let values = contact::said(before, field).into_iter();
                self.values.extend(values.map(|value| (field, value)));
            }
        }
    }

    fn are_none(&self) -> bool {
        self.keys.is_empty() && self.values.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactMerge {
    /// It was removed, and the other one has its keys.
    Merged,
    /// Something still belongs to it, a person edited it, it wants no messages, or one of the two is
    /// gone.
    Kept,
    /// The repair has ended, or another host has taken it.
    Stale,
}
