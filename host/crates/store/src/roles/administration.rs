//! Declarations, plugins and erasures: the work of operators.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;

use super::database_store::DatabaseStore;
use crate::operations::{
    acceptances, agents, apply, audit, connections, erase, keys, plugin_removal, plugins, repairs,
    rollouts, sketches,
};
use crate::{
    Activation, Applied, AuditExtent, AuditFilter, Caller, CorrectedContact, EraseStep, Erased,
    Erasure, ErasureFilter, Extent, NewErasure, Person, PersonBy, Plan, PluginRecord,
    PluginRefusal, PluginRemoval, RepairChanged, RepairMove, StandingDelivery, StoreError,
    UnlinkedPage,
};
use leadhost_domain::acceptance::FirstAcceptance;
use leadhost_domain::audit::{Act, AuditRow};
use leadhost_domain::connection::{Connection, ConnectionPause, ConnectionSketch, SourceShape};
use leadhost_domain::id::{
    ConnectionId, ContactId, DeliveryId, ErasureId, KeyId, RepairId, WorkspaceId,
};
use leadhost_domain::key::KeyRecord;
use leadhost_domain::plugin::Digest;
use leadhost_domain::repair::{Repair, RepairChange, RepairReceipt};
use leadhost_domain::rollout::{Rollout, RolloutReport};
use leadhost_domain::time::Micros;
use leadhost_domain::workspace::{Agent, Owner, Partner, Workspace};

