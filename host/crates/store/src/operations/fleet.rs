//! Hosts that share one store. All times are the store's own. A SQLite file has one host, whose
//! state is kept in memory.

use tokio::sync::broadcast;

use crate::database::{self};
use crate::operations::plugins;
use crate::operations::prelude::*;
use crate::postgres::{hosts, rate};
use crate::{Activation, Announcement, Beat, Debt, Fence, Price, Proposal, SeenHost};
use leadhost_domain::audit::Act;
use leadhost_domain::rollout::Rollout;

/// Runs an operation in memory for the one host of a file, or on the connections that hosts have to themselves.
macro_rules! of_hosts {
    ($self:ident, |$alone:ident| $of_file:expr, |$db:ident| $shared:expr) => {
        match &$self.database {
            Database::Sqlite(db) => {
                let $alone = db.alone();
                Ok($of_file)
            }
            Database::Postgres($db) => database::aside($db.health(), $shared).await,
        }
    };
}

/// Host messages use connections of their own, so they do not wait behind requests.
#[leadhost_boxed::boxed]
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
        of_hosts!(self, |host| host.announce(what), |db| hosts::announce(
            db, what
        ))
    }

    /// Sends a heartbeat with the versions that the host serves and has prepared. Forgets hosts
    /// that are long dead. Returns the time of the database, if it has a clock of its own.
    pub async fn beat(&self, beat: &Beat) -> Result<Option<Micros>, StoreError> {
        let now = self.clock.now();
        of_hosts!(
            self,
            |host| {
                host.beat(beat, now);
                None
            },
            |db| async move { Ok(Some(hosts::beat(db, beat).await?)) }
        )
    }

    /// Removes a host that stops, and releases its jobs and proposals.
    pub async fn leave(&self, host: HostId) -> Result<(), StoreError> {
        of_hosts!(self, |alone| alone.leave(host), |db| hosts::leave(db, host))
    }

    pub async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError> {
        let now = self.clock.now();
        of_hosts!(self, |host| host.hosts(now), |db| hosts::hosts(db))
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
        let now = self.clock.now();
        of_hosts!(
            self,
            |host| host.propose(by, name, digest, within, now),
            |db| hosts::propose(db, by, name, digest, within)
        )
    }

    pub async fn proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        let now = self.clock.now();
        of_hosts!(self, |host| host.proposals(now), |db| hosts::proposals(db))
    }

    /// Withdraws a proposal. Has no effect if another one has replaced it.
    pub async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError> {
        let now = self.clock.now();
        of_hosts!(
            self,
            |host| {
                host.withdraw(proposal, now);
            },
            |db| hosts::withdraw(db, proposal)
        )
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
        let now = self.clock.now();
        of_hosts!(self, |host| host.hold_job(job, by, within, now), |db| {
            hosts::hold_job(db, job, by, within)
        })
    }

    /// Releases the job, so that another host can take it at once.
    pub async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError> {
        of_hosts!(self, |host| host.leave_job(job, by), |db| hosts::leave_job(
            db, job, by
        ))
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
