//! Claimed work, with everything that is needed to do it.

use crate::prelude::*;
use crate::{HeldSend, Lease, NewDelivery};
use leadhost_domain::exchange::{HttpRequest, HttpResponse};

#[derive(Clone, Debug)]
pub enum Job {
    Convert(Box<HeldDelivery>),
    Fetch(Box<HeldFetch>),
    Send(Box<HeldSend>),
}

impl Job {
    /// Returns the connection whose turn this job takes.
    pub fn connection(&self) -> &ConnectionId {
        match self {
            Self::Convert(held) => &held.delivery.connection,
            Self::Fetch(held) => &held.connection,
            Self::Send(held) => &held.connection,
        }
    }
}

#[derive(Clone, Debug)]
pub struct HeldDelivery {
    pub lease: Lease,
    pub status: DeliveryStatus,
    pub delivery: NewDelivery,
    pub ran: Option<RanWith>,
    pub attempts: u32,
    pub presented: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct HeldFetch {
    pub lease: Lease,
    pub delivery: DeliveryId,
    pub workspace: WorkspaceId,
    pub received_at: Micros,
    pub index: u32,
    /// The connection that the item was routed to.
    pub connection: ConnectionId,
    /// The connection that the delivery came to: its converter made the item.
    pub received_by: ConnectionId,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub state: Vec<u8>,
    pub hop: u32,
    pub attempts: u32,
    pub ran: RanWith,
    /// Kept from an attempt that was interrupted after the answer arrived.
    pub response: Option<HttpResponse>,
    pub until: Micros,
}
