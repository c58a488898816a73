//! What the service remembers, behind one trait.
//!
//! The verbs are the domain's, each atomic, shaped for batches: slices in,
//! vectors out, "not found" is `None`, `now` is an argument. What belongs to one
//! tenant is reached with a [`Scope`], which only a key that the store knows
//! gives. To add a verb: a method here, the same file name in each store's
//! folder, a clause in the conformance suite.
//!
//! Two promises hold for every store. A stamp (`cursor_at`) becomes visible in
//! stamp order within its workspace and entity, and never twice. What `commit`
//! answered `Ok` survives a power cut.

pub mod decide;
mod error;
mod fleet;
pub mod moving;
pub mod once;
mod planned;
pub mod postgres;
mod row;
mod scope;
mod seen;
pub mod sqlite;
pub mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use uuid::Uuid;

pub use fleet::{
    Announcement, Beat, Debt, Fence, HostReport, Outage, Pool, Preparation, Price, Proposal,
    SeenHost, Serves,
};
pub use scope::{Caller, Scope};

use self::seen::Seen;
use self::sqlite::SqliteStore;
use crate::clock::SharedClock;
use crate::config::{self, StoreUrl};
use crate::domain::connection::{AllowedHost, Connection, Pause};
use crate::domain::deal::DealView;
use crate::domain::delivery::{DeliveryStatus, ItemStatus};
use crate::domain::exchange::{
    HttpRequest, HttpResponse, Pairs, Problem, SenderCheck, SenderChecks,
};
use crate::domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, HostId, KeyId, PartnerId, WorkspaceId,
};
use crate::domain::key::KeyRecord;
use crate::domain::lead::Action;
use crate::domain::phone::Phone;
use crate::domain::plugin::{Description, Digest, RanWith};
use crate::domain::row::{Entity, ExportRow};
use crate::domain::time::Micros;
use crate::domain::workspace::{Agent, AgentKind, Partner, Workspace};

/// Where a store is.
#[derive(Clone)]
pub enum Location {
    /// A SQLite file, made if it does not exist.
    File(PathBuf),
    /// A PostgreSQL database, and how many connections to it a host may have.
    Postgres { url: StoreUrl, connections: u32 },
}

impl Location {
    /// What the configuration says.
    pub fn of(config: &config::Store) -> Result<Self, StoreError> {
        let url = config.url.as_str();
        if url.is_empty() {
            return Ok(Self::File(config.data_dir.join(DATABASE_FILE)));
        }
        Self::parse(&config.url, config.connections)
    }

    /// `sqlite:///path` or `postgres://user@host/database`.
    pub fn parse(url: &StoreUrl, connections: u32) -> Result<Self, StoreError> {
        match url.as_str().split_once("://") {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::File(PathBuf::from(file))),
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres {
                url: url.clone(),
                connections,
            }),
            _ => Err(StoreError::Open(format!(
                "store.url is `{url}`: expected sqlite:///path/to/file or postgres://user:password@host/database, or nothing for a file in the data folder"
            ))),
        }
    }
}

const DATABASE_FILE: &str = "leadhost.db";

/// Opens the store, of which nothing was seen before. The one place that knows
/// which stores there are.
pub async fn open(location: &Location, clock: SharedClock) -> Result<Arc<dyn Store>, StoreError> {
    open_seen(location, clock, Seen::nothing()).await
}

/// Opens the store and compares it with what was seen of it last, which lies in
/// this folder: after a restore or a fail-over writing begins later.
pub async fn open_remembered(
    location: &Location,
    clock: SharedClock,
    folder: &Path,
) -> Result<Arc<dyn Store>, StoreError> {
    open_seen(location, clock, Seen::in_folder(folder)?).await
}

async fn open_seen(
    location: &Location,
    clock: SharedClock,
    seen: Arc<Seen>,
) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        Location::File(file) => Ok(SqliteStore::open_seen(file, clock, seen).await?),
        Location::Postgres { url, connections } => {
            postgres::open_seen(url.as_str(), *connections, clock, seen).await
        }
    }
}

/// What a backup copied.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The store's id.
    pub store: String,
    pub bytes: u64,
    /// How many there are of what people count.
    pub rows: Vec<(&'static str, u64)>,
    /// The newest stamp of any feed: exports up to it are in the copy.
    pub newest: Option<Micros>,
}

/// Copies a store of one file into a new file, whether it is served or not.
/// `progress` hears how many bytes of about how many are written.
pub async fn backup(
    file: &Path,
    to: &Path,
    progress: impl FnMut(u64, u64),
) -> Result<Backup, StoreError> {
    sqlite::backup::backup(file, to, progress).await
}

