//! Deals.

use super::record::fed;
use crate::prelude::*;
use crate::schema::described::table;
use leadhost_domain::deal::{DealStage, DealStatus};
use leadhost_domain::provenance::Provenance;

// The creator and the origin of a deal never change. The partner of a deal that came through a
// connection is the connection's.
table! {
    pub static DEALS: "deals" {
        key: &["id"],
        keyed_with_workspace: true,
        feed: Some(Entity::Deals),
    }

    #[derive(Debug)]
    pub struct DealRecord |self, row, id: DealId, cursor_us: i64, at: Micros| {
        workspace_id => workspace: WorkspaceId [exported],
        cursor_us: i64 [exported_as("cursor_at")] = cursor_us,
        id: DealId [exported] = id,
        person_id => person: ContactId [exported],
        agent_id => agent: Option<AgentId> [exported, fixed],
        owner_id => owner: Option<OwnerId> [exported],
        status: DealStatus [exported],
        title: Option<String> [exported],
        props: Map<String, Value> [exported],
        /// Fields that a person or a partner edited. A source does not overwrite them.
        edited: Vec<String> [jsonb],
        created_at: Micros [exported, fixed] = at,
        updated_at: Micros [exported] = at,
        stage_code => stage: DealStage [exported],
        product_id => product: Option<ProductId> [exported],
        external_id: Option<String> [exported, fixed],
        connection_id => connection: Option<ConnectionId> [fixed],
        delivery_id => delivery: Option<DeliveryId> [fixed],
        /// The partner whose connection it came through, or who created it.
        partner_id => partner: Option<PartnerId> [fixed],
        provenance: Provenance,
        ;
        change: RowChange = RowChange::None,
    }
}

fed!(DealRecord: DealId in DEALS of Deals, may_meet: false, is_over: |_row| false);

impl DealRecord {
    /// Returns a new, open deal of this contact, with nothing else set.
    pub fn new(workspace: WorkspaceId, person: ContactId) -> Self {
        Self {
            workspace,
            person,
            agent: None,
            owner: None,
            status: DealStatus::Open,
            stage: DealStage::FIRST,
            title: None,
            props: Map::new(),
            edited: Vec::new(),
            product: None,
            external_id: None,
            partner: None,
            connection: None,
            delivery: None,
            provenance: Provenance::default(),
            change: RowChange::New,
        }
    }
}
