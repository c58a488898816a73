//! What the service remembers, behind one trait.
//!
//! The operations are the domain's, each atomic, shaped for batches: slices in,
//! vectors out, "not found" is `None`, `now` is an argument. What belongs to one
//! tenant is reached with a [`Scope`], which only a key that the store knows
//! gives. To add one: a method here, its statements and steps in a file of
//! `operations`, in `row` what its rows mean, a clause in the conformance suite.
//!
//! Two promises hold for every store. A stamp (`cursor_at`) becomes visible in
//! stamp order within its workspace and entity, and never twice. What `commit`
//! answered `Ok` survives a power cut.

mod analytics;
mod catalogue;
mod database;
mod deals;
pub mod decide;
mod desk;
mod erase;
mod error;
mod fleet;
mod gone;
mod messaging;
pub mod moving;
pub mod once;
mod operations;
mod parts;
mod plan;
mod plugin;
pub mod postgres;
mod read;
mod row;
mod schema;
mod scope;
mod seen;
mod sql;
pub mod sqlite;
mod turns;
mod waiting;
mod work;
mod write;
pub mod writer;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::broadcast;
use uuid::Uuid;

pub use analytics::*;
pub use catalogue::*;
pub use deals::*;
pub use desk::*;
pub use erase::*;
pub use error::{Cause, StoreError};
pub use fleet::{
    Announcement, Beat, Debt, Fence, HostReport, Outage, Pool, Preparation, Price, Proposal,
    SeenHost, Serves,
};
pub use messaging::*;
pub use plan::*;
pub use plugin::*;
pub use read::*;
pub use scope::{Caller, Scope};
pub use turns::{InHand, Turns};
pub use work::*;
pub use write::*;

use self::seen::Seen;
use self::sqlite::SqliteStore;
use crate::clock::SharedClock;
use crate::config::{self, StoreUrl};
use crate::domain::connection::{Connection, Pause};
use crate::domain::id::{
    ConnectionId, ContactId, DealId, DeliveryId, ErasureId, HostId, KeyId, ProductId, WorkspaceId,
};
use crate::domain::key::KeyRecord;
use crate::domain::plugin::Digest;
use crate::domain::row::Entity;
use crate::domain::ticket::TicketView;
use crate::domain::time::Micros;
use crate::domain::workspace::{Agent, Owner, Partner, Workspace};
use crate::limits;

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

#[async_trait]
pub trait Store: Analytics + Send + Sync + 'static {
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
    /// Commits next to nothing: whether the store can be written to.
    async fn try_write(&self) -> Result<(), StoreError>;

    /// What waits and what failed, for metrics and for the intake's budget.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// Deliveries that wait for conversion, failed ones included, by connection.
    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError>;

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
    /// [`Written::Stale`] and changes nothing. A delivery for a quarantine that is
    /// full evicts others, or answers [`Written::NotKept`].
    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError>;

    /// Takes due work: deliveries to convert, fetches and sends to make. Connections
    /// take turns, and of each the oldest comes first; none of it is held by another
    /// until `until`.
    async fn claim(
        &self,
        turns: &Turns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError>;

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

    // ---- messages

    /// An instance's templates; `None` when its provider was never asked.
    async fn templates(&self, channel: &Connection) -> Result<Option<TemplateList>, StoreError>;

    /// Keeps what the provider listed instead of what was kept before.
    async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError>;

    /// Conversations for which time has passed: unanswered, or idle; longest first.
    async fn conversations_due(&self, now: Micros, limit: u32) -> Result<Vec<Elapse>, StoreError>;

    /// For operators; newest first.
    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError>;

    // ---- what partners and data clients read

    /// Newest first, at most `limit`, and fewer where they are long.
    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError>;

    /// A deal's history and notes; `None` when there is no such deal in the workspace.
    async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError>;

    /// Newest first.
    async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError>;

    // ---- products

    /// Changes of products with a stamp past this one, at most `limit`, in stamp order.
    async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError>;

    /// Those that are there, in no order.
    async fn products(&self, scope: &Scope, ids: &[ProductId]) -> Result<Vec<Product>, StoreError>;

    /// Makes and changes products by their external ids, and marks them as seen by
    /// this import. What was made or changed is stamped; what this import has named
    /// before is left alone. At most `limits::IMPORT_ROWS` at once; of an external id
    /// that comes twice among them the last counts.
    async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError>;

    /// Removes what this import has not seen among the next `limit` products, in
    /// stamp order; the first step begins after 0. A removal is told by a tombstone.
    async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError>;

    /// Removes those that are there of what is named, at most
    /// `limits::REMOVED_PRODUCTS`; how many.
    async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError>;

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

    /// The ids of such rows alone: what is there, without what it is.
    async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;

    /// Rows of the report with `after < stamp <= upper` in stamp order, as
    /// [`Store::export`] gives those of an entity.
    async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError>;

    // ---- what is removed for good

    /// Removes a deal with its history and notes; what was about it is about none from
    /// then on. False: there is none.
    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError>;

    /// Takes a contact away whose last deal moved to another one, which gets its keys.
    /// False: something belongs to it still, a person edited it, or it wants no messages.
    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
    ) -> Result<bool, StoreError>;

    /// Whom an operator means; `None`: nobody, or nobody of whom anything is known.
    async fn person(
        &self,
        workspace: WorkspaceId,
        by: &PersonBy,
    ) -> Result<Option<Person>, StoreError>;

    /// What erasing a person would remove, as far as it can be counted.
    async fn count_person(&self, person: &Person) -> Result<Erased, StoreError>;

    /// The record of this erasure, or of the one of the same contact that did not end.
    async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError>;

    /// The next step of an erasure: a bounded transaction. It is done when there was
    /// nothing left to do.
    async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError>;

    /// The next deliveries of a workspace that led to no contact, or in part to
    /// others than this one, by their ids.
    async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError>;

    /// The deliveries that erasures of this contact left and that still stand: they
    /// are there, something of them led to no contact, and they were not emptied.
    async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError>;

    /// Removes whole deliveries, in whatever state, as part of an erasure; those that
    /// are finished and led to somebody are emptied instead.
    async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError>;

    /// Newest first. What they left is told as it stands now.
    async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError>;

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
    async fn owners(&self, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError>;
    async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError>;
    /// Which connections there are, over all workspaces.
    async fn connection_ids(&self) -> Result<HashSet<ConnectionId>, StoreError>;
    /// Of one workspace, or all, sources and channels; by name.
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

    /// Writes of one connection in one commit while others write too.
    fn writes_of_one(&self) -> usize {
        if self.is_shared() {
            limits::WRITES_OF_ONE
        } else {
            limits::WRITES_OF_ONE_ALONE
        }
    }

    /// Set while the store is known not to answer.
    fn outage(&self) -> Option<Outage> {
        None
    }

    /// Returns when the store is known not to answer, with how a verb hears of it.
    async fn lost(&self) -> StoreError {
        std::future::pending().await
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
