//! Hosts that share one store. All times are the store's own. A SQLite file has one host, whose
//! state is kept in memory.

use std::time::Duration;

use tokio::sync::broadcast;

use crate::Store;
use crate::database::{self, Database};
use crate::operations::{plugins, sealing};
use crate::postgres::{hosts, rate};
use crate::{Activation, Announcement, Beat, Debt, Fence, Price, Proposal, SeenHost, StoreError};
use leadhost_domain::audit::Act;
use leadhost_domain::id::{HostId, WorkspaceId};
use leadhost_domain::plugin::Digest;
use leadhost_domain::rollout::Rollout;
use leadhost_domain::time::Micros;

/// Host messages use connections of their own, so they do not wait behind requests.
impl Store {
    /// Returns a receiver of the announcements of all hosts, including this one, from now on. A
    /// receiver that lags behind must treat this as [`Announcement::Everything`].
    pub fn announcements(&self) -> broadcast::Receiver<Announcement> {
        match &self.database {
            Database::Sqlite(db) => db.alone().announcements(),
            Database::Postgres(db) => db.health().announcements(),
        }
    }

    /// Announces a change to every host. Only for operators' actions.
    pub async fn announce(&self, what: Announcement) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().announce(what);
                Ok(())
            }
            Database::Postgres(db) => database::aside(db.health(), hosts::announce(db, what)).await,
        }
    }

    /// Sends a heartbeat with the versions that the host serves and has prepared. Forgets hosts
    /// that are long dead. Returns the time of the database, if it has a clock of its own.
    pub async fn beat(&self, beat: &Beat) -> Result<Option<Micros>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().beat(beat, self.clock.now());
                Ok(None)
            }
            Database::Postgres(db) => {
                let now = database::aside(db.health(), hosts::beat(db, beat)).await?;
                Ok(Some(now))
            }
        }
    }

    /// Removes a host that stops, and releases its jobs and proposals.
    pub async fn leave(&self, host: HostId) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().leave(host);
                Ok(())
            }
            Database::Postgres(db) => database::aside(db.health(), hosts::leave(db, host)).await,
        }
    }

    /// Returns the hosts by name, then id.
    pub async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().hosts(self.clock.now())),
            Database::Postgres(db) => database::aside(db.health(), hosts::hosts(db)).await,
        }
    }

    /// Asks every host to prepare a stored version, for at most this long. Returns `None` while the
    /// proposal of another live host for the same name stands. A proposal replaces the host's own
    /// last one.
    pub async fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        within: Duration,
    ) -> Result<Option<Proposal>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                Ok(db
                    .alone()
                    .propose(by, name, digest, within, self.clock.now()))
            }
            Database::Postgres(db) => {
                database::aside(db.health(), hosts::propose(db, by, name, digest, within)).await
            }
        }
    }

    /// Returns the standing proposals, by name.
    pub async fn proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().proposals(self.clock.now())),
            Database::Postgres(db) => database::aside(db.health(), hosts::proposals(db)).await,
        }
    }

    /// Withdraws a proposal. Has no effect if another one has replaced it.
    pub async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().withdraw(proposal, self.clock.now());
                Ok(())
            }
            Database::Postgres(db) => {
                database::aside(db.health(), hosts::withdraw(db, proposal)).await
            }
        }
    }

    /// Activates the proposed version, as
    /// [`Self::activate`] does, and announces it.
    /// Returns `None` if the proposal no longer stands.
    pub async fn flip(
        &self,
        proposal: &Proposal,
        now: Micros,
    ) -> Result<Option<Activation>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                if !db.alone().withdraw(proposal, now) {
                    return Ok(None);
                }
                let (name, digest) = (&proposal.name, &proposal.digest);
                let activation = self.activate(name, digest, now).await?;
                db.alone().announce(Announcement::Plugins);
                Ok(Some(activation))
            }
            Database::Postgres(_) => {
                let flipped = plugins::flip(&self.database, proposal.clone(), None, now).await?;
                Ok(flipped.map(|(activation, _)| activation))
            }
        }
    }

    /// Activates the proposed version like [`flip`](Self::flip), changes the rollout of its plugin, and adds
    /// the act to the audit: all or nothing. Returns `None` if the proposal no longer stands, or the rollout was changed since its
    /// generation was read.
    pub async fn flip_in_rollout(
        &self,
        proposal: &Proposal,
        changed: (&Rollout, &Act),
        now: Micros,
    ) -> Result<Option<(Activation, Rollout)>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                if !db.alone().withdraw(proposal, now) {
                    return Ok(None);
                }
                let digest = &proposal.digest;
                let flipped = self.activate_in_rollout(digest, changed, now).await?;
                db.alone().announce(Announcement::Plugins);
                Ok(flipped)
            }
            Database::Postgres(_) => {
                let changed = (changed.0.clone(), changed.1.clone());
                let flipped = plugins::flip(&self.database, proposal.clone(), Some(changed), now);
                let flipped = flipped.await?;
                Ok(flipped.and_then(|(activation, changed)| Some((activation, changed?))))
            }
        }
    }

    /// Takes a periodic job, or extends the lease on it, for this long. Returns `None` while
    /// another host holds it.
    pub async fn hold_job(
        &self,
        job: &str,
        by: HostId,
        within: Duration,
    ) -> Result<Option<Fence>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().hold_job(job, by, within, self.clock.now())),
            Database::Postgres(db) => {
                database::aside(db.health(), hosts::hold_job(db, job, by, within)).await
            }
        }
    }

    /// Releases the job, so that another host can take it at once.
    pub async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().leave_job(job, by);
                Ok(())
            }
            Database::Postgres(db) => {
                database::aside(db.health(), hosts::leave_job(db, job, by)).await
            }
        }
    }

    /// Returns the id of the key that seals secrets, or `None` if none was ever set. The key of a
    /// store in a file is kept in the folder of the file, so it is set only in place of a lost one.
    pub async fn sealing_key(&self) -> Result<Option<String>, StoreError> {
        match &self.database {
            Database::Sqlite(_) => sealing::key(&self.database).await,
            Database::Postgres(db) => database::aside(db.health(), hosts::sealing_key(db)).await,
        }
    }

    /// Seals secrets with this key from now on, if no key is set yet or the current one is among
    /// the older keys, which this host has too. Returns the key in effect.
    pub async fn seal_with(&self, key: &str, older: &[String]) -> Result<String, StoreError> {
        match &self.database {
            Database::Sqlite(_) => {
                sealing::seal_with(&self.database, key.to_owned(), older.to_vec()).await
            }
            Database::Postgres(db) => {
                database::aside(db.health(), hosts::seal_with(db, key, older)).await
            }
        }
    }

    /// Charges a request to a workspace, across all hosts. A refused request costs nothing.
    pub async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        now: Micros,
    ) -> Result<Debt, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().pay(workspace, price, now)),
            Database::Postgres(db) => {
                database::within(db.health(), rate::pay(db, workspace, price)).await
            }
        }
    }
}