/// The operations of operators: declarations, keys, plugins and erasures.
///
/// # Errors
///
/// [`StoreError`], with the variants that [`IntakeStore`](super::IntakeStore) names, and
/// [`StoreError::Refused`] if a request contradicts the stored data. Its text is for the operator.
#[async_trait]
pub trait AdministrationStore: Send + Sync + 'static {
    /// Brings the workspace in line with its declaration: creates and changes what the plan names,
    /// and removes nothing. Runs in one transaction. With `dry_run` it is rolled back at the end,
    /// so the answer shows what would change.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] if the plan is a part of a workspace that does not exist, or
    /// names a partner or an agent that the workspace does not have, and [`StoreError`] if
    /// the database fails.
    async fn apply(&self, plan: &Plan, now: Micros, dry_run: bool) -> Result<Applied, StoreError>;

    /// Returns all workspaces, by slug.
    async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError>;

    /// Returns the partners of a workspace, by name.
    async fn partners(&self, workspace: WorkspaceId) -> Result<Vec<Partner>, StoreError>;

    /// Returns the agents of a workspace, by id.
    async fn agents(&self, workspace: WorkspaceId) -> Result<Vec<Agent>, StoreError>;

    /// Returns the owners of a workspace, by name, then e-mail address.
    async fn owners(&self, workspace: WorkspaceId) -> Result<Vec<Owner>, StoreError>;

    /// Returns a source or channel. `None` if there is no such connection.
    async fn connection(&self, id: &ConnectionId) -> Result<Option<Connection>, StoreError>;

    /// Returns the ids of the connections of all workspaces.
    async fn connection_ids(&self) -> Result<HashSet<ConnectionId>, StoreError>;

    /// Returns the sources and channels of one workspace, or of all, by name.
    async fn connections(
        &self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<Connection>, StoreError>;

    /// Pauses the fetches of a connection, or resumes them.
    async fn pause_connection(
        &self,
        id: &ConnectionId,
        pause: Option<&ConnectionPause>,
    ) -> Result<(), StoreError>;

    /// Returns the sketch of a connection's deliveries. `None` if none was stored.
    async fn connection_sketch(
        &self,
        id: &ConnectionId,
    ) -> Result<Option<ConnectionSketch>, StoreError>;

    /// Stores a sketch with the next generation, unless it was written since its generation was
    /// read (0: there was none): then returns false.
    async fn write_connection_sketch(&self, sketch: &ConnectionSketch) -> Result<bool, StoreError>;

    /// Returns what the deliveries of the sources look like. A source without deliveries is left out.
    async fn source_shapes(&self) -> Result<HashMap<ConnectionId, SourceShape>, StoreError>;

    /// Returns the key with this digest, with its workspace and partner. Revoked and expired keys
    /// are included.
    async fn authenticate(&self, digest: &[u8; 32]) -> Result<Option<Caller>, StoreError>;

    /// Stores a new key with the SHA-256 digest of its text. The text itself is not stored.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] if there is a key with this id or digest, and [`StoreError`] if the
    /// database fails.
    async fn create_key(&self, key: &KeyRecord, digest: &[u8; 32]) -> Result<(), StoreError>;

    /// Returns the keys of one workspace, or all keys, by id. Revoked and expired keys are
    /// included.
    async fn keys(&self, workspace: Option<WorkspaceId>) -> Result<Vec<KeyRecord>, StoreError>;

    /// Revokes a key. Returns false if there is no such live key.
    async fn revoke_key(&self, id: KeyId, now: Micros) -> Result<bool, StoreError>;

    /// Records when keys were last used.
    async fn touch_keys(&self, used: &[(KeyId, Micros)]) -> Result<(), StoreError>;

    /// Stores a plugin version by its digest. A known version is left unchanged.
    async fn put_plugin(&self, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError>;

    /// Returns the record of a stored version. `None` if no version has this digest.
    async fn plugin(&self, digest: &Digest) -> Result<Option<PluginRecord>, StoreError>;

    /// Returns the bytes of a version's component. `None` if no version has this digest.
    async fn plugin_wasm(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the stored versions, oldest first.
    async fn plugins(&self) -> Result<Vec<PluginRecord>, StoreError>;

    /// Removes a stored version of a plugin, unless an activation, a rollout or an unfinished fetch
    /// names it. `from_inbox`: its bytes came from a file, which is not to be taken in again.
    async fn remove_plugin(
        &self,
        name: &str,
        digest: &Digest,
        from_inbox: bool,
        now: Micros,
    ) -> Result<PluginRemoval, StoreError>;

    /// Returns the active version of every plugin, by name.
    async fn activations(&self) -> Result<Vec<Activation>, StoreError>;

    /// Makes a version serve under its plugin's name and increments the generation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] if no version with this digest is stored, and [`StoreError`] if
    /// the database fails.
    async fn activate(
        &self,
        name: &str,
        digest: &Digest,
        now: Micros,
    ) -> Result<Activation, StoreError>;

    /// Makes a version serve like [`activate`](Self::activate), changes the rollout of its plugin, and adds the
    /// act to the audit: all or nothing. Returns `None` if the rollout was changed since its generation was read.
    async fn activate_in_rollout(
        &self,
        digest: &Digest,
        changed: (&Rollout, &Act),
        now: Micros,
    ) -> Result<Option<(Activation, Rollout)>, StoreError>;

    /// Stores the acceptance of a version by the first of two admin keys, in place of an earlier one
    /// by the same key.
    async fn add_acceptance(&self, acceptance: &FirstAcceptance) -> Result<(), StoreError>;

    /// Returns the acceptances of a version that have not expired, oldest first.
    async fn acceptances(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<Vec<FirstAcceptance>, StoreError>;

    /// Removes the acceptances of a version, which have been used.
    async fn forget_acceptances(&self, digest: &Digest) -> Result<(), StoreError>;

    /// Returns the last rollout of every plugin that had one, by name.
    async fn rollouts(&self) -> Result<Vec<Rollout>, StoreError>;

    /// Begins a rollout; its number and generation are assigned. Returns it, or the one that is
    /// open with `false`.
    async fn begin_rollout(&self, new: &Rollout) -> Result<(Rollout, bool), StoreError>;

    /// Changes a rollout, unless it was changed since its generation was read: then returns
    /// `None`.
    async fn change_rollout(&self, changed: &Rollout) -> Result<Option<Rollout>, StoreError>;

    /// Records how long the step of a rollout has lasted.
    async fn spend_rollout(&self, rollout: &Rollout) -> Result<(), StoreError>;

    /// Stores what a host has seen of a rollout, in place of its last report.
    async fn report_rollout(&self, report: &RolloutReport) -> Result<(), StoreError>;

    /// Returns what hosts have reported about a rollout.
    async fn rollout_reports(
        &self,
        name: &str,
        number: i64,
    ) -> Result<Vec<RolloutReport>, StoreError>;

    /// Begins a repair. Returns it, or the one that is open with `false`. A repair that has ended
    /// already is only recorded.
    async fn begin_repair(&self, new: &Repair) -> Result<(Repair, bool), StoreError>;

    /// Returns repairs, newest first: those before this one, at most `limit`.
    async fn repairs(
        &self,
        before: Option<RepairId>,
        limit: u32,
    ) -> Result<Vec<Repair>, StoreError>;

    /// Returns a repair. `None` if there is none with this id.
    async fn repair(&self, id: RepairId) -> Result<Option<Repair>, StoreError>;

    /// Returns the repair that is open. There is one at a time.
    async fn open_repair(&self) -> Result<Option<Repair>, StoreError>;

    /// Gives an open repair a new generation: what is committed for an older one has no effect any
    /// more. `None` if it was changed since its generation was read.
    async fn take_repair(&self, repair: &Repair) -> Result<Option<Repair>, StoreError>;

    /// Stores the cursor and the counts of a running repair. Returns false if it was changed since
    /// its generation was read.
    async fn note_repair(&self, repair: &Repair) -> Result<bool, StoreError>;

    /// Changes the state of a repair, unless it was changed since its generation was read, or
    /// another one is open and this one would be too.
    async fn change_repair(&self, changed: &Repair) -> Result<RepairChanged, StoreError>;

    /// Returns the sum of a repair's receipt. It reads all rows of the receipt.
    async fn repair_receipt(&self, id: RepairId) -> Result<RepairReceipt, StoreError>;

    /// Returns rows of a receipt in their order: those after a number (0: from the first), at most
    /// `limit`.
    async fn repair_changes(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError>;

    /// Returns the next contact of which leads say something else of the person since a repair, in the order
    /// of its receipt: after a number (0: from the first).
    async fn corrected_contact(
        &self,
        id: RepairId,
        after: i64,
    ) -> Result<Option<CorrectedContact>, StoreError>;

    /// Returns the deals that moved to other contacts in a repair, in the order of its receipt: those
    /// after a number (0: from the first), at most `limit`.
    async fn repair_moves(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairMove>, StoreError>;

    /// Returns rows of a receipt that no undo has dealt with, the newest first: those before a
    /// number, at most `limit`.
    async fn changes_to_undo(
        &self,
        id: RepairId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError>;

    /// Returns the first rows of a receipt that could not be undone, at most `limit`.
    async fn staying_changes(
        &self,
        id: RepairId,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError>;

    /// Adds an act to the audit, after its last row.
    async fn add_audit(&self, act: Act) -> Result<AuditRow, StoreError>;

    /// Returns rows of the audit, newest first.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError>;

    /// Returns the rows of the audit after a number, oldest first, at most `limit`.
    async fn audit_after(&self, after: i64, limit: u32) -> Result<Vec<AuditRow>, StoreError>;

    /// Removes the first rows of the audit, at most `limit`, from before this time, once a day. Records their
    /// removal and where the chain begins from then on. Returns how many it removed.
    async fn remove_audit(
        &self,
        before: Micros,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError>;

    /// Returns which rows the audit has.
    async fn audit_extent(&self) -> Result<AuditExtent, StoreError>;

    /// Records that a file was refused. The newest 100 refusals are kept.
    async fn note_refusal(&self, refusal: &PluginRefusal) -> Result<(), StoreError>;

    /// Marks the refusals of an inbox file as overtaken, except those of the bytes with this
    /// digest. `None`: the file was removed.
    async fn overtake_refusals_of_file(
        &self,
        origin: &str,
        digest: Option<&Digest>,
        now: Micros,
    ) -> Result<(), StoreError>;

    /// Marks the refusals of the bytes with this digest as overtaken.
    async fn overtake_refusals_of_bytes(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<(), StoreError>;

    /// Returns the refused files, newest first, with those that were overtaken.
    async fn refusals(&self) -> Result<Vec<PluginRefusal>, StoreError>;

    /// Returns the person that an operator means. `None` if nothing is known of such a person.
    async fn person(
        &self,
        workspace: WorkspaceId,
        by: &PersonBy,
    ) -> Result<Option<Person>, StoreError>;

    /// Returns what erasing a person would remove, as far as it can be counted.
    async fn count_person(&self, person: &Person) -> Result<Erased, StoreError>;

    /// Records the erasure and returns it, or returns the unfinished one of the same contact.
    async fn begin_erasure(&self, new: &NewErasure) -> Result<Erasure, StoreError>;

    /// Runs the next step of an erasure, a bounded transaction. The erasure is done when a step
    /// finds nothing left to do.
    ///
    /// # Errors
    ///
    /// [`StoreError::Contended`] if a message of the person got another external id
    /// meanwhile, and [`StoreError`] if the database fails. The step is then rolled back.
    async fn erase_step(
        &self,
        person: &Person,
        erasure: ErasureId,
        extent: Extent<'_>,
    ) -> Result<EraseStep, StoreError>;

    /// Returns the next deliveries of a workspace, by id, that led to no contact, or partly to
    /// contacts other than this one.
    async fn unlinked_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        after: Option<DeliveryId>,
    ) -> Result<UnlinkedPage, StoreError>;

    /// Returns the deliveries that erasures of this contact left behind and that still stand: they
    /// exist, part of them led to no contact, and they were not emptied.
    async fn left_deliveries(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<StandingDelivery>, StoreError>;

    /// Removes whole deliveries, in any state, as part of an erasure. Finished deliveries that led
    /// to a contact are emptied instead.
    async fn erase_deliveries(
        &self,
        workspace: WorkspaceId,
        erasure: ErasureId,
        ids: &[DeliveryId],
    ) -> Result<Erased, StoreError>;

    /// Returns erasures, newest first. The deliveries that they left are shown as they are now.
    async fn erasures(&self, filter: &ErasureFilter) -> Result<Vec<Erasure>, StoreError>;

    /// Returns an erasure of any workspace, as [`Self::erasures`] does. `None` if there is none with this id.
    async fn erasure(&self, id: ErasureId) -> Result<Option<Erasure>, StoreError>;
}

#[async_trait]
impl AdministrationStore for DatabaseStore {
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
        pause: Option<&ConnectionPause>,
    ) -> Result<(), StoreError> {
        connections::pause(&self.database, id.clone(), pause.cloned()).await
    }

    async fn connection_sketch(
        &self,
        id: &ConnectionId,
    ) -> Result<Option<ConnectionSketch>, StoreError> {
        sketches::one(&self.database, id.clone()).await
    }

    async fn write_connection_sketch(&self, sketch: &ConnectionSketch) -> Result<bool, StoreError> {
        sketches::write(&self.database, sketch.clone()).await
    }

    async fn source_shapes(&self) -> Result<HashMap<ConnectionId, SourceShape>, StoreError> {
        sketches::shapes(&self.database).await
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

    async fn remove_plugin(
        &self,
        name: &str,
        digest: &Digest,
        from_inbox: bool,
        now: Micros,
    ) -> Result<PluginRemoval, StoreError> {
        plugin_removal::remove(
            &self.database,
            name.to_owned(),
            digest.clone(),
            from_inbox,
            now,
        )
        .await
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

    async fn activate_in_rollout(
        &self,
        digest: &Digest,
        changed: (&Rollout, &Act),
        now: Micros,
    ) -> Result<Option<(Activation, Rollout)>, StoreError> {
        let (digest, changed) = (digest.clone(), (changed.0.clone(), changed.1.clone()));
        plugins::activate_in_rollout(&self.database, digest, changed, now).await
    }

    async fn note_refusal(&self, refusal: &PluginRefusal) -> Result<(), StoreError> {
        plugins::note_refusal(&self.database, refusal.clone()).await
    }

    async fn overtake_refusals_of_file(
        &self,
        origin: &str,
        digest: Option<&Digest>,
        now: Micros,
    ) -> Result<(), StoreError> {
        plugins::overtake_file(&self.database, origin.to_owned(), digest.cloned(), now).await
    }

    async fn overtake_refusals_of_bytes(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<(), StoreError> {
        plugins::overtake_bytes(&self.database, digest.clone(), now).await
    }

    async fn add_acceptance(&self, acceptance: &FirstAcceptance) -> Result<(), StoreError> {
        acceptances::add(&self.database, acceptance.clone()).await
    }

    async fn acceptances(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<Vec<FirstAcceptance>, StoreError> {
        acceptances::list(&self.database, digest.clone(), now).await
    }

    async fn forget_acceptances(&self, digest: &Digest) -> Result<(), StoreError> {
        acceptances::forget(&self.database, digest.clone()).await
    }

    async fn rollouts(&self) -> Result<Vec<Rollout>, StoreError> {
        rollouts::list(&self.database).await
    }

    async fn begin_rollout(&self, new: &Rollout) -> Result<(Rollout, bool), StoreError> {
        rollouts::begin(&self.database, new.clone()).await
    }

    async fn change_rollout(&self, changed: &Rollout) -> Result<Option<Rollout>, StoreError> {
        rollouts::change(&self.database, changed.clone()).await
    }

    async fn spend_rollout(&self, rollout: &Rollout) -> Result<(), StoreError> {
        rollouts::spend(&self.database, rollout.clone()).await
    }

    async fn report_rollout(&self, report: &RolloutReport) -> Result<(), StoreError> {
        rollouts::report(&self.database, report.clone()).await
    }

    async fn rollout_reports(
        &self,
        name: &str,
        number: i64,
    ) -> Result<Vec<RolloutReport>, StoreError> {
        rollouts::reports(&self.database, name.to_owned(), number).await
    }

    async fn begin_repair(&self, new: &Repair) -> Result<(Repair, bool), StoreError> {
        repairs::begin(&self.database, new.clone()).await
    }

    async fn repairs(
        &self,
        before: Option<RepairId>,
        limit: u32,
    ) -> Result<Vec<Repair>, StoreError> {
        repairs::list(&self.database, before, limit).await
    }

    async fn repair(&self, id: RepairId) -> Result<Option<Repair>, StoreError> {
        repairs::one(&self.database, id).await
    }

    async fn open_repair(&self) -> Result<Option<Repair>, StoreError> {
        repairs::open(&self.database).await
    }

    async fn take_repair(&self, repair: &Repair) -> Result<Option<Repair>, StoreError> {
        repairs::take(&self.database, repair.clone()).await
    }

    async fn note_repair(&self, repair: &Repair) -> Result<bool, StoreError> {
        repairs::progress(&self.database, repair.clone()).await
    }

    async fn change_repair(&self, changed: &Repair) -> Result<RepairChanged, StoreError> {
        repairs::change_state(&self.database, changed.clone()).await
    }

    async fn repair_receipt(&self, id: RepairId) -> Result<RepairReceipt, StoreError> {
        repairs::receipt(&self.database, id).await
    }

    async fn repair_changes(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        repairs::changes(&self.database, id, after, limit).await
    }

    async fn corrected_contact(
        &self,
        id: RepairId,
        after: i64,
    ) -> Result<Option<CorrectedContact>, StoreError> {
        repairs::corrected(&self.database, id, after).await
    }

    async fn repair_moves(
        &self,
        id: RepairId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<RepairMove>, StoreError> {
        repairs::moves(&self.database, id, after, limit).await
    }

    async fn changes_to_undo(
        &self,
        id: RepairId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        repairs::to_undo(&self.database, id, before, limit).await
    }

    async fn staying_changes(
        &self,
        id: RepairId,
        limit: u32,
    ) -> Result<Vec<RepairChange>, StoreError> {
        repairs::staying(&self.database, id, limit).await
    }

    async fn add_audit(&self, act: Act) -> Result<AuditRow, StoreError> {
        audit::add(&self.database, act).await
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        audit::newest(&self.database, filter.clone()).await
    }

    async fn audit_after(&self, after: i64, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        audit::after(&self.database, after, limit).await
    }

    async fn remove_audit(
        &self,
        before: Micros,
        now: Micros,
        limit: u32,
    ) -> Result<u64, StoreError> {
        audit::remove(&self.database, before, now, limit).await
    }

    async fn audit_extent(&self) -> Result<AuditExtent, StoreError> {
        audit::extent(&self.database).await
    }

    async fn refusals(&self) -> Result<Vec<PluginRefusal>, StoreError> {
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

    async fn erasure(&self, id: ErasureId) -> Result<Option<Erasure>, StoreError> {
        erase::one(&self.database, id).await
    }
}
