//! What is committed, and what came of it. Writes of many requests share one
//! transaction.

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::delivery::{Body, DeliveryStatus, ItemStatus};
use crate::domain::exchange::{HttpRequest, HttpResponse, Pairs, Problem};
use crate::domain::id::{AgentId, ConnectionId, ContactId, DealId, DeliveryId, WorkspaceId};
use crate::domain::lead::Action;
use crate::domain::phone::Phone;
use crate::domain::plugin::RanWith;
use crate::domain::time::Micros;
use crate::store::{
    DealCreated, DealLogged, DealPatch, DealPatched, Elapse, MessageOutcome, NewDeal, NewDealLog,
    NewEvent, NewGreeting, Notification, Notified, Remembered, Resolution, SendSettlement,
    SendStart, TicketPatch, TicketPatched,
};

/// One thing to commit. Writes of many requests share one transaction.
#[derive(Clone, Debug)]
pub enum Write {
    /// A delivery came in, with what came of it.
    Accept(Box<Acceptance>),
    /// A stored delivery was converted again.
    Convert(Box<Reconversion>),
    /// A stored delivery is let go of as it was: nothing came of the work.
    Release { delivery: DeliveryId, lease: Lease },
    /// A fetch was answered: kept before the plugin reads it.
    Answer(Box<FetchAnswer>),
    /// A fetch is settled.
    Settle(Box<FetchSettlement>),
    /// A template message is to go out.
    Notify(Box<Notification>),
    /// An answer without a message is kept for its repeats.
    Remember(Box<Remembered>),
    /// The call of a claimed send is about to be made.
    Begin(SendStart),
    /// A send has come to an end, or waits again.
    Sent(Box<SendSettlement>),
    /// An operator says what became of a message.
    Resolve(Resolution),
    /// Time has passed for a conversation.
    Elapse(Elapse),
    /// A partner changes a deal.
    PatchDeal(Box<DealPatch>),
    /// A partner makes a deal.
    CreateDeal(Box<NewDeal>),
    /// A partner notes something of a deal.
    LogDeal(Box<NewDealLog>),
    /// The desk changes a ticket.
    PatchTicket(Box<TicketPatch>),
}

/// Writes that are committed together, in order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Batch {
    all: Arc<[Write]>,
    part: Range<usize>,
}

impl Batch {
    /// Its first and its second half.
    pub fn halves(&self) -> (Self, Self) {
        let middle = self.part.start + self.len() / 2;
        let part = |part| Self {
            all: Arc::clone(&self.all),
            part,
        };
        (part(self.part.start..middle), part(middle..self.part.end))
    }
}

impl Deref for Batch {
    type Target = [Write];

    fn deref(&self) -> &[Write] {
        &self.all[self.part.clone()]
    }
}

