//! Writes, and their outcomes. The writes of many requests share one transaction.

use std::net::IpAddr;
use std::ops::{Deref, Range};

use sha2::{Digest as _, Sha256};

use crate::deals::{DealCreated, DealLogged, DealPatch, DealPatched, NewDeal, NewDealLog};
use crate::desk::{TicketPatch, TicketPatched};
use crate::lease::Lease;
use crate::messaging::{
    Elapse, Greeted, MessageOutcome, NewEvent, NewGreeting, NewStoredAnswer, Notification,
    Notified, Resolution, SendSettlement, SendStart,
};
use crate::prelude::*;
use crate::repairs::GoneValues;
use leadhost_domain::delivery::DeliveryBody;
pub use leadhost_domain::delivery::{FieldDiff, ItemOutcome};
use leadhost_domain::exchange::{HttpRequest, HttpResponse, InputProblem, Pairs};
use leadhost_domain::hex;
use leadhost_domain::lead::Action;
use leadhost_domain::phone::Phone;
use leadhost_domain::repair::{RepairChange, RepairField};

/// One thing to commit. The writes of many requests share one transaction.
#[derive(Clone, Debug)]
pub enum Write {
    /// A delivery came in, with the result of its conversion.
    Accept(Box<Acceptance>),
    /// A stored delivery was converted again.
    Convert(Box<Reconversion>),
    /// A stored delivery is released unchanged: the work had no result.
    Release { delivery: DeliveryId, lease: Lease },
    /// The work on a stored delivery goes on: its lease ends at `until` instead.
    Renew {
        delivery: DeliveryId,
        lease: Lease,
        until: Micros,
    },
    /// A fetch was answered. The answer is stored before the plugin reads it.
    Answer(Box<FetchAnswer>),
    /// A fetch is settled.
    Settle(Box<FetchSettlement>),
    /// A template message is to be sent.
    Notify(Box<Notification>),
    /// An answer without a message is stored for repeats of its request.
    Remember(Box<NewStoredAnswer>),
    /// The call of a claimed send is about to be made.
    Begin(SendStart),
    /// A send has ended or waits again.
    Sent(Box<SendSettlement>),
    /// An operator decides the outcome of a message.
    Resolve(Resolution),
    /// A deadline of a conversation has passed.
    Elapse(Elapse),
    /// A partner changes a deal.
    PatchDeal(Box<DealPatch>),
    /// A partner creates a deal.
    CreateDeal(Box<NewDeal>),
    /// A partner adds a log entry to a deal.
    LogDeal(Box<NewDealLog>),
    /// The desk changes a ticket.
    PatchTicket(Box<TicketPatch>),
    /// A repair gives leads of a contact to the people to whom they belong.
    PartContact(Box<ContactParting>),
    /// Changes of a repair are undone.
    UndoRepair(Box<RepairUndo>),
}

/// Writes that are committed together, in order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Batch {
    all: Arc<[Write]>,
    part: Range<usize>,
}

impl Batch {
    /// Returns the first and the second half.
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
pub enum WriteOutcome {
    Done(DeliveryOutcome),
    Notified(Notified),
    /// The outcome of `Remember`: what the key had, or `None` if it was free.
    Remembered(Option<Notified>),
    /// The outcome of `Begin`, `Sent` and `Resolve`.
    Message(MessageOutcome),
    /// Whether the conversation changed.
    Elapsed(bool),
    DealPatched(DealPatched),
    DealCreated(DealCreated),
    DealLogged(DealLogged),
    TicketPatched(TicketPatched),
    /// The outcome of `PartContact`: the number of leads that stay with a wrong contact.
    Parted {
        unparted: u64,
    },
    /// The outcome of `UndoRepair`: each change is marked with what became of it.
    RepairUndone,
    /// Another host holds the work, or the work does not exist. Nothing was changed.
    Stale,
    /// The connection's quarantine is full, and the delivery was not kept: it alone is
    /// larger than the share of any other address, or everything in the quarantine is
    /// leased.
    NotKept,
}

/// The raw request. Secrets in headers, query, path and body are redacted.
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
    pub body: DeliveryBody,
}

