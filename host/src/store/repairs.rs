//! Repairs as they are changed and recorded.

use crate::domain::id::{ContactId, DeliveryId, RepairId, WorkspaceId};
use crate::domain::repair::Repair;

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
