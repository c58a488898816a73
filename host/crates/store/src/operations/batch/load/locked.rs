//! The rows of the queue that a batch has locked, and the names by which it asks for rows.

use crate::IdempotencyKey;
use crate::decide::{ClaimKey, ReferenceKey};
use crate::operations::prelude::*;

/// The place in the queue of a delivery itself, as opposed to the fetches of its items.
pub const WHOLE: i32 = -1;

/// The place in the queue of an unsent message, under its own id.
pub const SEND: i32 = -2;

/// Returns the place in the queue of an item and its fetch.
pub fn place(index: u32) -> i32 {
    i32::try_from(index).expect("the index of an item fits")
}

/// The rows that the transaction has locked.
#[derive(Default)]
pub struct LockedRows {
    /// By the id of a delivery and a place, or by the id of a message.
    pub work: HashMap<(Uuid, i32), QueueRow>,
    /// Dedupe keys that are claimed, including expired ones.
    pub claims: HashSet<ClaimKey>,
    pub requests: HashSet<IdempotencyKey>,
    pub references: HashSet<ReferenceKey>,
}

pub struct QueueRow {
    pub workspace: WorkspaceId,
    pub lease: i64,
    pub until: Option<Micros>,
}

impl LockedRows {
    pub fn workspaces(&self) -> BTreeSet<WorkspaceId> {
        self.work.values().map(|work| work.workspace).collect()
    }

    /// Returns the lease of a piece of work, and whether it is held.
    pub fn lease(&self, delivery: DeliveryId, place: i32) -> (i64, bool) {
        self.work
            .get(&(delivery.0, place))
            .map_or((0, false), |work| (work.lease, work.until.is_some()))
    }
}

/// Returns workspaces and ids as rows of `each (workspace_id uuid, id uuid)`.
pub fn ids<I: Copy + Into<Uuid>>(wanted: &BTreeSet<(WorkspaceId, I)>) -> Vec<[Arg<'static>; 2]> {
    wanted
        .iter()
        .map(|(workspace_id, id)| {
            let id: Uuid = (*id).into();
            args! { workspace_id, id }
        })
        .collect()
}

/// Returns the lookup that a row answers, by its place from 0. The text cannot be compared, because
/// it may have been stored without the characters that the database does not accept.
pub fn asked<'a, T>(wanted: &[&'a T], row: &SqlRow<'_>) -> Result<&'a T, StoreError> {
    let place: usize = row.get("place")?;
    let asked = wanted.get(place).copied();
    asked.ok_or_else(|| StoreError::Inconsistent {
        what: format!("a row answers lookup {place}, which was not requested"),
    })
}