/// Why a verb gave nothing, split by what the caller does about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no room to write. Reads go on; tell the client 507.
    #[error("the store has no room left: free disk space where the data folder is")]
    Full,
    /// The store cannot be reached or is busy past its deadline. Tell the client 503.
    #[error("the store is not available: {0}")]
    Unavailable(#[source] sqlx::Error),
    /// The store is known to be lost, and is not even asked: who watches it has
    /// said so in the log. Tell the client 503.
    #[error("the store is not available: {0}")]
    Lost(String),
    /// As many writes wait as may. Tell the client 503.
    #[error("too many writes are waiting for the store: try again shortly")]
    Busy,
    /// Others changed the same rows each time it was tried; alone it may get
    /// through. Tell the client 503.
    #[error("others write the same rows all the time: try again shortly")]
    Contended,
    /// What was found cannot be: a defect, or a damaged file.
    #[error("the store holds something that cannot be: {what}")]
    Inconsistent { what: String },
    /// The store refused what no caller should send: a defect.
    #[error("a query failed: {0}")]
    Query(#[source] sqlx::Error),
    /// What was asked for contradicts what is stored, in words for the operator.
    #[error("{0}")]
    Refused(String),
    /// The store's file or schema cannot be used, and why.
    #[error("the store cannot be opened: {0}")]
    Open(String),
}

#[async_trait]
pub trait Store: Send + Sync + 'static {
    // ---- the store itself

    /// Made once when the store is created, carried along when it moves: cursors name it.
    fn id(&self) -> Uuid;

    /// Whether a read may see an older state than an earlier read did, as a
    /// replica's does. Where it may not, such a state was restored.
    fn may_lag(&self) -> bool {
        false
    }

    /// Answers when the store can be read.
    async fn ping(&self) -> Result<(), StoreError>;

    /// What waits and what failed, for metrics and for the intake's budget.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Removes what is past its retention, at most `limit` rows of each kind; the number removed.
    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError>;

    // ---- the way of a lead

    /// Commits all writes together, in order, or none. The answers are in the
    /// order of the writes. A settlement whose lease is no longer held answers
    /// [`Written::Stale`] and changes nothing; a delivery for a quarantine that
    /// is full answers [`Written::NotKept`].
    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError>;

    /// Takes due work: deliveries to convert and fetches to make, oldest first,
    /// at most `limit`, none of it held by another until `until`.
    async fn claim(&self, limit: u32, now: Micros, until: Micros) -> Result<Vec<Job>, StoreError>;

    /// Takes one delivery for a replay, in whatever state; `None` when it does
    /// not exist or somebody holds it.
    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError>;

    /// Takes the oldest failed and parked deliveries of a plugin's connections
    /// that were last tried with another digest than this one.
    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError>;

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError>;

    /// What sources answered to the settled fetches of a delivery, in the order
    /// in which they were settled, from past this number on (0: from the first),
    /// at most `limit`: bodies may be large. Kept for as long as the delivery.
    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError>;

    /// Newest first.
    async fn deliveries(&self, filter: &DeliveryFilter)
    -> Result<Vec<DeliverySummary>, StoreError>;

    // ---- what partners and data clients read

    /// Newest first, at most `limit`.
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<Vec<DealView>, StoreError>;

    /// Rows with `after < stamp <= upper` in stamp order. Without `upper` it is
    /// the clock's stamp in the same snapshot as the rows.
    async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;

    // ---- keys

    /// The key with this digest and what it opens, revoked and expired ones included.
    async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError>;
    async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError>;
    async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError>;
    /// False when there is no such live key.
    async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError>;
    /// Remembers when keys were last used.
    async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError>;

    // ---- what operators declare

    /// Makes the workspace as declared: creates and changes what is named,
    /// removes nothing. One transaction; rolled back at its end when `dry_run`,
    /// so that the answer says what would change.
    async fn apply(&self, plan: &Plan, now: Micros, dry_run: bool) -> Result<Applied, StoreError>;
    async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError>;
    async fn partners(&self, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError>;
    async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError>;
    async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError>;
    /// Of one workspace, or all; by name.
    async fn connections(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Connection>, StoreError>;
    /// Pauses a connection's fetches, or lets them go on.
    async fn pause_connection(
        &self,
        id: &ConnectionId,
        pause: Option<&Pause>,
    ) -> Result<(), StoreError>;

    // ---- plugins

    /// Keeps a component by its digest; a known one is left as it is.
    async fn put_plugin(&self, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError>;
    async fn plugin(&self, digest: &Digest) -> Result<Option<PluginRecord>, StoreError>;
    async fn plugin_wasm(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
    async fn plugins(&self) -> Result<Vec<PluginRecord>, StoreError>;
    async fn activations(&self) -> Result<Vec<Activation>, StoreError>;
    /// Makes a digest serve under its plugin's name; the generation grows by one.
    async fn activate(
        &self,
        name: &str,
        digest: &Digest,
        now: Micros,
    ) -> Result<Activation, StoreError>;
    /// Remembers that a file was refused; the newest 100 are kept.
    async fn note_refusal(&self, refusal: &Refusal) -> Result<(), StoreError>;
    async fn refusals(&self) -> Result<Vec<Refusal>, StoreError>;

    // ---- many hosts on one store; all times are the store's own

    /// Whether other hosts may work on the same store.
    fn is_shared(&self) -> bool {
        false
    }

    /// Set while the store is known not to answer.
    fn outage(&self) -> Option<Outage> {
        None
    }

    /// Of a store that has connections.
    fn pool(&self) -> Option<Pool> {
        None
    }

    /// What other hosts, and this one, announce from now on. Lagging behind
    /// counts as [`Announcement::Everything`].
    fn announcements(&self) -> broadcast::Receiver<Announcement>;

    /// Tells every host that something changed. For operators' acts only.
    async fn announce(&self, what: Announcement) -> Result<(), StoreError>;

    /// A sign of life, with what the host serves and prepared. Forgets hosts that
    /// are long dead.
    async fn beat(&self, beat: &Beat) -> Result<(), StoreError>;

    /// The host stops: it lets go of its jobs and proposals, and is forgotten.
    async fn leave(&self, host: HostId) -> Result<(), StoreError>;

    /// By name, then id.
    async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError>;

    /// Asks every host to prepare a stored version, for at most this long. `None`
    /// while another live host's proposal for the same name stands; its own last
    /// one gives way.
    async fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        seconds: u32,
    ) -> Result<Option<Proposal>, StoreError>;

    /// Those that stand, by name.
    async fn proposals(&self) -> Result<Vec<Proposal>, StoreError>;

    async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError>;

    /// What was proposed serves from now on, as after [`Store::activate`]; `None`
    /// when the proposal does not stand any more. It is announced.
    async fn flip(
        &self,
        proposal: &Proposal,
        now: Micros,
    ) -> Result<Option<Activation>, StoreError>;

    /// Takes a periodic job, or goes on holding it, for this long; `None` while
    /// another host holds it.
    async fn hold_job(
        &self,
        job: &str,
        by: HostId,
        seconds: u32,
    ) -> Result<Option<Fence>, StoreError>;

    /// Lets another host take the job at once.
    async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError>;

    /// The id of the key that secrets are sealed with. A store that is a file
    /// leaves that to the folder that it lies in: `None`.
    async fn sealing_key(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// From now on secrets are sealed with this key, if none is known yet or one
    /// of the older ones that this host has too. Answers the key that counts.
    async fn seal_with(&self, key: &str, _older: &[String]) -> Result<String, StoreError> {
        Ok(key.to_owned())
    }

    /// Charges a request to a workspace, over all hosts. A refused one costs nothing.
    async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        now: Micros,
    ) -> Result<Debt, StoreError>;
}

impl StoreError {
    /// Whether the store's own watch tells of it, so that nobody else need.
    pub fn is_told(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backlog {
    /// Deliveries waiting for conversion.
    pub queued: u64,
    /// Items waiting for a fetch.
    pub fetches: u64,
    pub failed: u64,
    pub parked: u64,
    pub quarantined: u64,
    pub oldest_waiting: Option<Micros>,
}

/// How long things are kept, in microseconds.
#[derive(Clone, Debug)]
pub struct Retention {
    /// Finished deliveries: bodies, headers, items, answers to their fetches.
    pub deliveries: i64,
    pub quarantine: i64,
}

// ---- writes

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
}

#[derive(Clone, Debug)]
pub enum Written {
    Done(DeliveryOutcome),
    /// Somebody else holds the work by now; nothing was changed.
    Stale,
    /// The connection's quarantine is full: the delivery was not kept.
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
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Acceptance {
    pub delivery: NewDelivery,
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
    pub contact_props: Map<String, Value>,
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

// ---- work

#[derive(Clone, Debug)]
pub enum Job {
    Convert(Box<HeldDelivery>),
    Fetch(Box<HeldFetch>),
}

#[derive(Clone, Debug)]
pub struct HeldDelivery {
    pub lease: Lease,
    pub status: DeliveryStatus,
    pub delivery: NewDelivery,
    /// What it was last tried with.
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
    /// Kept from an attempt that was cut off after the answer.
    pub response: Option<HttpResponse>,
    pub until: Micros,
}

// ---- reads

/// What a source answered to a fetch that is settled.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptAnswer {
    /// Grows in the order in which a delivery's fetches were settled.
    pub number: i64,
    /// The place of the item that the fetch was for.
    pub index: u32,
    pub hop: u32,
    pub external_id: Option<String>,
    pub request: HttpRequest,
    pub response: HttpResponse,
}

#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    pub workspace: Option<WorkspaceId>,
    pub connection: Option<ConnectionId>,
    pub status: Option<DeliveryStatus>,
    pub since: Option<Micros>,
    pub before: Option<DeliveryId>,
    pub limit: u32,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// Only deals that came through this partner's connections.
    pub partner: Option<PartnerId>,
    /// `domain::contact::phone_key`.
    pub phone_key: Option<String>,
    /// Normalised.
    pub email: Option<String>,
    pub deal: Option<DealId>,
    pub external_id: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ExportPage {
    pub rows: Vec<ExportRow>,
    /// Rows up to `upper` remain after these.
    pub more: bool,
    /// The bound that applied.
    pub upper: i64,
    /// The feed clock in the same snapshot: below a cursor's bound, the store is
    /// behind or was restored.
    pub clock: i64,
}

// ---- declarations

/// A workspace as an operator wants it, secrets already sealed.
#[derive(Clone, Debug)]
pub struct Plan {
    pub slug: String,
    pub name: String,
    pub region: String,
    pub time_zone: String,
    pub rate_limit: u32,
    pub partners: Vec<String>,
    pub agents: Vec<PlannedAgent>,
    pub owners: Vec<PlannedOwner>,
    pub connections: Vec<PlannedConnection>,
    pub products: Vec<PlannedProduct>,
}

#[derive(Clone, Debug)]
pub struct PlannedAgent {
    pub name: String,
    pub number: Option<String>,
    pub kind: AgentKind,
    pub channel: Option<String>,
    pub adapter: Option<String>,
    pub config: String,
    pub internal: bool,
}

#[derive(Clone, Debug)]
pub struct PlannedOwner {
    pub name: String,
    pub email: String,
}

#[derive(Clone, Debug)]
pub struct PlannedConnection {
    pub name: String,
    pub partner: String,
    pub plugin: String,
    pub config: String,
    /// Name of the agent.
    pub agent: Option<String>,
    pub allow: Vec<AllowedHost>,
    pub checks: Vec<SenderCheck>,
    pub routes: BTreeMap<String, Vec<String>>,
    pub secrets: Vec<String>,
    pub sealed: Vec<u8>,
    /// The same as the last time: configuration and secrets are left alone and the version stays.
    pub fingerprint: String,
    pub region: Option<String>,
    pub time_zone: Option<String>,
    pub dedupe_by_content: bool,
}

#[derive(Clone, Debug)]
pub struct PlannedProduct {
    pub external_id: String,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub workspace_id: WorkspaceId,
    pub changes: Vec<AppliedChange>,
    pub connections: BTreeMap<String, ConnectionId>,
    pub instances: BTreeMap<String, AgentId>,
    pub partners: BTreeMap<String, PartnerId>,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct AppliedChange {
    /// `workspace`, `partner`, `agent`, `owner`, `connection`, `product`.
    pub kind: String,
    pub name: String,
    /// `created` or `changed`; what stays is not listed.
    pub what: String,
}

// ---- plugins

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRecord {
    pub digest: Digest,
    pub description: Description,
    /// `leadhost:converter@1.0.0`.
    pub contract: String,
    pub bytes: u64,
    /// What it checks under the empty configuration: an activation that weakens this asks first.
    pub checks: SenderChecks,
    /// Golden cases that it carries and passed.
    pub golden: u32,
    /// `upload`, or the file that it came from.
    pub origin: String,
    pub stored_at: Micros,
}

#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    pub name: String,
    pub digest: Digest,
    /// What served before: ready for a rollback.
    pub previous: Option<Digest>,
    pub generation: i64,
    pub activated_at: Micros,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub origin: String,
    pub digest: Option<Digest>,
    pub reason: String,
    pub at: Micros,
}
