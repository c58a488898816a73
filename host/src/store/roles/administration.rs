//! What operators declare, deploy and remove for good.

use std::collections::HashSet;

use async_trait::async_trait;

use super::DatabaseStore;
use crate::domain::connection::{Connection, Pause};
use crate::domain::id::{ConnectionId, ContactId, DeliveryId, ErasureId, KeyId, WorkspaceId};
use crate::domain::key::KeyRecord;
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::domain::workspace::{Agent, Owner, Partner, Workspace};
use crate::store::operations::{agents, apply, connections, erase, keys, plugins};
use crate::store::{
    Activation, Applied, Caller, EraseStep, Erased, Erasure, ErasureFilter, Extent, NewErasure,
    Person, PersonBy, Plan, PluginRecord, Refusal, StandingDelivery, StoreError, UnlinkedPage,
};

/// # Errors
///
/// As [`Intake`](super::Intake)'s; what contradicts what is stored is [`StoreError::Refused`], in
/// words for the operator.
#[async_trait]
pub trait Administration: Send + Sync + 'static {
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

    /// The key with this digest and what it opens, revoked and expired ones included.
    async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError>;

    async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError>;

    async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError>;

    /// False when there is no such live key.
    async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError>;

    /// Remembers when keys were last used.
    async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError>;

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
}

#[async_trait]
impl Administration for DatabaseStore {
    async fn apply(&self, plan: &Plan, now: Micros, dry_run: bool) -> Result<Applied, StoreError> {
        apply::apply(&self.database, plan.clone(), now, dry_run).await
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

    async fn owners(&self, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError> {
        agents::owners(&self.database, workspace).await
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

    async fn person(
        &self,
        workspace: WorkspaceId,
        by: &PersonBy,
    ) -> Result<Option<Person>, StoreError> {
        erase::person(&self.database, workspace, by.clone()).await
    }

    async fn count_person(&self, person: &Person) -> Result<Erased, StoreError> {
        erase::count(&self.database, person.clone()).await
    }

    async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError> {
        erase::begin(&self.database, new.clone()).await
    }

    async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError> {
        let (person, now) = (person.clone(), self.clock.now());
        let is_whole = matches!(extent, Extent::Whole(_));
        let step = erase::step(&self.database, person, erasure, extent, now).await?;
        if step.done && is_whole {
            self.database.empty_log().await?;
        }
        Ok(step)
    }

    async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError> {
        erase::unlinked(&self.database, workspace, contact, after).await
    }

    async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError> {
        erase::left(&self.database, workspace, contact).await
    }

    async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError> {
        erase::deliveries(&self.database, workspace, erasure, ids.to_vec()).await
    }

    async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError> {
        erase::list(&self.database, filter.clone()).await
    }
}
