//! Whose an item or event of a delivery is: that of the address which it came
//! to, or of another connection of the workspace that answers to its route.
//!
//! The rule inside: an address whose senders prove nothing does not speak for a
//! connection whose senders must. Else whoever knows the one address could say
//! anything in the name of all the others.

use std::sync::Arc;

use super::connections::Live;
use super::failure::ConvertError;
use super::proof;
use crate::domain::exchange::Pairs;
use crate::pipeline::state::Pipeline;
use crate::plugin::{Budget, Loaded};

/// Where one delivery's items may go.
pub struct Routing<'a> {
    pub pipeline: &'a Pipeline,
    /// Of the address and of all that it leads to.
    pub plugin: &'a Arc<Loaded>,
    pub received_by: &'a Arc<Live>,
}

impl Routing<'_> {
    /// The connection that answers to the route; the error is why there is none,
    /// in words. `what` says what it is called to people.
    pub async fn find(
        &self,
        what: &str,
        route: &Pairs,
    ) -> Result<Result<Arc<Live>, String>, ConvertError> {
        let connections = &self.pipeline.connections;
        match connections.route(self.received_by, route).await? {
            None => Ok(Err(nobody(what, route))),
            Some(found) if self.may_reach(&found).await? => Ok(Ok(found)),
            Some(_) => Ok(Err(barred(what, route))),
        }
    }

    /// Whether what came to this address counts for that connection.
    pub async fn may_reach(&self, target: &Live) -> Result<bool, ConvertError> {
        if target.connection.id == self.received_by.connection.id {
            return Ok(true);
        }
        Ok(self.is_proven(self.received_by).await? || !self.is_proven(target).await?)
    }

    /// Whether there is a check of the connection's senders that runs.
    async fn is_proven(&self, live: &Live) -> Result<bool, ConvertError> {
        let checks = proof::checks(self.pipeline, live, self.plugin, Budget::Worker).await?;
        let mut checks = checks.checks.iter();
        Ok(checks.any(|check| live.secrets.get(&check.secret).is_some()))
    }
}

/// No connection answers to the route.
pub fn nobody(what: &str, route: &Pairs) -> String {
    format!("no {what} of the workspace answers to {}", told(route))
}

/// One does, and this address may not speak for it.
pub fn barred(what: &str, route: &Pairs) -> String {
    format!(
        "the {what} that answers to {} asks its senders for a proof, and the address that this came to asks for none: give the one of this address the secret too",
        told(route)
    )
}

fn told(route: &Pairs) -> String {
    let route: Vec<_> = route
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    route.join(", ")
}
