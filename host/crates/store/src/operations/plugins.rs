//! Plugin versions by their digest, the activations, and the files that were refused.

use super::{audit, rollouts};
use crate::operations::prelude::*;
use crate::postgres::health::CHANNEL;
use crate::sqlite::threads::End;
use crate::{Activation, Announcement, PluginRecord, PluginRefusal, Proposal};
use leadhost_domain::audit::Act;
use leadhost_domain::rollout::Rollout;

statements! {
    static PUT: Sql = sql("
insert into plugins (digest, description, contract, bytes, checks, golden, origin, stored_at, wasm,
  publisher)
values (:digest, :description, :contract, :bytes, :checks, :golden, :origin, :stored_at, :wasm,
  :publisher)
on conflict (digest) do nothing");

    static ONE: Sql = reading!(PLUGINS as "plugins", "
select {columns}
from plugins
where digest = :digest");

    static WASM: Sql = sql("
select wasm
from plugins
where digest = :digest");

    static LIST: Sql = reading!(PLUGINS as "plugins", "
select {columns}
from plugins
order by stored_at, digest collate \"C\"");

    static ACTIVATIONS: Sql = reading!(ACTIVATIONS as "activations", "
select {columns}
from activations
order by name collate \"C\"");

    // One host at a time: two that read the greatest generation at once would both assign the next one.
    // Readers are not blocked.
    pub static ONE_AT_A_TIME: Sql = sql("
lock table activations in share row exclusive mode -- postgres");

    // The generation grows across all plugins, so it orders every activation.
    static ACTIVATE: Sql = sql("
insert into activations (name, digest, previous, generation, activated_at)
values (:name, :digest, null, (select coalesce(max(generation), 0) + 1 from activations), :now)
on conflict (name) do update
set previous = activations.digest, digest = excluded.digest, generation = excluded.generation,
  activated_at = excluded.activated_at
where activations.digest <> excluded.digest");

    static IS_STORED: Sql = sql("
select digest
from plugins
where digest = :digest");

    static ACTIVATION: Sql = reading!(ACTIVATIONS as "activations", "
select {columns}
from activations
where name = :name");

    static WITHDRAW: Sql = sql("
delete from proposals                               -- postgres
where name = :name and number = :number             -- postgres
returning until_at > clock_timestamp() as stands    -- postgres");

    static ANNOUNCE: Sql = sql("
select pg_notify(:channel, :what) -- postgres");

    static NOTE_REFUSAL: Sql = sql("
insert into refusals (origin, digest, plugin, reason, at, overtaken_at)
values (:origin, :digest, :plugin, :reason, :at, :overtaken_at)");

    // Rows are counted, because the numbers of failed transactions are missing.
    static FORGET_REFUSALS: Sql = sql("
delete from refusals
where number <= (select number from refusals order by number desc limit 1 offset :kept)");

    static OVERTAKE_FILE: Sql = sql("
update refusals
set overtaken_at = :now
where origin = :origin
and (:digest::text is null or digest is distinct from :digest)
and overtaken_at is null");

    static OVERTAKE_BYTES: Sql = sql("
update refusals
set overtaken_at = :now
where digest = :digest
and overtaken_at is null");

    static REFUSALS: Sql = sql("
select origin, digest, plugin, reason, at, overtaken_at
from refusals
order by number desc");
}

#[leadhost_boxed::boxed]
impl Store {
    /// Stores a plugin version by its digest. A known version is left unchanged.
    pub async fn put_plugin(&self, plugin: &PluginRecord, wasm: &[u8]) -> Result<(), StoreError> {
        let plugin = plugin.clone();
        let wasm = wasm.to_vec();
        steps!(self.database.write_alone(), |tx| {
            let args = args! {
                from plugin: digest, description, contract, bytes, checks, golden, origin,
                publisher, stored_at;
                wasm: &wasm,
            };
            tx.run(&PUT, &args).await?;
            Ok(())
        })
        .await
    }

    pub async fn plugin(&self, digest: &Digest) -> Result<Option<PluginRecord>, StoreError> {
        let args = args! { digest };
        self.database
            .row(VisibleRows::Exempt, &ONE, args, PluginRecord::from_row)
            .await
    }

    pub async fn plugin_wasm(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let digest = digest.clone();
        steps!(self.database.read_many(Exempt), |tx| {
            let args = args! { digest: &digest };
            tx.row(&WASM, &args, |row| row.get("wasm")).await
        })
        .await
    }

    pub async fn plugins(&self) -> Result<Vec<PluginRecord>, StoreError> {
        self.database
            .rows(VisibleRows::Exempt, &LIST, [], PluginRecord::from_row)
            .await
    }

    pub async fn activations(&self) -> Result<Vec<Activation>, StoreError> {
        // Every host polls this, also while requests fill the pool.
        steps!(self.database.aside(), |tx| {
            tx.rows(&ACTIVATIONS, &[], Activation::from_row).await
        })
        .await
    }

    pub async fn activate(
        &self,
        name: &str,
        digest: &Digest,
        now: Micros,
    ) -> Result<Activation, StoreError> {
        let name = name.to_owned();
        let digest = digest.clone();
        steps!(self.database.write(Exempt), |tx| {
            activate_in(tx, &name, &digest, now).await
        })
        .await
    }

    /// Makes a version serve like [`activate`](Self::activate), changes the rollout of its plugin, and adds the
    /// act to the audit: all or nothing. Returns `None` if the rollout was changed since its generation was read.
    pub async fn activate_in_rollout(
        &self,
        digest: &Digest,
        changed: (&Rollout, &Act),
        now: Micros,
    ) -> Result<Option<(Activation, Rollout)>, StoreError> {
        let (digest, changed, act) = (digest.clone(), changed.0.clone(), changed.1.clone());
        steps!(self.database.write(Exempt), |tx| {
            let name = changed.name.clone();
            let in_rollout = Some((changed, act));
            let done = activate_with(tx, &name, &digest, in_rollout, now).await?;
            Ok(done.and_then(|(activation, changed)| Some((activation, changed?))))
        })
        .await
    }

    /// Records that a file was refused. The newest 100 refusals are kept.
    pub async fn note_refusal(&self, refusal: &PluginRefusal) -> Result<(), StoreError> {
        let refusal = refusal.clone();
        steps!(self.database.write(Exempt), |tx| {
            let args = args! { from refusal: origin, digest, plugin, reason, at, overtaken_at };
            tx.run(&NOTE_REFUSAL, &args).await?;
            let args = args! { kept: limits::REFUSALS };
            tx.run(&FORGET_REFUSALS, &args).await?;
            Ok(())
        })
        .await
    }

    /// Marks the refusals of an inbox file as overtaken, except refusals of the bytes with this digest.
    /// `None`: the file was removed.
    pub async fn overtake_refusals_of_file(
        &self,
        origin: &str,
        digest: Option<&Digest>,
        now: Micros,
    ) -> Result<(), StoreError> {
        let origin = origin.to_owned();
        let digest = digest.cloned();
        steps!(self.database.write_alone(), |tx| {
            let args = args! { origin: &origin, digest: digest.as_ref(), now };
            tx.run(&OVERTAKE_FILE, &args).await?;
            Ok(())
        })
        .await
    }

    /// Marks the refusals of the bytes with this digest as overtaken.
    pub async fn overtake_refusals_of_bytes(
        &self,
        digest: &Digest,
        now: Micros,
    ) -> Result<(), StoreError> {
        let digest = digest.clone();
        steps!(self.database.write_alone(), |tx| {
            let args = args! { digest: &digest, now };
            tx.run(&OVERTAKE_BYTES, &args).await?;
            Ok(())
        })
        .await
    }

    /// Returns the refused files, newest first, with those that were overtaken.
    pub async fn refusals(&self) -> Result<Vec<PluginRefusal>, StoreError> {
        self.database
            .rows(VisibleRows::Exempt, &REFUSALS, [], PluginRefusal::from_row)
            .await
    }
}

/// Activates the version that was proposed to the hosts of a shared store, and announces it. `in_rollout`: the
/// change of the rollout of its plugin, and the act for the audit, in the same transaction. Returns `None`, and
/// does nothing, if the proposal no longer stands, or the rollout was changed since its generation was read.
pub async fn flip(
    database: &Database,
    proposal: Proposal,
    in_rollout: Option<(Rollout, Act)>,
    now: Micros,
) -> Result<Option<(Activation, Option<Rollout>)>, StoreError> {
    steps!(database.write_or_undo_aside(), |tx| {
        tx.run(&ONE_AT_A_TIME, &[]).await?;
        let args = args! { name: &proposal.name, number: proposal.number };
        let stands = tx.row(&WITHDRAW, &args, |row| row.get("stands")).await?;
        if stands != Some(true) {
            return Ok((None, End::Undo));
        }
        let Proposal { name, digest, .. } = &proposal;
        let Some(done) = activate_with(tx, name, digest, in_rollout, now).await? else {
            return Ok((None, End::Undo));
        };
        let args = args! { channel: CHANNEL, what: Announcement::Plugins.as_str() };
        tx.run(&ANNOUNCE, &args).await?;
        Ok((Some(done), End::Commit))
    })
    .await
}

/// Activates a version, after the change of the rollout of its plugin and with the act for the audit. Returns
/// `None`, and does nothing, if the rollout was changed since its generation was read.
async fn activate_with(
    tx: &mut Tx,
    name: &str,
    digest: &Digest,
    in_rollout: Option<(Rollout, Act)>,
    now: Micros,
) -> Result<Option<(Activation, Option<Rollout>)>, StoreError> {
    let Some((next, act)) = in_rollout else {
        let activation = activate_in(tx, name, digest, now).await?;
        return Ok(Some((activation, None)));
    };
    let Some(changed) = rollouts::change_in(tx, &next).await? else {
        return Ok(None);
    };
    let activation = activate_in(tx, name, digest, now).await?;
    audit::add_in(tx, act).await?;
    Ok(Some((activation, Some(changed))))
}

async fn activate_in(
    tx: &mut Tx,
    name: &str,
    digest: &Digest,
    now: Micros,
) -> Result<Activation, StoreError> {
    let args = args! { digest };
    let stored = tx
        .row(&IS_STORED, &args, |row| row.get::<Digest>("digest"))
        .await?;
    if stored.is_none() {
        return Err(StoreError::Refused(format!(
            "Plugin `{name}` has no stored version {digest}. Upload it first."
        )));
    }
    tx.run(&ONE_AT_A_TIME, &[]).await?;
    let args = args! { name, digest, now };
    tx.run(&ACTIVATE, &args).await?;
    let args = args! { name };
    tx.only(&ACTIVATION, &args, Activation::from_row).await
}
