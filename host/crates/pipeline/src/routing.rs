//! The connection that an item or event of a delivery belongs to: the one whose address received it, or
//! another connection of the workspace that answers to its route.
//!
//! An address without sender checks must not act for a connection that has them. Otherwise
//! knowing the one address would be enough to send in the name of all the others.

use super::connections;
use super::failure::ConvertError;
use super::proof;
use crate::prelude::*;

pub struct Routing<'a> {
    pub received_by: &'a Arc<Live>,
    pub among: Reachable<'a>,
}

pub enum Reachable<'a> {
    Stored(RoutingCaller<'a>),
    /// Those that were captured from a service, for a program outside it.
    Captured(&'a [CapturedLive]),
}

pub struct RoutingCaller<'a> {
    pub pipeline: &'a Pipeline,
    /// The plugin of the address and of all connections that it routes to.
    pub plugin: &'a Arc<Loaded>,
    pub budget: CallBudget,
}

/// A connection that was captured from a service, for a program outside it.
pub struct CapturedLive {
    pub live: Arc<Live>,
    pub is_proven: bool,
}

impl Routing<'_> {
    /// Returns the connection that answers to the route, or why there is none, in words.
    /// `what` names a connection for people.
    pub async fn find(
        &self,
        what: &str,
        route: &Pairs,
    ) -> Result<Result<Arc<Live>, String>, ConvertError> {
        let found = match &self.among {
            Reachable::Stored(caller) => {
                let connections = &caller.pipeline.connections;
                connections.route(self.received_by, route).await?
            }
            Reachable::Captured(captured) => {
                connections::answering(self.received_by, self.among_own(captured), route)
            }
        };
        match found {
            None => Ok(Err(unclaimed(what, route))),
            Some(found) if self.may_reach(&found).await? => Ok(Ok(found)),
            Some(_) => Ok(Err(barred(what, route))),
        }
    }

    pub async fn workspace_connections(&self) -> Result<Vec<Arc<Live>>, ConvertError> {
        match &self.among {
            Reachable::Stored(caller) => {
                let workspace = self.received_by.connection.workspace;
                Ok(caller.pipeline.connections.in_workspace(workspace).await?)
            }
            Reachable::Captured(captured) => Ok(self.among_own(captured).collect()),
        }
    }

    /// Returns the captured connections of this workspace, because a service may have sent several
    /// workspaces'.
    fn among_own(&self, captured: &[CapturedLive]) -> impl Iterator<Item = Arc<Live>> {
        let own = self.received_by.connection.workspace;
        let live = captured.iter().map(|one| &one.live);
        live.filter(move |live| live.connection.workspace == own)
            .map(Arc::clone)
    }

    /// Returns whether items from this address count for that connection.
    pub async fn may_reach(&self, target: &Live) -> Result<bool, ConvertError> {
        if target.connection.id == self.received_by.connection.id {
            return Ok(true);
        }
        Ok(self.is_proven(self.received_by).await? || !self.is_proven(target).await?)
    }

    async fn is_proven(&self, live: &Live) -> Result<bool, ConvertError> {
        match &self.among {
            Reachable::Stored(caller) => caller.is_proven(live).await,
            Reachable::Captured(captured) => {
                let id = &live.connection.id;
                Ok(captured
                    .iter()
                    .any(|one| one.is_proven && one.live.connection.id == *id))
            }
        }
    }
}

impl RoutingCaller<'_> {
    pub async fn is_proven(&self, live: &Live) -> Result<bool, ConvertError> {
        // A short budget would leave the items of the delivery without a connection.
        let budget = match self.budget {
            CallBudget::Trial => CallBudget::Trial,
            _ => CallBudget::Worker,
        };
        let checks = proof::checks(self.pipeline, live, self.plugin, budget).await?;
        let mut checks = checks.checks.iter();
        Ok(checks.any(|check| live.secrets.get(&check.secret).is_some()))
    }
}

pub fn unclaimed(what: &str, route: &Pairs) -> String {
    format!(
        "no {what} of the workspace answers to {}",
        route_text(route)
    )
}

/// Returns the reason if this address may not act for the connection that does.
pub fn barred(what: &str, route: &Pairs) -> String {
    format!(
        "the {what} that answers to {} has a sender check, and the {what} of the address that received this has none: give it the secret too",
        route_text(route)
    )
}

fn route_text(route: &Pairs) -> String {
    let route: Vec<_> = route
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    route.join(", ")
}
