use crate::prelude::*;
use leadhost_domain::id::HostId;

/// A host as the store knows it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// New at every start of the host.
    pub id: HostId,
    /// For display: hosts may share a name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    pub started_at: Micros,
    /// The time of its last heartbeat.
    pub seen_at: Micros,
    /// Whether the last heartbeat is recent. Without one the host counts as dead.
    pub alive: bool,
    /// How many minutes the clock of its machine is ahead of the database's; negative if it is behind. 0 if
    /// they differ by less than a minute, and on a store that is not shared.
    pub clock_ahead_minutes: i64,
}

impl HostView {
    /// Returns how its clock differs: `3 minutes ahead of the database's`. `None` if it does not.
    pub fn clock_difference(&self) -> Option<String> {
        let minutes = self.clock_ahead_minutes;
        let which = match minutes {
            0 => return None,
            1.. => "ahead of",
            _ => "behind",
        };
        let number = counted(minutes.unsigned_abs(), "minute", "minutes");
        Some(format!("{number} {which} the database's"))
    }
}

columns! {
    ListedHost<'_> as listed {
        "Host" => &listed.name,
        "Version" => &listed.host.version,
        "Started" => listed.host.started_at,
        "Seen" => listed.host.seen_at,
        "State" commands => match (listed.host.alive, listed.is_own) {
            (_, true) => "this one",
            (true, false) => "alive",
            (false, false) => "no heartbeat",
        },
        "State" pages => match listed.host.alive {
            true => Cell::word("live"),
            false => Cell::from("no heartbeat").tag("bad"),
        },
    }
}

/// A host in a list, with its distinct name.
pub struct ListedHost<'a> {
    pub host: &'a HostView,
    pub name: String,
    pub is_own: bool,
}
