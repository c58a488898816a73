//! Tickets as the desk changes and reads them.

use crate::prelude::*;
use leadhost_domain::ticket::TicketStatus;

/// `PATCH /tickets/{id}`, checked. `None` leaves a field unchanged.
#[derive(Clone, Debug)]
pub struct TicketPatch {
    pub workspace: WorkspaceId,
    pub ticket: TicketId,
    pub status: Option<TicketStatus>,
    /// The new owner's normalised address. The inner `None` removes the owner.
    pub owner_email: Option<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketPatched {
    /// False: the ticket was already so.
    Done {
        changed: bool,
    },
    NoTicket,
    NoOwner,
    /// The ticket cannot be reopened: another ticket of the same conversation is open.
    Superseded,
}

#[derive(Clone, Debug, Default)]
pub struct TicketFilter {
    /// Only what this partner may see, if the workspace has others: tickets of its deals and of
    /// conversations in which it sent a notification, or that no partner is known of.
    pub partner: Option<PartnerId>,
    pub ticket: Option<TicketId>,
    pub contact: Option<ContactId>,
    pub deal: Option<DealId>,
    pub status: Option<TicketStatus>,
    /// Only tickets older than this one.
    pub before: Option<TicketId>,
    pub limit: u32,
}
