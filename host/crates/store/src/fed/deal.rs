//! Deals.

use serde_json::{Map, Value};

use super::record::{Fed, written};
use crate::StoreError;
use crate::change::RowChange;
use crate::row::RowColumns;
use crate::schema::table::{OnConflict, TableSchema, column, jsonb, leaves, leaves_as, nullable};
use crate::sql::SqlType::{Json, Number, Text, Time, Uuid};
use crate::sql::{Arg, Sql, args, json, made};
use leadhost_domain::deal::{self, DealStage, DealStatus};
use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, OwnerId, PartnerId, ProductId,
    WorkspaceId,
};
use leadhost_domain::provenance::Provenance;
use leadhost_domain::row::Entity;
use leadhost_domain::time::Micros;

#[derive(Debug)]
pub struct DealRecord {
    pub workspace: WorkspaceId,
    pub person: ContactId,
    pub agent: Option<AgentId>,
    pub owner: Option<OwnerId>,
    pub status: DealStatus,
    pub stage: DealStage,
    pub title: Option<String>,
    pub props: Map<String, Value>,
    /// Fields that a person or a partner edited. A source does not overwrite them.
    pub edited: Vec<String>,
    pub product: Option<ProductId>,
    pub external_id: Option<String>,
    /// The partner whose connection it came through, or who created it.
    pub partner: Option<PartnerId>,
    pub connection: Option<ConnectionId>,
    pub delivery: Option<DeliveryId>,
    pub provenance: Provenance,
    pub change: RowChange,
}

pub static DEALS: TableSchema = TableSchema {
    name: "deals",
    key: &["id"],
    leads_with_workspace: true,
    feed: Some(Entity::Deals),
    ends: &[],
    columns: &[
        column("workspace_id", Uuid),
        column("cursor_us", Number),
        column("id", Uuid),
        column("person_id", Uuid),
        nullable("agent_id", Number),
        nullable("owner_id", Uuid),
        column("status", Text),
        nullable("title", Text),
        column("props", Json),
        jsonb("edited"),
        column("created_at", Time),
        column("updated_at", Time),
        column("stage_code", Text),
        nullable("product_id", Uuid),
        nullable("external_id", Text),
        nullable("connection_id", Text),
        nullable("delivery_id", Uuid),
        nullable("partner_id", Uuid),
        column("provenance", Json),
    ],
    exported: &[
        leaves("id"),
        leaves("workspace_id"),
        leaves_as("cursor_us", "cursor_at"),
        leaves("person_id"),
        leaves("agent_id"),
        leaves("owner_id"),
        leaves("status"),
        leaves("title"),
        leaves("props"),
        leaves("created_at"),
        leaves("updated_at"),
        leaves("stage_code"),
        leaves("product_id"),
        leaves("external_id"),
    ],
};

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

    /// Reads a deal. Its partner is the one that created it, or whose connection it came through.
    pub fn read(row: &impl RowColumns) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: row.id("workspace_id")?,
            person: row.id("person_id")?,
            agent: row.number_if("agent_id")?.map(AgentId),
            owner: row.id_if("owner_id")?,
            status: row.word("deals", "status", deal::DealStatus::from_text)?,
            stage: row.word("deals", "stage_code", deal::DealStage::from_text)?,
            title: row.text_if("title")?,
            props: row.json("props")?,
            edited: row.json("edited")?,
            product: row.id_if("product_id")?,
            external_id: row.text_if("external_id")?,
            partner: row.id_if("partner_id")?,
            connection: row.text_id_if("connection_id")?,
            delivery: row.id_if("delivery_id")?,
            provenance: row.json("provenance")?,
            change: RowChange::None,
        })
    }
}

// The creator and the origin of a deal never change. The partner of a deal that came through a
// connection is the connection's.
impl Fed<19> for DealRecord {
    type Id = DealId;
    const FEED: Entity = Entity::Deals;
    const MAY_MEET: bool = false;

    written!(DEALS, OnConflict::Fail, fixed: ["agent_id", "created_at", "external_id", "connection_id", "delivery_id", "partner_id"]);

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 19], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            person_id: self.person,
            agent_id: self.agent,
            owner_id: self.owner,
            status: self.status.as_str(),
            title: self.title.as_deref(),
            props: json(&self.props)?,
            edited: json(&self.edited)?,
            created_at: at,
            updated_at: at,
            stage_code: self.stage.as_str(),
            product_id: self.product,
            external_id: self.external_id.as_deref(),
            connection_id: self.connection.as_ref(),
            delivery_id: self.delivery,
            partner_id: self.partner,
            provenance: json(&self.provenance)?,
        })
    }
}
