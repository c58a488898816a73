//! Many hosts on one store; all times are the store's own. A file has one host, and what
//! that one says is kept in memory.

use async_trait::async_trait;
use tokio::sync::broadcast;

use super::DatabaseStore;
use crate::domain::id::{HostId, WorkspaceId};
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;
use crate::store::database::{self, Database};
use crate::store::postgres::{hosts, rate};
use crate::store::{
    Activation, Announcement, Beat, Debt, Fence, Price, Proposal, SeenHost, StoreError,
};

/// # Errors
///
/// As [`Intake`](super::Intake)'s. The words of a host have connections of their own: they
/// do not wait behind requests.
#[async_trait]
pub trait Fleet: Send + Sync + 'static {
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

    /// What was proposed serves from now on, as after [`Administration::activate`](super::Administration::activate); `None`
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
    async fn sealing_key(&self) -> Result<Option<String>, StoreError>;

    /// From now on secrets are sealed with this key, if none is known yet or one
    /// of the older ones that this host has too. Answers the key that counts.
    async fn seal_with(&self, key: &str, older: &[String]) -> Result<String, StoreError>;

    /// Charges a request to a workspace, over all hosts. A refused one costs nothing.
    async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        now: Micros,
    ) -> Result<Debt, StoreError>;
}

#[async_trait]
impl Fleet for DatabaseStore {
    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        match &self.database {
            Database::Sqlite(db) => db.alone().announcements(),
            Database::Postgres(db) => db.reach().announcements(),
        }
    }

    async fn announce(&self, what: Announcement) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().announce(what);
                Ok(())
            }
            Database::Postgres(db) => database::aside(db.reach(), hosts::announce(db, what)).await,
        }
    }

    async fn beat(&self, beat: &Beat) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().beat(beat, self.clock.now());
                Ok(())
            }
            Database::Postgres(db) => database::aside(db.reach(), hosts::beat(db, beat)).await,
        }
    }

    async fn leave(&self, host: HostId) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().leave(host);
                Ok(())
            }
            Database::Postgres(db) => database::aside(db.reach(), hosts::leave(db, host)).await,
        }
    }

    async fn hosts(&self) -> Result<Vec<SeenHost>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().hosts(self.clock.now())),
            Database::Postgres(db) => database::aside(db.reach(), hosts::hosts(db)).await,
        }
    }

    async fn propose(
        &self,
        by: HostId,
        name: &str,
        digest: &Digest,
        seconds: u32,
    ) -> Result<Option<Proposal>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                Ok(db
                    .alone()
                    .propose(by, name, digest, seconds, self.clock.now()))
            }
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::propose(db, by, name, digest, seconds)).await
            }
        }
    }

    async fn proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().proposals(self.clock.now())),
            Database::Postgres(db) => database::aside(db.reach(), hosts::proposals(db)).await,
        }
    }

    async fn withdraw(&self, proposal: &Proposal) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().withdraw(proposal, self.clock.now());
                Ok(())
            }
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::withdraw(db, proposal)).await
            }
        }
    }

    async fn flip(
        &self,
        proposal: &Proposal,
        now: Micros,
    ) -> Result<Option<Activation>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => db.alone().flip(&self.database, proposal, now).await,
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::flip(db, proposal, now)).await
            }
        }
    }

    async fn hold_job(
        &self,
        job: &str,
        by: HostId,
        seconds: u32,
    ) -> Result<Option<Fence>, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().hold_job(job, by, seconds, self.clock.now())),
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::hold_job(db, job, by, seconds)).await
            }
        }
    }

    async fn leave_job(&self, job: &str, by: HostId) -> Result<(), StoreError> {
        match &self.database {
            Database::Sqlite(db) => {
                db.alone().leave_job(job, by);
                Ok(())
            }
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::leave_job(db, job, by)).await
            }
        }
    }

    async fn sealing_key(&self) -> Result<Option<String>, StoreError> {
        match &self.database {
            Database::Sqlite(_) => Ok(None),
            Database::Postgres(db) => database::aside(db.reach(), hosts::sealing_key(db)).await,
        }
    }

    async fn seal_with(&self, key: &str, older: &[String]) -> Result<String, StoreError> {
        match &self.database {
            Database::Sqlite(_) => Ok(key.to_owned()),
            Database::Postgres(db) => {
                database::aside(db.reach(), hosts::seal_with(db, key, older)).await
            }
        }
    }

    async fn pay(
        &self,
        workspace: WorkspaceId,
        price: Price,
        now: Micros,
    ) -> Result<Debt, StoreError> {
        match &self.database {
            Database::Sqlite(db) => Ok(db.alone().pay(workspace, price, now)),
            Database::Postgres(db) => {
                database::within(db.reach(), rate::pay(db, workspace, price)).await
            }
        }
    }
}
