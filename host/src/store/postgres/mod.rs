//! The store on PostgreSQL: many hosts on one database.
//!
//! Every verb is a function in the file of its area, with its SQL as constants
//! above it; this file is the list, and gives every verb its deadline. What
//! belongs to a tenant is touched in a transaction that names its workspaces
//! ([`db::Rows`]); what stands in no tenant's table is asked without one.

mod agents;
mod answers;
mod apply;
mod claim;
mod columns;
mod commit;
mod connections;
mod db;
mod deals;
mod deliveries;
pub(super) mod error;
mod export;
mod keys;
mod load;
mod open;
mod plugins;
mod save;
mod stamp;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use self::db::Db;
use super::*;
use crate::clock::SharedClock;
use crate::limits;

/// Opens the store in the database of this URL, and makes what is missing there.
/// It has at most this many connections to it.
pub async fn open(
    url: &str,
    connections: u32,
    clock: SharedClock,
) -> Result<Arc<dyn Store>, StoreError> {
    let db = Db::new(url, connections)?;
    let id = open::prepare(&db, clock.as_ref()).await?;
    Ok(Arc::new(PostgresStore { db, clock, id }))
}

pub struct PostgresStore {
    db: Db,
    clock: SharedClock,
    id: Uuid,
}

const PING: &str = "select 1";

/// A verb that does not answer in time is given up, and its connection with it.
async fn within<T>(verb: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let time = Duration::from_secs(limits::STORE_SECONDS);
    match tokio::time::timeout(time, verb).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::Unavailable(sqlx::Error::Io(
            std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("the database did not answer within {} s", time.as_secs()),
            ),
        ))),
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn id(&self) -> Uuid {
        self.id
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let answered = async {
            sqlx::query(PING).execute(self.db.pool()).await?;
            Ok(())
        };
        within(answered).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        within(deliveries::backlog(&self.db)).await
    }

    async fn sweep(
        &self,
        retention: &Retention,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        within(sweep::sweep(&self.db, retention, now, limit)).await
    }

    async fn commit(&self, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
        within(commit::commit(&self.db, self.clock.as_ref(), writes)).await
    }

    async fn claim(&self, limit: u32, now: Micros, until: Micros) -> Result<Vec<Job>, StoreError> {
        within(claim::due(&self.db, limit, now, until)).await
    }

    async fn claim_delivery(
        &self,
        id: DeliveryId,
        now: Micros,
        until: Micros,
    ) -> Result<Option<HeldDelivery>, StoreError> {
        within(claim::one(&self.db, id, now, until)).await
    }

    async fn claim_failed(
        &self,
        plugin: &str,
        not_with: &Digest,
        limit: u32,
        now: Micros,
        until: Micros,
    ) -> Result<Vec<HeldDelivery>, StoreError> {
        within(claim::failed(&self.db, plugin, not_with, limit, now, until)).await
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryDetail>, StoreError> {
        within(deliveries::one(&self.db, id)).await
    }

    async fn answers(
        &self,
        delivery: DeliveryId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<KeptAnswer>, StoreError> {
        within(answers::list(&self.db, delivery, after, limit)).await
    }

    async fn deliveries(
        &self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<DeliverySummary>, StoreError> {
        within(deliveries::list(&self.db, filter)).await
    }

    async fn deals(
        &self,
        scope: &Scope,
        filter: &DealFilter,
        limit: u32,
    ) -> Result<Vec<DealView>, StoreError> {
        within(deals::find(&self.db, scope, filter, limit)).await
    }

    async fn export(
        &self,
        scope: &Scope,
        entity: Entity,
        after: i64,
        upper: Option<i64>,
        limit: u32,
    ) -> Result<ExportPage, StoreError> {
        within(export::page(&self.db, scope, entity, after, upper, limit)).await
    }

    async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError> {
        within(keys::authenticate(&self.db, digest)).await
    }

    async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError> {
        within(keys::create(&self.db, key, digest)).await
    }

    async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError> {
        within(keys::list(&self.db, workspace)).await
    }

    async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError> {
        within(keys::revoke(&self.db, id, now)).await
    }

    async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError> {
        within(keys::touch(&self.db, used)).await
    }

    async fn apply(&self, plan: &Plan, now: Micros, dry_run: bool) -> Result<Applied, StoreError> {
        within(apply::apply(&self.db, plan, now, dry_run)).await
    }

    async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        within(agents::workspaces(&self.db)).await
    }

    async fn partners(&self, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError> {
        within(agents::partners(&self.db, workspace)).await
    }

    async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError> {
        within(agents::agents(&self.db, workspace)).await
    }

    async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError> {
        within(connections::one(&self.db, id)).await
    }

    async fn connections(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Connection>, StoreError> {
        within(connections::list(&self.db, workspace)).await
    }

    async fn pause_connection(
        &self,
        id: &ConnectionId,
        pause: Option<&Pause>,
    ) -> Result<(), StoreError> {
        within(connections::pause(&self.db, id, pause)).await
    }

    async fn put_plugin(&self, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError> {
        within(plugins::put(&self.db, plugin, wasm)).await
    }

    async fn plugin(&self, digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
        within(plugins::one(&self.db, digest)).await
    }

    async fn plugin_wasm(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        within(plugins::wasm(&self.db, digest)).await
    }

    async fn plugins(&self) -> Result<Vec<PluginRecord>, StoreError> {
        within(plugins::list(&self.db)).await
    }

    async fn activations(&self) -> Result<Vec<Activation>, StoreError> {
        within(plugins::activations(&self.db)).await
    }

    async fn activate(
        &self,
        name: &str,
        digest: &Digest,
        now: Micros,
    ) -> Result<Activation, StoreError> {
        within(plugins::activate(&self.db, name, digest, now)).await
    }

    async fn note_refusal(&self, refusal: &Refusal) -> Result<(), StoreError> {
        within(plugins::note_refusal(&self.db, refusal)).await
    }

    async fn refusals(&self) -> Result<Vec<Refusal>, StoreError> {
        within(plugins::refusals(&self.db)).await
    }
}
