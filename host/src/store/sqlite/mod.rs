//! The store on SQLite: one file, one process, one connection that writes.
//!
//! Every verb is a function in the file of its area, with its SQL as constants
//! above it; this file is the list. Write verbs hold the file's write lock from
//! their first statement; reads run beside them on connections of their own,
//! each on one snapshot.

mod analytics;
pub(super) mod backup;
mod claim;
mod columns;
mod commit;
mod db;
mod deliveries;
mod erase;
pub(super) mod error;
mod export;
mod fleet;
mod listed;
mod load;
mod messages;
mod open;
mod remove;
pub(super) mod run;
mod save;
mod stamp;
mod sweep;
pub(super) mod threads;
mod tombstones;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Row as _;
use uuid::Uuid;

pub(super) use self::db::Db;
use super::database::Database;
use super::operations::{
    self, agents, answers, connections, deals, desk, keys, plugins, templates,
};
use super::row::json;
use super::seen::{Seen, Sight};
use super::*;
use crate::clock::{SharedClock, SystemClock};
use crate::limits;

/// Opens the store in this file, made if it does not exist. Beside it lie its
/// log and a lock file by which a second process is refused.
pub async fn open(path: &Path, clock: SharedClock) -> Result<Arc<dyn Store>, StoreError> {
    Ok(SqliteStore::open(path, clock).await?)
}

/// The file for somebody who reads all of it, with nobody else on it: its lock,
/// its store's id, a connection. The schema is brought up to date.
pub(super) async fn alone(
    path: &Path,
    clock: &dyn crate::clock::Clock,
) -> Result<(File, Uuid, sqlx::sqlite::SqliteConnection), StoreError> {
    let lock = open::lock(path)?;
    open::refuse_foreign_log(path)?;
    // Nothing runs on its threads, which would ask the clock.
    let db = Db::open(path, Arc::new(SystemClock), Seen::nothing()).await?;
    let id = open::prepare(&db, clock).await?;
    Ok((lock, id, db.another().await?))
}

pub(super) use self::open::leave;

pub struct SqliteStore {
    database: Database,
    db: Arc<Db>,
    clock: SharedClock,
    id: Uuid,
    alone: fleet::Alone,
    /// Nobody else is there: what is announced is heard here.
    announced: broadcast::Sender<Announcement>,
    seen: Arc<Seen>,
    _lock: File,
}

const PING: &str = "select one from store";

// A lease's number that nobody gets: pages that do not change are not written.
const TRY_WRITE: &str = "update store set last_lease = last_lease + 1";

impl SqliteStore {
    pub async fn open(path: &Path, clock: SharedClock) -> Result<Arc<Self>, StoreError> {
        Self::open_seen(path, clock, Seen::nothing()).await
    }

    pub(super) async fn open_seen(
        path: &Path,
        clock: SharedClock,
        seen: Arc<Seen>,
    ) -> Result<Arc<Self>, StoreError> {
        let lock = open::lock(path)?;
        open::refuse_foreign_log(path)?;
        open::refuse_moved(path)?;
        let db = Arc::new(Db::open(path, Arc::clone(&clock), Arc::clone(&seen)).await?);
        let id = open::prepare(&db, clock.as_ref()).await?;
        let sight = Sight {
            store: id,
            server: String::new(),
            newest: open::newest(&db).await?,
        };
        seen.meets(sight, None, clock.now());
        tokio::spawn(open::keep_noting(Arc::downgrade(&db), Arc::clone(&seen)));
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        tokio::spawn(open::checkpoint(Arc::downgrade(&db), log.into()));
        Ok(Arc::new(Self {
            database: Database::Sqlite(Arc::clone(&db)),
            db,
            clock,
            id,
            alone: fleet::Alone::default(),
            announced: broadcast::Sender::new(limits::ANNOUNCEMENTS_WAITING),
            seen,
            _lock: lock,
        }))
    }

