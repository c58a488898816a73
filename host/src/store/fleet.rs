//! What hosts that work on one store tell each other: that they live, what they
//! serve, what they prepared, who does a job, and that something changed.
//!
//! The times behind all of this are the store's, never a host's: two machines
//! need not agree on the hour. A store of one process answers the same verbs
//! for its one host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::id::HostId;
use crate::domain::plugin::Digest;
use crate::domain::time::Micros;

/// Something that hosts keep in memory was changed by an operator. It may get
/// lost, so whoever listens looks from time to time too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// Connections, or what belongs to them.
    Connections,
    Keys,
    /// A version was proposed, or serves.
    Plugins,
    /// A host said what it serves or prepared.
    Hosts,
    /// There is something to count.
    Analytics,
    /// Announcements may have been missed: anything may have changed.
    Everything,
}

impl Announcement {
    /// Those that are sent.
    pub const ALL: [Self; 5] = [
        Self::Connections,
        Self::Keys,
        Self::Plugins,
        Self::Hosts,
        Self::Analytics,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Keys => "keys",
            Self::Plugins => "plugins",
            Self::Hosts => "hosts",
            Self::Analytics => "analytics",
            Self::Everything => "everything",
        }
    }

    /// One that a newer host sends and this one does not know means anything.
    pub fn of(text: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|one| one.as_str() == text)
            .unwrap_or(Self::Everything)
    }
}

/// A sign of life of a host.
#[derive(Clone, Debug)]
pub struct Beat {
    pub host: HostId,
    /// For people: hosts may share one.
    pub name: String,
    pub version: String,
    pub report: HostReport,
}

/// What a host says of its plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostReport {
    /// By the plugin's name.
    pub serves: BTreeMap<String, Serves>,
    /// Proposals that were tried, by their number.
    pub prepared: BTreeMap<i64, Preparation>,
}

/// What a host serves under a plugin's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Serves {
    /// `None`: nothing, since it does not load here.
    pub digest: Option<Digest>,
    /// The activation that it follows.
    pub generation: i64,
    /// Why it does not serve what it should.
    pub error: Option<String>,
}

/// What came of a proposal on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preparation {
    pub digest: Digest,
    /// `None`: it is ready to serve.
    pub failure: Option<String>,
}

/// A host as the store knows it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenHost {
    pub id: HostId,
    pub name: String,
    pub version: String,
    pub started_at: Micros,
    pub seen_at: Micros,
    /// It gave a sign of life lately; else it counts as dead.
    pub alive: bool,
    #[serde(skip)]
    pub report: HostReport,
}

/// A version that every host shall prepare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub name: String,
    pub digest: Digest,
    pub number: i64,
}

/// Who holds a job: a number that grows whenever it changes hands. What a job
/// writes may be guarded by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub i64);

/// What a request costs and how much may be owed, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub each: i64,
    pub full: i64,
}

/// What is owed after a request, in microseconds until it is paid off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debt {
    pub owed: i64,
    /// The request was refused and cost nothing.
    pub refused: bool,
}

impl Price {
    /// The generic cell rate algorithm: a request is served when what is owed
    /// with it is not more than the whole.
    pub fn pay(self, owed: i64) -> Debt {
        // A clock that was set back does not leave a debt of more than the whole.
        let owed = owed.clamp(0, self.full);
        let after = owed + self.each;
        let refused = after > self.full;
        Debt {
            owed: if refused { owed } else { after },
            refused,
        }
    }
}

/// The store is known not to answer: nobody is made to wait for it.
#[derive(Clone, Debug)]
pub struct Outage {
    /// In words for the operator.
    pub reason: String,
}

/// Connections to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    pub open: u32,
    pub idle: u32,
    pub most: u32,
    /// Verbs under way, those that wait for a connection included.
    pub asked: u32,
}