impl NewDelivery {
    /// Returns whether the delivery was emptied. No real request is without headers.
    pub fn is_emptied(&self) -> bool {
        self.body.is_empty() && self.headers.is_empty() && self.query.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct Acceptance {
    pub delivery: NewDelivery,
    /// The owner of the sender's network (`domain::network::owner`) while the sender is
    /// unproven, since the quarantine gives each owner a share. `None`: the sender is
    /// proven.
    pub peer: Option<IpAddr>,
    pub result: ConversionResult,
    /// Hashes by which it is found unless it becomes leads (`pipeline::search_keys`).
    pub keys: Vec<i64>,
}

#[derive(Clone, Debug)]
pub struct ConversionResult {
    /// `None`: derived from the items. Otherwise queued (not converted yet), failed,
    /// parked, rejected or quarantined, without items.
    pub status: Option<DeliveryStatus>,
    pub items: Vec<NewItem>,
    pub ran: Option<RanWith>,
    /// Why the delivery was refused, failed or quarantined.
    pub error: Option<String>,
    pub notes: Vec<String>,
    pub attempts: u32,
    /// When it is due again, if it is queued or failed.
    pub next_attempt_at: Option<Micros>,
    /// If it is quarantined: the sealed proof of the sender, to be checked again on
    /// release.
    pub presented: Option<Vec<u8>>,
}

impl ConversionResult {
    /// Returns whether it failed without a call: no version has run.
    pub fn is_skipped(&self) -> bool {
        self.status == Some(DeliveryStatus::Failed) && self.ran.is_none()
    }

    pub fn has_fetch(&self) -> bool {
        self.items.iter().any(|item| item.result.is_fetch())
    }
}

#[derive(Clone, Debug)]
pub struct NewItem {
    pub index: u32,
    pub result: ItemResult,
}

#[derive(Clone, Debug)]
pub enum ItemResult {
    Lead(Box<NewLead>),
    Fetch(Box<NewFetch>),
    Ignored(String),
    Invalid(InputProblem),
    /// An event of a channel's webhook.
    Event(Box<NewEvent>),
    /// The reason why the item has no route.
    Unrouted(String),
}

impl ItemResult {
    /// The item for a fetch whose answer contained none.
    pub fn nothing() -> Self {
        Self::Ignored("the answer to the fetch contained no items".to_owned())
    }

    pub fn is_fetch(&self) -> bool {
        matches!(self, Self::Fetch(_))
    }
}

/// The key by which a duplicate is recognised within its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DedupeKey {
    /// `id:` and the external id, or `content:` and a hash.
    pub key: String,
    /// How long the key is kept. `None`: for ever.
    pub window: Option<Duration>,
}

/// Longer ids are hashed into the key, because indexes have limits.
const LONGEST_ID: usize = 512;

impl DedupeKey {
    /// Returns the key of a source's id of a lead.
    pub fn from_id(id: &str) -> Self {
        let key = if id.len() <= LONGEST_ID {
            format!("id:{id}")
        } else {
            format!("id-sha256:{}", hash(&[id]))
        };
        Self { key, window: None }
    }
}

/// What an id that people share has instead of a person's match key.
pub const SHARED: &str = "";

/// Returns the key that a lead has beside others under the same external id, which another person's lead
/// has: a key for each text by which its person is told ([`NewLead::told_by`]). `None`: leads are not
/// recognised by this key's id.
pub fn person_key(key: &str, person: &str) -> Option<String> {
    let is_id = key.starts_with("id:") || key.starts_with("id-sha256:");
    is_id.then(|| format!("id-person:{}", hash(&[key, person])))
}

/// Returns what remains of a key once its lead is removed: an external id may name a person, and a repeat
/// must still be recognised. `None`: the key names nothing.
pub fn erased_key(key: &str) -> Option<String> {
    let id = key.strip_prefix("id:")?;
    Some(format!("id-erased:{}", hash(&[id])))
}

/// Returns what remains of a channel's id of a message to a person who was erased, by which its later
/// statuses are recognised. Channels write the number into their ids.
pub fn erased_reference(external_id: &str) -> String {
    format!("erased:{}", hash(&[external_id]))
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep the parts apart.
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize())
}

/// A normalised lead, addressed to a connection of the delivery's workspace.
#[derive(Clone, Debug)]
pub struct NewLead {
    pub connection: ConnectionId,
    pub agent: Option<AgentId>,
    pub dedupe: Option<DedupeKey>,
    pub action: Action,
    pub external_id: Option<String>,
    pub name: Option<String>,
    pub phones: Vec<Phone>,
    /// Best first, normalised.
    pub emails: Vec<String>,
    /// See `domain::contact::keys`. If empty, the lead gets a new contact.
    pub contact_keys: Vec<String>,
    /// External ids of products, best first. The first known product is linked.
    pub products: Vec<String>,
    pub title: Option<String>,
    pub deal_props: Map<String, Value>,
    /// Names of properties that did not fit, for the delivery's notes.
    pub left_out: Vec<String>,
    /// Names of attributes that are not JSON and kept as texts, for the delivery's notes.
    pub as_text: Vec<String>,
    pub contact_props: Map<String, Value>,
    /// The message to the contact if the lead creates a deal.
    pub greeting: Option<Box<NewGreeting>>,
}

impl NewLead {
    /// Returns the best valid phone number, in E.164.
    pub fn phone_number(&self) -> Option<&str> {
        self.phones.iter().find_map(|phone| phone.e164.as_deref())
    }

    /// Returns what tells the person of the lead from others whose leads have the same id: the match keys, or
    /// the name if there are none.
    pub fn told_by(&self) -> Vec<String> {
        if !self.contact_keys.is_empty() {
            return self.contact_keys.clone();
        }
        let name = self.name.as_deref().map(leadhost_search::fold);
        let name = name.filter(|name| !name.is_empty());
        name.map(|name| format!("name:{name}"))
            .into_iter()
            .collect()
    }
}

