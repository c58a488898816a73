//! Reads by operators, partners and data clients.

use crate::prelude::*;
use crate::{ItemOutcome, NewDelivery};
pub use leadhost_domain::backlog::Backlog;
use leadhost_domain::deal::DealView;
use leadhost_domain::exchange::{HttpRequest, HttpResponse};
use leadhost_domain::row::ExportRow;

#[derive(Clone, Debug)]
pub struct RetentionPeriods {
    /// Finished deliveries: bodies, headers, items, and answers to their fetches.
    pub deliveries: Duration,
    pub quarantine: Duration,
}

/// The answer of a source to a settled fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptAnswer {
    /// Grows in the order in which the fetches of a delivery were settled.
    pub number: i64,
    /// The index of the item that the fetch was for.
    pub index: u32,
    pub hop: u32,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub response: HttpResponse,
}

/// A fetch of a delivery that is still to be made.
#[derive(Clone, Debug)]
pub struct WaitingFetch {
    /// The index of the item that it is for.
    pub index: u32,
    pub hop: u32,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub attempts: u32,
    pub due_at: Micros,
    /// When it is given up.
    pub until: Micros,
}

#[derive(Clone, Debug)]
pub enum ActivityOf {
    Connection(WorkspaceId, ConnectionId),
    Instance(WorkspaceId, AgentId),
}

impl ActivityOf {
    pub fn workspace(&self) -> WorkspaceId {
        match self {
            Self::Connection(workspace, _) | Self::Instance(workspace, _) => *workspace,
        }
    }
}

/// The deliveries or messages taken in five minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivitySlot {
    /// The number of the slot since 1970.
    pub slot: i64,
    pub taken: u64,
    /// Leads that the deliveries gave.
    pub leads: u64,
    /// Those of them that failed, are parked or are in quarantine.
    pub failed: u64,
    /// Deliveries that their converter refused.
    pub rejected: u64,
}

#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    pub workspace: Option<WorkspaceId>,
    pub connection: Option<ConnectionId>,
    pub status: Option<DeliveryStatus>,
    /// Only deliveries whose conversion has ended, with whatever result: not waiting ones, nor
    /// those that failed, are parked or in quarantine.
    pub converted: bool,
    pub since: Option<Micros>,
    /// Only deliveries received before this time.
    pub until: Option<Micros>,
    /// Only deliveries last converted by this version, given by its digest or the
    /// beginning of it.
    pub version: Option<String>,
    pub before: Option<DeliveryId>,
    /// Only this delivery and newer ones.
    pub from: Option<DeliveryId>,
    pub limit: u32,
}

/// Deliveries of a connection whose conversion has ended, with whatever result, or failed.
#[derive(Clone, Debug)]
pub struct ConvertedFilter {
    pub workspace: WorkspaceId,
    pub connection: ConnectionId,
    /// Only failed and parked ones.
    pub failed: bool,
    /// Only deliveries received since then.
    pub since: Option<Micros>,
    /// Only deliveries that this version converted last.
    pub digest: Option<Digest>,
}

/// A count of deliveries among the newest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryCount {
    /// The deliveries that were looked at.
    pub looked: u64,
    pub found: u64,
}

/// Deliveries of a time in which the leads of a connection had changed that nobody has replayed, and that are
/// still as they were converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftDeliveries {
    /// Those that brought no lead.
    pub refused: u64,
    /// Those whose leads lack what was lost.
    pub lacking: u64,
    /// When the first and the last of them were received. `None` without any.
    pub received: Option<(Micros, Micros)>,
}

