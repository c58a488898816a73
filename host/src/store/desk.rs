//! Tickets as the desk changes and reads them.

use crate::domain::id::{TicketId, WorkspaceId};
use crate::domain::ticket::Status;

/// `PATCH /tickets/{id}`, checked. What is `None` stays.
#[derive(Clone, Debug)]
pub struct TicketPatch {
    pub workspace: WorkspaceId,
    pub ticket: TicketId,
    pub status: Option<Status>,
    /// Who takes it, by normalised address; the inner `None`: nobody any more.
    pub owner_email: Option<Option<String>>,
}

/// What a patch became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketPatched {
    /// False: it was so before.
    Done {
        changed: bool,
    },
    NoTicket,
    NoOwner,
    /// It cannot be opened again: another ticket of the same conversation is open.
    Superseded,
}

/// Newest first.
#[derive(Clone, Debug, Default)]
pub struct TicketFilter {
    pub ticket: Option<TicketId>,
    pub status: Option<Status>,
    /// Only older ones.
    pub before: Option<TicketId>,
    pub limit: u32,
}