#[derive(Clone, Debug)]
pub struct NewFetch {
    pub connection: ConnectionId,
    pub dedupe: Option<DedupeKey>,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub state: Vec<u8>,
    /// 1 for the first fetch.
    pub hop: u32,
    pub due_at: Micros,
    /// After this time the fetch is given up.
    pub until: Micros,
}

/// A stored delivery converted again: a retry, or an operator's replay.
#[derive(Clone, Debug)]
pub struct Reconversion {
    pub delivery: DeliveryId,
    pub lease: Lease,
    pub mode: Mode,
    pub result: ConversionResult,
    /// Set if the conversion is too large for one write. See `Reconversion::in_parts`.
    pub part: Option<ConversionPart>,
}

/// One of the parts in which a large conversion is committed, in order and under one
/// claim. Until the last part is committed, the delivery stays waiting, so that the next
/// host to claim it continues if this one is cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionPart {
    pub of: u32,
    /// The places of its first and its last item.
    pub places: (u32, u32),
    /// Keys that items of earlier parts have used.
    pub used: HashSet<(ConnectionId, String)>,
    /// The time until which this part extends the lease, so that it does not end before the last part.
    pub until: Option<Micros>,
}

impl ConversionPart {
    pub fn is_first(&self) -> bool {
        self.places.0 == 0
    }

    pub fn is_last(&self) -> bool {
        self.places.1 + 1 >= self.of
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The delivery was never finished. Items are accepted as usual.
    Retry,
    /// Finished items give a diff. With `apply` the diff is written, except for fields
    /// that a person has edited since.
    Replay { apply: bool },
    /// The outcome of a replay with `apply` is computed, and nothing of it is written. Only if the
    /// version fails on finished items, its error and its notes are kept with the delivery.
    Preview,
    /// A replay as part of a repair, which has a row in the receipt for each change.
    Repair(RepairWrite),
}

impl Mode {
    pub fn is_replay(self) -> bool {
        !matches!(self, Self::Retry)
    }
}

/// The repair that a replay is part of. The replay has no effect unless the repair is running in
/// this generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairWrite {
    pub id: RepairId,
    pub generation: i64,
    /// Only this field of existing leads.
    pub field: Option<RepairField>,
    /// Without it, nothing at all is written.
    pub apply: bool,
}

impl RepairWrite {
    /// Returns whether it leaves the delivery and its unfinished items as they are.
    pub fn is_narrow(&self) -> bool {
        !self.apply || self.field.is_some()
    }
}

/// Leads of a contact that may belong to others, because a repair has corrected match keys of it. It has
/// no effect unless the repair is running in this generation.
#[derive(Clone, Debug)]
pub struct ContactParting {
    pub repair: RepairWrite,
    pub workspace: WorkspaceId,
    pub contact: ContactId,
    /// The lead in whose place the receipt has the values and match keys that the contact loses.
    pub place: PartedLead,
    /// In the order of their deals.
    pub leads: Vec<PartedLead>,
    /// The match keys that they name.
    pub keys: Vec<String>,
    pub gone: GoneValues,
    /// There are no further leads of it.
    pub is_last: bool,
}

/// A lead of a [`ContactParting`], with the place that its change in the receipt has.
#[derive(Clone, Copy, Debug)]
pub struct PartedLead {
    pub deal: DealId,
    pub delivery: DeliveryId,
    pub item: u32,
}

/// Changes of a repair to undo, the newest first. It has no effect unless the repair is being
/// undone in this generation.
#[derive(Clone, Debug)]
pub struct RepairUndo {
    pub repair: RepairId,
    pub generation: i64,
    pub changes: Vec<RepairChange>,
    /// The version whose deliveries the repair converted again. The deliveries of changes that are
    /// undone count for it again. `None`: the store no longer has it.
    pub converted_by: Option<ConvertedBy>,
}

/// The version that converted a delivery, without the configuration that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedBy {
    pub plugin: String,
    pub version: String,
    pub digest: Digest,
    pub contract: String,
}

#[derive(Clone, Debug)]
pub struct FetchAnswer {
    pub delivery: DeliveryId,
    pub index: u32,
    pub lease: Lease,
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
    pub notes: Vec<String>,
    pub outcome: FetchOutcome,
}

#[derive(Clone, Debug)]
pub enum FetchOutcome {
    /// The first item takes this item's place. The others become new items of the
    /// delivery.
    Items(Vec<ItemResult>),
    Retry {
        at: Micros,
        error: String,
    },
    /// Given up.
    Failed {
        error: String,
    },
    /// Like `Retry`, and the connection's fetches are paused.
    Stop {
        at: Micros,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryOutcome {
    pub delivery: DeliveryId,
    pub status: DeliveryStatus,
    /// Why its last conversion failed. One that made leads before keeps them, and its status.
    pub error: Option<String>,
    pub items: Vec<ItemOutcome>,
    pub evicted: u32,
    pub greeted: Vec<Greeted>,
}