impl From<Vec<Write>> for Batch {
    fn from(writes: Vec<Write>) -> Self {
        Self {
            part: 0..writes.len(),
            all: Arc::from(writes),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Written {
    Done(DeliveryOutcome),
    Notified(Notified),
    /// What `Remember` found under the key: `None`, it was free.
    Remembered(Option<Notified>),
    /// Of `Begin`, `Sent` and `Resolve`.
    Message(MessageOutcome),
    /// Whether the conversation changed.
    Elapsed(bool),
    DealPatched(DealPatched),
    DealCreated(DealCreated),
    DealLogged(DealLogged),
    TicketPatched(TicketPatched),
    /// Somebody else holds the work by now, or it is not there; nothing was changed.
    Stale,
    /// The connection's quarantine is full, and the delivery was not kept: it alone is
    /// larger than the share of any other address, or all that is there has a lease.
    NotKept,
}

/// Who holds a piece of work: a number that grows with every claim of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(pub i64);

/// The raw request, secrets in headers and query redacted.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    pub id: DeliveryId,
    pub workspace: WorkspaceId,
    pub connection: ConnectionId,
    pub received_at: Micros,
    pub method: String,
    pub path: String,
    pub query: Pairs,
    pub headers: Pairs,
    pub body: Body,
}

impl NewDelivery {
    /// Nothing of what came is left: a request without any header there is not.
    pub fn is_emptied(&self) -> bool {
        self.body.is_empty() && self.headers.is_empty() && self.query.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct Acceptance {
    pub delivery: NewDelivery,
    /// The owner of the sender's network (`domain::network::owner`), while the sender
    /// is unproven: the quarantine has a share for each. `None`: it is proven.
    pub peer: Option<IpAddr>,
    pub result: ConversionResult,
}

/// What converting a delivery gave.
#[derive(Clone, Debug)]
pub struct ConversionResult {
    /// `None`: follows from the items. Else queued (not converted yet), failed,
    /// parked, rejected or quarantined, without items.
    pub status: Option<DeliveryStatus>,
    pub items: Vec<NewItem>,
    pub ran: Option<RanWith>,
    /// Why it was refused, failed or quarantined.
    pub error: Option<String>,
    pub notes: Vec<String>,
    /// Failures of this digest so far, this one included.
    pub attempts: u32,
    /// When it is due again: for queued and failed.
    pub next_attempt_at: Option<Micros>,
    /// For quarantined: what the sender presented, sealed, to be checked again on release.
    pub presented: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct NewItem {
    /// Its place in the delivery, from 0.
    pub index: u32,
    pub result: ItemResult,
}

#[derive(Clone, Debug)]
pub enum ItemResult {
    Lead(Box<NewLead>),
    Fetch(Box<NewFetch>),
    Ignored(String),
    Invalid(Problem),
    /// Of a channel's webhook.
    Event(Box<NewEvent>),
    /// The route that nobody answers to, in words.
    Unrouted(String),
}

impl ItemResult {
    /// Of a fetch whose answer holds no item.
    pub fn nothing() -> Self {
        Self::Ignored("the answer to the fetch held nothing".to_owned())
    }
}

/// The key by which a repeat is recognised, within its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DedupeKey {
    /// `id:` and the external id, or `content:` and a hash.
    pub key: String,
    /// It holds this long, in microseconds; `None`: for ever.
    pub window: Option<i64>,
}

/// A lead, normalised, addressed to a connection of the delivery's workspace.
#[derive(Clone, Debug)]
pub struct NewLead {
    pub connection: ConnectionId,
    pub agent: Option<AgentId>,
    pub dedupe: Option<DedupeKey>,
    pub action: Action,
    pub external_id: Option<String>,
    pub name: Option<String>,
    /// Best first.
    pub phones: Vec<Phone>,
    /// Best first, normalised.
    pub emails: Vec<String>,
    /// See `domain::contact::keys`; empty: a contact of its own.
    pub contact_keys: Vec<String>,
    /// External ids of products, best first; the first that is known is linked.
    pub products: Vec<String>,
    pub title: Option<String>,
    pub deal_props: Map<String, Value>,
    /// What had no room among them, for the delivery's notes.
    pub left_out: Vec<String>,
    pub contact_props: Map<String, Value>,
    /// What the contact is sent when the lead makes a deal.
    pub greeting: Option<Box<NewGreeting>>,
}

#[derive(Clone, Debug)]
pub struct NewFetch {
    pub connection: ConnectionId,
    pub dedupe: Option<DedupeKey>,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub state: Vec<u8>,
    /// 1 for the first.
    pub hop: u32,
    pub due_at: Micros,
    /// Past this it is given up.
    pub until: Micros,
}

/// A stored delivery converted again: a retry, or an operator's replay.
#[derive(Clone, Debug)]
pub struct Reconversion {
    pub delivery: DeliveryId,
    pub lease: Lease,
    pub mode: Mode,
    pub result: ConversionResult,
    /// Of one that is too large for one write: see `Reconversion::in_parts`.
    pub part: Option<Part>,
}

/// One of the parts in which a large conversion is committed, in their order and
/// under one claim. Until the last is there the delivery waits, so that whoever
/// claims it next goes on when this one is cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Items of all parts together.
    pub of: u32,
    /// The places of its items: the first and the last.
    pub places: (u32, u32),
    /// Keys that items of parts before it have used.
    pub used: HashSet<(ConnectionId, String)>,
    /// Its claim would end before the last part: it holds until then.
    pub until: Option<Micros>,
}

impl Part {
    pub fn is_first(&self) -> bool {
        self.places.0 == 0
    }

    pub fn is_last(&self) -> bool {
        self.places.1 + 1 >= self.of
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It never finished: items are accepted as usual.
    Retry,
    /// Items that are finished give a diff; with `apply` it is written, save
    /// what a person edited since.
    Replay { apply: bool },
}

#[derive(Clone, Debug)]
pub struct FetchAnswer {
    pub delivery: DeliveryId,
    pub index: u32,
    pub lease: Lease,
    /// What was asked, by which version and with which state of its own: it need
    /// not be the one that made the pointer.
    pub request: HttpRequest,
    pub state: Vec<u8>,
    pub ran: RanWith,
    pub response: HttpResponse,
}

#[derive(Clone, Debug)]
pub struct FetchSettlement {
    pub delivery: DeliveryId,
    pub index: u32,
    pub lease: Lease,
    pub ran: Option<RanWith>,
    /// They are added to the delivery's.
    pub notes: Vec<String>,
    pub outcome: FetchOutcome,
}

#[derive(Clone, Debug)]
pub enum FetchOutcome {
    /// The first takes this item's place, the others are new items of the delivery.
    Items(Vec<ItemResult>),
    Retry {
        at: Micros,
        error: String,
    },
    /// Given up.
    Failed {
        error: String,
    },
    /// As retry, and the connection's fetches are paused.
    Stop {
        at: Micros,
        reason: String,
    },
}

/// What a delivery is after a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryOutcome {
    pub delivery: DeliveryId,
    pub status: DeliveryStatus,
    pub items: Vec<ItemOutcome>,
    /// How many deliveries left a full quarantine for this one.
    pub evicted: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemOutcome {
    #[serde(rename = "item")]
    pub index: u32,
    pub status: ItemStatus,
    pub external_id: Option<String>,
    pub deal_id: Option<DealId>,
    pub contact_id: Option<ContactId>,
    /// Why it is ignored, invalid, unrouted or failed.
    pub message: Option<String>,
    /// Of a replay: what would change, or did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<FieldDiff>,
}

/// A field of a deal that changed.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct FieldChange {
    /// `status`, `product_id`, `props.message`: as exported.
    pub field: String,
    pub before: Value,
    pub after: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldDiff {
    /// `deal.title`, `deal.props.message`, `contact.name`.
    pub field: String,
    pub before: Value,
    pub after: Value,
    pub applied: bool,
    /// A person edited it since: left as it is.
    pub edited_by_person: bool,
}
