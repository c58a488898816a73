//! The store on PostgreSQL: many hosts on one database.
//!
//! Every verb is a function in the file of its area, with its SQL as constants
//! above it; this file is the list, and gives every verb its deadline. What
//! belongs to a tenant is touched in a transaction that names its workspaces
//! ([`db::Rows`]); what stands in no tenant's table is asked without one.

mod analytics;
mod claim;
pub(super) mod columns;
mod commit;
mod db;
mod deliveries;
mod erase;
pub(super) mod error;
mod export;
mod fleet;
mod load;
mod messages;
mod open;
mod outcome;
mod rate;
pub(super) mod reach;
mod remove;
pub(super) mod run;
mod save;
mod server;
mod stamp;
mod sweep;
mod tombstones;
mod workspaces;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

pub(super) use self::db::{Db, Rows, Transaction};
use super::database::Database;
use super::operations::{
    self, agents, answers, connections, deals, desk, keys, plugins, templates,
};
use super::seen::Seen;
use super::sql::Dialect;
use super::*;
use crate::clock::SharedClock;

/// Opens the store in the database of this URL, and makes what is missing there.
/// It has at most this many connections to it.
pub async fn open(
    url: &str,
    connections: u32,
    clock: SharedClock,
) -> Result<Arc<dyn Store>, StoreError> {
    open_seen(url, connections, clock, Seen::nothing()).await
}

/// Opens it and compares it with what was seen of it last.
pub(super) async fn open_seen(
    url: &str,
    connections: u32,
    clock: SharedClock,
    seen: Arc<Seen>,
) -> Result<Arc<dyn Store>, StoreError> {
    let db = Arc::new(Db::new(url, connections, Arc::clone(&seen))?);
    let id = open::prepare(&db, clock.as_ref()).await?;
    let (sight, recorded) = open::look(&db, id).await?;
    seen.meets(sight, recorded.as_deref(), clock.now());
    tokio::spawn(open::keep_noting(Arc::downgrade(&db)));
    db.reach().watch(db.options());
    let database = Database::Postgres(Arc::clone(&db));
    Ok(Arc::new(PostgresStore {
        database,
        db,
        clock,
        id,
    }))
}

/// A connection as the owner of the tables, whose schema is up to date. Others
/// wait with opening the store until it is closed, or [`let_others_open`].
pub(super) async fn owner(url: &str) -> Result<sqlx::postgres::PgConnection, StoreError> {
    open::bring_up_to_date(&Db::new(url, 1, Seen::nothing())?).await
}

pub(super) use self::db::SCHEMA;
pub(super) use self::open::let_others_open;

pub struct PostgresStore {
    database: Database,
    db: Arc<Db>,
    clock: SharedClock,
    id: Uuid,
}

const PING: &str = "select 1";

// A mark of no batch; marks are swept.
const TRY_WRITE: &str = "insert into commit_markers (batch_id) values ($1)";

#[doc(hidden)]
pub use db::HELLO;

/// Every statement by its area: for tests, which try them where a server is.
#[doc(hidden)]
pub fn statements() -> Vec<(&'static str, &'static str)> {
    let own = STATEMENTS
        .iter()
        .flat_map(|(area, statements)| statements.iter().map(|sql| (*area, *sql)));
    own.chain(operations::statements(Dialect::Postgres))
        .collect()
}

const STATEMENTS: &[(&str, &[&str])] = &[
    ("analytics", analytics::builds::SQL),
    ("analytics", analytics::cells::SQL),
    ("analytics", analytics::clear::SQL),
    ("analytics", analytics::cubes::SQL),
    ("analytics", analytics::run::SQL),
    ("analytics", analytics::status::SQL),
    ("analytics", analytics::step::SQL),
    ("claim", claim::SQL),
    ("deliveries", deliveries::SQL),
    ("erase", erase::SQL[0]),
    ("erase", erase::SQL[1]),
    ("erase", erase::SQL[2]),
    ("erase", erase::SQL[3]),
    ("erase", erase::SQL[4]),
    ("export", export::SQL),
    ("fleet", fleet::SQL),
    ("load", load::SQL),
    ("load", load::desk::SQL),
    ("load", load::leads::SQL),
    ("load", load::dialogue::SQL),
    ("messages", messages::SQL),
    ("open", open::SQL),
    ("outcome", outcome::SQL),
    ("rate", rate::SQL),
    ("reach", reach::SQL),
    ("remove", remove::SQL),
    ("save", save::new::SQL),
    ("save", save::changes::SQL),
    ("save", save::deals::SQL),
    ("save", save::dialogue::SQL),
    ("save", save::queue::SQL),
    ("server", server::SQL),
    ("stamp", stamp::SQL),
    ("stamp", stamp::desk::SQL),
    ("stamp", stamp::people::SQL),
    ("stamp", stamp::dialogue::SQL),
    ("sweep", sweep::SQL),
    ("tombstones", tombstones::SQL),
    ("workspaces", workspaces::SQL),
];

impl PostgresStore {
    async fn within<T>(
        &self,
        verb: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        database::within(self.db.reach(), verb).await
    }

