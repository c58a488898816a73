//! What a store must load before a batch can be decided.

use std::collections::BTreeSet;

use super::known::ClaimKey;
use crate::domain::delivery::DeliveryStatus;
use crate::domain::id::{ConnectionId, DeliveryId, WorkspaceId};
use crate::domain::lead::Action;
use crate::store::{FetchOutcome, ItemResult, Mode, NewItem, Write};

/// Sorted sets, so that a store which locks rows locks them in one order.
#[derive(Debug, Default)]
pub struct Needs {
    /// Deliveries, with their items and fetches.
    pub deliveries: BTreeSet<DeliveryId>,
    pub claims: BTreeSet<ClaimKey>,
    pub contact_keys: BTreeSet<(WorkspaceId, String)>,
    pub products: BTreeSet<(WorkspaceId, String)>,
    /// Workspaces whose first agent takes leads that name none.
    pub first_agents: BTreeSet<WorkspaceId>,
    /// Connections whose quarantine grows.
    pub quarantine: BTreeSet<ConnectionId>,
    /// Claims whose deals, with their contacts, may change.
    pub deals_of_claims: BTreeSet<ClaimKey>,
    /// Deliveries whose items' deals, with their contacts, may change.
    pub deals_of_deliveries: BTreeSet<DeliveryId>,
}

/// `workspace_of` knows the workspace of a stored delivery: those come first,
/// see [`Needs::deliveries`].
pub fn needs(writes: &[Write], workspace_of: impl Fn(DeliveryId) -> Option<WorkspaceId>) -> Needs {
    let mut needs = Needs::default();
    for write in writes {
        match write {
            Write::Accept(acceptance) => {
                let delivery = &acceptance.delivery;
                if acceptance.result.status == Some(DeliveryStatus::Quarantined) {
                    needs.quarantine.insert(delivery.connection.clone());
                }
                needs.add_items(delivery.workspace, &acceptance.result.items, false);
            }
            Write::Convert(again) => {
                needs.deliveries.insert(again.delivery);
                let replay = matches!(again.mode, Mode::Replay { .. });
                if replay {
                    needs.deals_of_deliveries.insert(again.delivery);
                }
                if let Some(workspace) = workspace_of(again.delivery) {
                    needs.add_items(workspace, &again.result.items, replay);
                }
            }
            Write::Release { delivery, .. } => {
                needs.deliveries.insert(*delivery);
            }
            Write::Answer(answer) => {
                needs.deliveries.insert(answer.delivery);
            }
            Write::Settle(settlement) => {
                needs.deliveries.insert(settlement.delivery);
                if let (Some(workspace), FetchOutcome::Items(items)) =
                    (workspace_of(settlement.delivery), &settlement.outcome)
                {
                    for item in items {
                        needs.add_item(workspace, item, false);
                    }
                }
            }
        }
    }
    needs
}

impl Needs {
    fn add_items(&mut self, workspace: WorkspaceId, items: &[NewItem], replay: bool) {
        for item in items {
            self.add_item(workspace, &item.result, replay);
        }
    }

    fn add_item(&mut self, workspace: WorkspaceId, item: &ItemResult, replay: bool) {
        match item {
            ItemResult::Lead(lead) => {
                if let Some(dedupe) = &lead.dedupe {
                    let key = (lead.connection.clone(), dedupe.key.clone());
                    if replay || lead.action != Action::Create {
                        self.deals_of_claims.insert(key.clone());
                    }
                    self.claims.insert(key);
                }
                for key in &lead.contact_keys {
                    self.contact_keys.insert((workspace, key.clone()));
                }
                for product in &lead.products {
                    self.products.insert((workspace, product.clone()));
                }
                if lead.agent.is_none() {
                    self.first_agents.insert(workspace);
                }
            }
            ItemResult::Fetch(fetch) => {
                if let Some(dedupe) = &fetch.dedupe {
                    self.claims
                        .insert((fetch.connection.clone(), dedupe.key.clone()));
                }
            }
            ItemResult::Ignored(_) | ItemResult::Invalid(_) | ItemResult::Unrouted(_) => {}
        }
    }
}
