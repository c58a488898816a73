//! A connection whose plugin and partner are known.

use crate::PlannedConnection;
use leadhost_domain::id::{AgentId, PartnerId};

/// A connection of the plan, with the rows that it names resolved.
pub struct ResolvedConnection<'a> {
    pub planned: &'a PlannedConnection,
    /// Set for a source.
    pub partner: Option<PartnerId>,
    pub agent: Option<AgentId>,
    /// Its own region, or the workspace's.
    pub region: &'a str,
    pub time_zone: &'a str,
}