    /// Bounds the file to this many pages, as a full disk would; 0 lifts the
    /// bound. For tests of a full disk.
    pub async fn limit_pages(&self, pages: u32) {
        self.db.limit_pages(pages).await;
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn id(&self) -> Uuid {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let row = sqlx::query(PING).fetch_one(self.db.readers()).await?;
        let _: i64 = row.try_get(0)?;
        Ok(())
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        let mut transaction = self.db.begin().await?;
        sqlx::query(TRY_WRITE)
            .execute(&mut transaction.connection)
            .await?;
        transaction.commit().await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        deliveries::backlog(&self.db).await
    }

    async fn waiting(&self) -> Result<HashMap<ConnectionId, u64>, StoreError> {
        deliveries::waiting(&self.db).await
    }

    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        sweep::sweep(&self.db, retention, now, limit).await
    }

    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
        self.seen.opens().await;
        commit::commit(&self.db, self.clock.as_ref(), writes).await
    }

    async fn claim(
        &self,
        turns: &Turns,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<Job>, StoreError> {
        claim::due(&self.db, turns, now, until).await
    }

    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError> {
        claim::one(&self.db, id, now, until).await
    }

    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        claim::failed(&self.db, plugin, not_with, limit, now, until).await
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
        deliveries::one(&self.db, id).await
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
        deliveries::list(&self.db, filter).await
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
        export::page(&self.db, scope, entity, after, upper, limit).await
    }

    async fn export_ids(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        export::ids(&self.db, scope, entity, after, upper, limit).await
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
        messages::conversations_due(&self.db, now, limit).await
    }

    async fn outbox(&self, filter: &OutboxFilter) -> Result<Vec<OutboxMessage>, StoreError> {
        messages::outbox(&self.db, filter).await
    }

    async fn message_errors(
        &self,
        scope: &Scope,
        filter: &MessageErrorFilter,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        export::message_errors(&self.db, scope, filter, after, upper, limit).await
    }

    async fn remove_deal(&self, workspace: WorkspaceId, deal: DealId) -> Result<bool, StoreError> {
        self.seen.opens().await;
        remove::deal(&self.db, self.clock.as_ref(), workspace, deal).await
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
        erase::person(&self.db, workspace, by).await
    }

    async fn count_person(&self, person: &Person) -> Result<Erased, StoreError> {
        erase::count(&self.db, person).await
    }

    async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError> {
        erase::begin(&self.db, new).await
    }

    async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError> {
        self.seen.opens().await;
        erase::step(&self.db, self.clock.as_ref(), person, erasure, extent).await
    }

    async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError> {
        erase::unlinked(&self.db, workspace, contact, after).await
    }

    async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError> {
        erase::left(&self.db, workspace, contact).await
    }

    async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError> {
        erase::deliveries(&self.db, workspace, erasure, ids).await
    }

    async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
        erase::list(&self.db, filter).await
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

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announced.subscribe()
    }

    async fn announce(&self, what: Announcement) -> Result<(), StoreError> {
        // Nobody may be listening.
        let _ = self.announced.send(what);
        Ok(())
    }

    async fn beat(&self, beat: &Beat) -> Result<(), StoreError> {
        self.alone.beat(beat, self.clock.now());
        Ok(())
    }

    async fn leave(&self, host: HostId) -> Result<(), StoreError> {
        self.alone.leave(host);
        Ok(())
    }

    async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError> {
        Ok(self.alone.hosts(self.clock.now()))
    }

    async fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        seconds: u32,
    ) -> Result<Option<Proposal>, StoreError> {
        let now = self.clock.now();
        Ok(self.alone.propose(by, name, digest, seconds, now))
    }

    async fn proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        Ok(self.alone.proposals(self.clock.now()))
    }

    async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError> {
        self.alone.withdraw(proposal, self.clock.now());
        Ok(())
    }

    async fn flip(
        &self,
        proposal: &Proposal,
        now: Micros,
    ) -> Result<Option<Activation>, StoreError> {
        let activation = fleet::flip(&self.database, &self.alone, proposal, now).await?;
        if activation.is_some() {
            self.announce(Announcement::Plugins).await?;
        }
        Ok(activation)
    }

    async fn hold_job(
        &self,
        job: &str,
        by: HostId,
        seconds: u32,
    ) -> Result<Option<Fence>, StoreError> {
        Ok(self.alone.hold_job(job, by, seconds, self.clock.now()))
    }

    async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError> {
        self.alone.leave_job(job, by);
        Ok(())
    }

    async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        now: Micros,
    ) -> Result<Debt, StoreError> {
        Ok(self.alone.pay(workspace, price, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::Dialect;

    #[tokio::test]
    async fn every_sql_text_prepares_against_the_schema() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("t.db"), Arc::new(SystemClock))
            .await
            .expect("a new store opens");
        let connection = store.db.connection().expect("it opens again");
        let all = [
            &[PING, TRY_WRITE][..],
            &analytics::sql(),
            backup::SQL,
            claim::SQL,
            deliveries::SQL,
            &erase::sql(),
            export::SQL,
            &load::sql(),
            messages::SQL,
            open::SQL,
            remove::SQL,
            &save::sql(),
            stamp::SQL,
            sweep::SQL,
            tombstones::SQL,
        ];
        let of_operations = operations::statements(Dialect::Sqlite).map(|(_, sql)| sql);
        for sql in all.concat().into_iter().chain(of_operations) {
            let prepared = connection.prepare(sql);
            assert!(prepared.is_ok(), "{sql}\n{:?}", prepared.err());
        }
    }

    /// A table that grows is never read from end to end: what is asked for
    /// leads, and an index answers.
    #[tokio::test]
    async fn no_query_on_a_leads_way_reads_a_whole_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("t.db"), Arc::new(SystemClock))
            .await
            .expect("a new store opens");
        let connection = store.db.connection().expect("it opens again");
        // Workspaces, their builds, and what few rows hang on each of these.
        let small = [
            "connections",
            "store",
            "CONSTANT ROW",
            "rollup_builds",
            "rollup_cubes",
            "rollup_zones",
        ];
        let listed = [
            "json_each",
            "jsonb_each",
            "wanted",
            "used",
            "w",
            "b",
            "one",
            "found",
            "own",
            "page",
            "clock",
            "waiting",
            "sizes",
            "totals",
            "seen",
            "each",
            "made",
            "gone",
            "fits",
        ];
        let all = [
            &analytics::sql(),
            claim::SQL,
            &erase::sql(),
            export::SQL,
            &load::sql(),
            messages::SQL,
            remove::SQL,
            &save::sql(),
            stamp::SQL,
            sweep::SQL,
            tombstones::SQL,
        ];
        let of_operations = operations::statements(Dialect::Sqlite).map(|(_, sql)| sql);
        let grows = of_operations.filter(|sql| !operations::is_of_few(sql));
        for sql in all.concat().into_iter().chain(grows) {
            let explain = format!("explain query plan {sql}");
            let mut plan = connection.prepare(&explain).expect("it prepares");
            let mut rows = plan.raw_query();
            while let Some(row) = rows.next().expect("it explains") {
                let detail: String = row.get("detail").expect("text");
                let scanned = detail.strip_prefix("SCAN ");
                let table = scanned.and_then(|rest| rest.split(' ').next());
                let fine = table.is_none_or(|table| {
                    // A list within the query: what it reads has a line of its own.
                    table.starts_with("(subquery-")
                        || listed.contains(&table)
                        || small.iter().any(|small| small.starts_with(table))
                });
                assert!(fine, "{detail}\n{sql}");
            }
        }
    }

    #[tokio::test]
    async fn a_commit_is_synced_before_it_is_answered() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("t.db"), Arc::new(SystemClock))
            .await
            .expect("a new store opens");
        let mut transaction = store.db.begin().await.expect("it can be written");
        for (pragma, expect) in [
            ("pragma synchronous", "2"),
            ("pragma journal_mode", "wal"),
            ("pragma foreign_keys", "1"),
            ("pragma wal_autocheckpoint", "0"),
        ] {
            let row = sqlx::query(pragma)
                .fetch_one(&mut transaction.connection)
                .await
                .expect(pragma);
            let found = row
                .try_get::<i64, _>(0)
                .map(|number| number.to_string())
                .or_else(|_| row.try_get::<String, _>(0))
                .expect(pragma);
            assert_eq!(found, expect, "{pragma}");
        }
    }
}
