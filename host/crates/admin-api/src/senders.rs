//! The names of the senders of deliveries. Connections of several workspaces may have one name, and a delivery
//! does not say which workspace it belongs to, so its reader asks for the connections and instances.

use std::collections::HashMap;

use super::connections::ConnectionView;
use super::deliveries::DeliveryFacts;
use super::instances::InstanceView;
use crate::prelude::*;

/// The workspaces of connections and instances, by their slugs.
#[derive(Default)]
pub struct WorkspacesOfSenders {
    connections: HashMap<ConnectionId, String>,
    instances: HashMap<AgentId, String>,
}

impl WorkspacesOfSenders {
    pub fn new(connections: &[ConnectionView], instances: &[InstanceView]) -> Self {
        let connections = connections.iter();
        let instances = instances.iter();
        Self {
            connections: connections
                .map(|one| (one.id.clone(), one.workspace.clone()))
                .collect(),
            instances: instances
                .map(|one| (one.id, one.workspace.clone()))
                .collect(),
        }
    }

    pub fn knows(&self, delivery: &DeliveryFacts) -> bool {
        self.slug(delivery).is_some()
    }

    pub fn are_several(&self) -> bool {
        differ(self.connections.values().chain(self.instances.values()))
    }

    pub fn are_several_of<'a>(
        &self,
        deliveries: impl IntoIterator<Item = &'a DeliveryFacts>,
    ) -> bool {
        differ(deliveries.into_iter().filter_map(|one| self.slug(one)))
    }

    pub fn name(&self, delivery: &DeliveryFacts) -> String {
        match self.slug(delivery) {
            Some(slug) => name_in_workspace(slug, &delivery.connection),
            None => delivery.connection.clone(),
        }
    }

    /// Returns the name of the sender: `workspace/name` if the connections and instances are of several
    /// workspaces.
    pub fn shown(&self, delivery: &DeliveryFacts) -> String {
        if self.are_several() {
            self.name(delivery)
        } else {
            delivery.connection.clone()
        }
    }

    fn slug(&self, delivery: &DeliveryFacts) -> Option<&str> {
        let slug = match delivery.instance_id {
            Some(instance) => self.instances.get(&instance),
            None => self.connections.get(&delivery.connection_id),
        };
        slug.map(String::as_str)
    }
}

/// Returns whether there are two different ones. A page asks for each of its rows, so nothing is collected.
fn differ<T: PartialEq>(mut slugs: impl Iterator<Item = T>) -> bool {
    let first = slugs.next();
    slugs.any(|slug| Some(&slug) != first.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::uuid_at;

    #[test]
    fn a_sender_is_named_with_its_workspace_if_there_are_several() {
        let [one, two, three] = [(); 3].map(|()| ConnectionId::generate());
        let delivery = DeliveryFacts {
            id: DeliveryId(uuid_at(Micros(0))),
            connection_id: one.clone(),
            connection: "form".to_owned(),
            instance_id: None,
            received_at: Micros(0),
            status: DeliveryStatus::Converted,
            bytes: 0,
            attempts: 0,
            ran: None,
            error: None,
        };
        let check = |slugs: &[(&ConnectionId, &str)], expect: &str| {
            let connections = slugs.iter();
            let senders = WorkspacesOfSenders {
                connections: connections
                    .map(|(id, slug)| ((*id).clone(), (*slug).to_owned()))
                    .collect(),
                ..WorkspacesOfSenders::default()
            };
            assert_eq!(senders.shown(&delivery), expect);
        };
        check(&[(&one, "acme")], "form");
        check(&[(&one, "acme"), (&two, "acme")], "form");
        check(&[(&one, "acme"), (&two, "other")], "acme/form");
        // Its connection is not known.
        check(&[(&two, "other"), (&three, "third")], "form");
    }
}
