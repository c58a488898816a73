//! Repairs as they are changed and recorded.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::{ContactParting, PartedLead, RepairWrite};
use crate::domain::contact;
use crate::domain::id::{ContactId, DeliveryId, RepairId, WorkspaceId};
use crate::domain::repair::Repair;
use crate::limits;

/// The outcome of a change of a repair's state.
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

/// A contact of which leads say something else of the person since a repair.
#[derive(Clone, Debug)]
pub struct CorrectedContact {
    /// The number of its first change in the receipt.
    pub number: i64,
    pub workspace: WorkspaceId,
    pub contact: ContactId,
    /// Its leads that may belong to others, in the order of their deals, with the match keys that they name.
    pub leads: Vec<(PartedLead, Vec<String>)>,
    /// The match keys that its leads named before, and do not name any more.
    gone: BTreeSet<String>,
}

impl CorrectedContact {
    /// Returns the contact with these changes of what its leads say, and what they all say now.
    pub fn new(
        (number, workspace, contact): (i64, WorkspaceId, ContactId),
        changes: &[(PartedLead, Value, Value)],
        leads: Vec<(PartedLead, Value)>,
    ) -> Self {
        let (mut changed, mut gone) = (HashMap::new(), BTreeSet::new());
        let mut touched = HashSet::new();
        for (lead, before, after) in changes {
            let (before, after) = (contact::said_keys(before), contact::said_keys(after));
            if before != after {
                changed.insert(lead.deal, *lead);
                gone.extend(before.iter().filter(|key| !after.contains(key)).cloned());
                touched.extend(before.into_iter().chain(after));
            }
        }
        let mut suspects = Vec::new();
        for (lead, said) in leads {
            let keys = contact::said_keys(&said);
            let own = changed.get(&lead.deal);
            if own.is_some() || keys.iter().any(|key| touched.contains(key)) {
                suspects.push((own.copied().unwrap_or(lead), keys));
            }
        }
        Self {
            number,
            workspace,
            contact,
            leads: suspects,
            gone,
        }
    }

    /// Returns the write that takes the match keys from it that nothing gives it any more.
    pub fn without_wrong_keys(&self, repair: RepairWrite) -> Option<ContactParting> {
        let is_any = !self.gone.is_empty();
        self.part(repair, &[]).filter(|_| is_any)
    }

    /// Returns the writes that give its leads to the people to whom they belong, in order.
    pub fn parts(&self, repair: RepairWrite) -> Vec<ContactParting> {
        let parts = self.leads.chunks(limits::REPAIR_PARTED_AT_ONCE);
        let mut parts: Vec<_> = parts.filter_map(|leads| self.part(repair, leads)).collect();
        let last = parts.len().saturating_sub(1);
        for part in parts.iter_mut().take(last) {
            part.is_last = false;
        }
        parts
    }

    fn part(
        &self,
        repair: RepairWrite,
        leads: &[(PartedLead, Vec<String>)],
    ) -> Option<ContactParting> {
        Some(ContactParting {
            repair,
            workspace: self.workspace,
            contact: self.contact,
            place: self.leads.first()?.0,
            leads: leads.iter().map(|(lead, _)| *lead).collect(),
            keys: leads.iter().flat_map(|(_, keys)| keys.clone()).collect(),
            gone: self.gone.clone(),
            is_last: true,
        })
    }
}

/// The outcome of a merge of a contact into another one.
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