#[derive(Clone, Debug)]
pub struct DeliverySummary {
    pub id: DeliveryId,
    pub connection_id: ConnectionId,
    pub connection: String,
    pub received_at: Micros,
    pub status: DeliveryStatus,
    pub bytes: u64,
    pub items: u32,
    pub attempts: u32,
    pub ran: Option<RanWith>,
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct DeliveryDetail {
    pub summary: DeliverySummary,
    pub workspace: WorkspaceId,
    pub request: NewDelivery,
    pub notes: Vec<String>,
    pub next_attempt_at: Option<Micros>,
    pub items: Vec<ItemOutcome>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DealFilter {
    pub partner: Option<PartnerId>,
    /// `domain::contact::phone_key`.
    pub phone_key: Option<String>,
    pub email: Option<String>,
    pub deal: Option<DealId>,
    pub person: Option<ContactId>,
    pub external_id: Option<String>,
    /// Only older deals: the last deal of the previous page.
    pub before: Option<DealId>,
}

#[derive(Debug, Default)]
pub struct DealPage {
    pub deals: Vec<DealView>,
    pub more: bool,
}

/// A deal as operators find it: with what the gateway does not show.
#[derive(Debug)]
pub struct FoundDeal {
    pub id: DealId,
    pub workspace: WorkspaceId,
    pub view: DealView,
    pub title: Option<String>,
    pub connection: Option<ConnectionId>,
    pub partner: Option<PartnerId>,
    pub delivery: Option<DeliveryId>,
}

/// The newest deals, and how far back they were looked for.
#[derive(Debug, Default)]
pub struct NewestDeals {
    /// The newest first.
    pub deals: Vec<FoundDeal>,
    /// The first deal that was looked at, if there are older ones that were not.
    pub floor: Option<DealId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DealItem {
    pub delivery: DeliveryId,
    pub status: ItemStatus,
}

#[derive(Debug)]
pub struct FoundContact {
    pub id: ContactId,
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone_number: Option<String>,
    pub banned_at: Option<Micros>,
    pub created_at: Micros,
    pub updated_at: Micros,
    /// Its match keys, as `domain::contact` writes them. Some may be shared with other contacts.
    pub keys: Vec<String>,
}

#[derive(Debug)]
pub struct FoundConversation {
    pub id: ConversationId,
    pub contact: ContactId,
    pub deal: Option<DealId>,
    pub agent: Option<AgentId>,
    pub status: String,
    pub source: Option<String>,
    pub created_at: Micros,
    pub last_message_at: Option<Micros>,
}

/// The contact or deal whose conversations are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationsOf {
    Contact(ContactId),
    Deal(DealId),
}

/// A page of a feed. Its rows are in memory only once, as the bytes that are sent.
#[derive(Clone, Debug, Default)]
pub struct ExportPage {
    pub rows: Vec<ExportRow>,
    /// The rows as JSON, each followed by a line break. No row spans two pieces, so that
    /// each piece can be freed after it is sent.
    pub pieces: Vec<Vec<u8>>,
    /// Whether rows up to `upper` remain after these.
    pub more: bool,
    /// The bound that was applied.
    pub upper: i64,
    /// The feed clock in the same snapshot. If it is below a cursor's bound, the store
    /// lags or was restored.
    pub clock: i64,
}

impl ExportPage {
    /// Returns the pieces with this byte between rows instead of a line break after each.
    pub fn joined(mut self, between: u8) -> Vec<Vec<u8>> {
        let mut rows = self.rows.iter();
        for piece in &mut self.pieces {
            let mut end = 0;
            while end < piece.len() {
                let Some(row) = rows.next() else { break };
                end += row.bytes;
                if let Some(byte) = piece.get_mut(end) {
                    *byte = between;
                }
                end += 1;
            }
        }
        if let Some(last) = self.pieces.last_mut() {
            last.pop();
        }
        self.pieces
    }

    pub fn texts(&self) -> Vec<&str> {
        let mut pieces = self.pieces.iter();
        let mut left: &[u8] = &[];
        let texts = self.rows.iter().map(|row| {
            if left.is_empty() {
                left = pieces.next().map_or(&[][..], Vec::as_slice);
            }
            let (text, rest) = left.split_at(row.bytes);
            left = &rest[1..];
            std::str::from_utf8(text).expect("JSON is text")
        });
        texts.collect()
    }
}