    async fn aside<T>(
        &self,
        verb: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        database::aside(self.db.reach(), verb).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn id(&self) -> Uuid {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let answered = async {
            sqlx::query(PING).execute(self.db.aside()).await?;
            Ok(())
        };
        self.aside(answered).await
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        let written = async {
            sqlx::query(TRY_WRITE)
                .bind(crate::domain::id::uuid_at(self.clock.now()))
                .execute(self.db.aside())
                .await?;
            Ok(())
        };
        self.aside(written).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.within(deliveries::backlog(&self.db)).await
    }

    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError> {
        self.within(deliveries::waiting(&self.db)).await
    }

    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        self.within(sweep::sweep(&self.db, retention, now, limit))
            .await
    }

    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
        // It minds its time itself, so that its outcome is found out also when the
        // database is lost, and is not counted: those who wait for it are.
        let reach = self.db.reach();
        reach.is_there()?;
        let commit = commit::commit(&self.db, self.clock.as_ref(), writes);
        database::looked_into(reach, commit.await)
    }

    async fn claim(
        &self,
        turns: &Turns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError> {
        self.within(claim::due(&self.db, turns, now, until)).await
    }

    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError> {
        self.within(claim::one(&self.db, id, now, until)).await
    }

    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        self.within(claim::failed(&self.db, plugin, not_with, limit, now, until))
            .await
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
        self.within(deliveries::one(&self.db, id)).await
    }

    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError> {
        answers::list(&self.database, delivery, after, limit).await
    }

    async fn deliveries(
        &self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliverySummary>, StoreError> {
        self.within(deliveries::list(&self.db, filter)).await
    }

    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<DealPage, StoreError> {
        deals::find(&self.database, scope, filter.clone(), limit).await
    }

    async fn deal_past(
        &self,
        workspace: WorkspaceId,
        deal: DealId,
        limit: u32,
    ) -> Result<Option<DealPast>, StoreError> {
        deals::past(&self.database, workspace, deal, limit).await
    }

    async fn tickets(
        &self,
        scope: &Scope,
        filter: &TicketFilter,
    ) -> Result<Vec<TicketView>, StoreError> {
        desk::find(&self.database, scope, filter.clone()).await
    }

    async fn product_changes(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: u32,
    ) -> Result<ProductChanges, StoreError> {
        operations::products::changes(&self.database, workspace, after, limit).await
    }

    async fn products(&self, scope: &Scope, ids: &[ProductId]) -> Result<Vec<Product>, StoreError> {
        operations::products::by_ids(&self.database, scope, ids).await
    }

    async fn import_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        products: &[PlannedProduct],
    ) -> Result<Imported, StoreError> {
        let now = self.clock.now();
        let planned = products.to_vec();
        operations::products::import(&self.database, workspace, import, planned, now).await
    }

    async fn remove_unseen_products(
        &self,
        workspace: WorkspaceId,
        import: ImportId,
        after: i64,
        limit: u32,
    ) -> Result<Removed, StoreError> {
        operations::products::remove_unseen(&self.database, workspace, import, after, limit).await
    }

    async fn owners(&self, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError> {
        agents::owners(&self.database, workspace).await
    }

    async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        self.within(export::page(&self.db, scope, entity, after, upper, limit))
            .await
    }

    async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        self.within(export::ids(&self.db, scope, entity, after, upper, limit))
            .await
    }

    async fn templates(&self, channel: &Connection) -> Result<Option<TemplateList>, StoreError> {
        templates::one(&self.database, channel.id.clone(), channel.workspace).await
    }

    async fn put_templates(
        &self,
        channel: &Connection,
        list: &TemplateList,
    ) -> Result<(), StoreError> {
        templates::put(
            &self.database,
            channel.id.clone(),
            channel.workspace,
            list.clone(),
        )
        .await
    }

    async fn conversations_due(&self, now: Micros, limit: u32) -> Result<Vec<Elapse>, StoreError> {
        self.within(messages::conversations_due(&self.db, now, limit))
            .await
    }

    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
        self.within(messages::outbox(&self.db, filter)).await
    }

    async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        self.within(export::errors(&self.db, scope, filter, after, upper, limit))
            .await
    }

    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError> {
        self.within(remove::deal(&self.db, self.clock.as_ref(), workspace, deal))
            .await
    }

    async fn merge_contact(
        &self,
        workspace: WorkspaceId,
        from: ContactId,
        into: ContactId,
    ) -> Result<bool, StoreError> {
        operations::merge::contact(&self.database, workspace, from, into).await
    }

    async fn remove_products(
        &self,
        workspace: WorkspaceId,
        external_ids: &[String],
    ) -> Result<u64, StoreError> {
        let named = external_ids.to_vec();
        operations::products::remove_named(&self.database, workspace, named).await
    }

    async fn person(
        &self,
        workspace: WorkspaceId,
        by: &PersonBy,
    ) -> Result<Option<Person>, StoreError> {
        self.within(erase::person(&self.db, workspace, by)).await
    }

    async fn count_person(&self, person: &Person) -> Result<Erased, StoreError> {
        self.within(erase::count(&self.db, person)).await
    }

    async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError> {
        self.within(erase::begin(&self.db, new)).await
    }

    async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError> {
        self.within(erase::step(
            &self.db,
            self.clock.as_ref(),
            person,
            erasure,
            extent,
        ))
        .await
    }

    async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError> {
        self.within(erase::unlinked(&self.db, workspace, contact, after))
            .await
    }

    async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError> {
        self.within(erase::left(&self.db, workspace, contact)).await
    }

    async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError> {
        self.within(erase::deliveries(&self.db, workspace, erasure, ids))
            .await
    }

    async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
        self.within(erase::list(&self.db, filter)).await
    }

    async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
        keys::authenticate(&self.database, *digest).await
    }

    async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError> {
        keys::create(&self.database, key.clone(), *digest).await
    }

    async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
        keys::list(&self.database, workspace).await
    }

    async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError> {
        keys::revoke(&self.database, id, now).await
    }

    async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
        keys::touch(&self.database, used).await
    }

    async fn apply(&self, plan: &Plan, now: Micros, dry_run: bool) -> Result<Applied, StoreError> {
        operations::apply::apply(&self.database, plan.clone(), now, dry_run).await
    }

    async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        agents::workspaces(&self.database).await
    }

    async fn partners(&self, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
        agents::partners(&self.database, workspace).await
    }

    async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
        agents::agents(&self.database, workspace).await
    }

    async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
        connections::one(&self.database, id.clone()).await
    }

    async fn connection_ids(&self) -> Result<HashSet<ConnectionId>, StoreError> {
        connections::ids(&self.database).await
    }

    async fn connections(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Connection>, StoreError> {
        connections::list(&self.database, workspace).await
    }

    async fn pause_connection(
        &self,
        id: &ConnectionId,
        pause: Option<&Pause>,
    ) -> Result<(), StoreError> {
        connections::pause(&self.database, id.clone(), pause.cloned()).await
    }

    async fn put_plugin(&self, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError> {
        plugins::put(&self.database, plugin.clone(), wasm.to_vec()).await
    }

    async fn plugin(&self, digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
        plugins::one(&self.database, digest.clone()).await
    }

    async fn plugin_wasm(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        plugins::wasm(&self.database, digest.clone()).await
    }

    async fn plugins(&self) -> Result<Vec<PluginRecord>, StoreError> {
        plugins::list(&self.database).await
    }

    async fn activations(&self) -> Result<Vec<Activation>, StoreError> {
        plugins::activations(&self.database).await
    }

    async fn activate(
        &self,
        name: &str,
        digest: &Digest,
        now: Micros,
    ) -> Result<Activation, StoreError> {
        plugins::activate(&self.database, name.to_owned(), digest.clone(), now).await
    }

    async fn note_refusal(&self, refusal: &Refusal) -> Result<(), StoreError> {
        plugins::note_refusal(&self.database, refusal.clone()).await
    }

    async fn refusals(&self) -> Result<Vec<Refusal>, StoreError> {
        plugins::refusals(&self.database).await
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn outage(&self) -> Option<Outage> {
        self.db.reach().outage()
    }

    async fn lost(&self) -> StoreError {
        self.db.reach().lost().await
    }

    fn pool(&self) -> Option<Pool> {
        Some(self.db.use_of_pool())
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.db.reach().announcements()
    }

    async fn announce(&self, what: Announcement) -> Result<(), StoreError> {
        self.aside(fleet::announce(&self.db, what)).await
    }

    async fn beat(&self, beat: &Beat) -> Result<(), StoreError> {
        self.aside(fleet::beat(&self.db, beat)).await
    }

    async fn leave(&self, host: HostId) -> Result<(), StoreError> {
        self.aside(fleet::leave(&self.db, host)).await
    }

    async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError> {
        self.aside(fleet::hosts(&self.db)).await
    }

    async fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        seconds: u32,
    ) -> Result<Option<Proposal>, StoreError> {
        self.aside(fleet::propose(&self.db, by, name, digest, seconds))
            .await
    }

    async fn proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        self.aside(fleet::proposals(&self.db)).await
    }

    async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.aside(fleet::withdraw(&self.db, proposal)).await
    }

    async fn flip(
        &self,
        proposal: &Proposal,
        now: Micros,
    ) -> Result<Option<Activation>, StoreError> {
        self.aside(fleet::flip(&self.db, proposal, now)).await
    }

    async fn hold_job(
        &self,
        job: &str,
        by: HostId,
        seconds: u32,
    ) -> Result<Option<Fence>, StoreError> {
        self.aside(fleet::hold_job(&self.db, job, by, seconds))
            .await
    }

    async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError> {
        self.aside(fleet::leave_job(&self.db, job, by)).await
    }

    async fn sealing_key(&self) -> Result<Option<String>, StoreError> {
        self.aside(fleet::sealing_key(&self.db)).await
    }

    async fn seal_with(&self, key: &str, older: &[String]) -> Result<String, StoreError> {
        self.aside(fleet::seal_with(&self.db, key, older)).await
    }

    async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        _now: Micros,
    ) -> Result<Debt, StoreError> {
        self.within(rate::pay(&self.db, workspace, price)).await
    }
}
