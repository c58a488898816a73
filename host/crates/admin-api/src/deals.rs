//! Deals: found by the persons and ids that lead to them, shown with their history, and removed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::people::{AgentName, ContactName, ConversationSummary, OwnerName, TicketSummary};
use leadhost_domain::delivery::ItemStatus;
use leadhost_domain::id::{
    ConnectionId, DealId, DealLogId, DeliveryId, KeyId, PartnerId, ProductId, RepairId,
};
use leadhost_domain::time::Micros;
use leadhost_domain::word::words;

/// A page of deals, newest first.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deals {
    pub deals: Vec<DealSummary>,
    /// The `before` of the next page. Null on the last page.
    pub next: Option<DealId>,
    /// The time of the last deal that was looked at, if the page is not full although older ones may
    /// match: `next` continues there. The deals of one `workspace` are looked for among a bounded number
    /// of deals. Null if the page is full, or nothing is left.
    pub searched_until: Option<Micros>,
}

/// A deal with the names of what it refers to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealSummary {
    pub id: DealId,
    /// The workspace's slug.
    pub workspace: String,
    pub title: Option<String>,
    /// `open`, `won`, `lost` or `closed`.
    pub status: String,
    /// Its stage, as the export names it: `in_qualification`.
    pub stage: String,
    /// The source's id of its lead.
    pub external_id: Option<String>,
    pub created_at: Micros,
    pub updated_at: Micros,
    pub contact: ContactName,
    /// Null if it has no owner.
    pub owner: Option<OwnerName>,
    /// The product that it concerns. Null if none is known.
    pub product: Option<ProductName>,
    /// The instance that it was routed to.
    pub instance: Option<AgentName>,
    /// The origin that the lead names, or the name of the connection.
    pub source: Option<String>,
}

/// A product by its names.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductName {
    pub id: ProductId,
    pub name: Option<String>,
    pub external_id: Option<String>,
}

/// A deal with everything that belongs to it, and its history.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealDetail {
    #[serde(flatten)]
    pub facts: DealSummary,
    /// The properties of the deal from its source, as exported: the message, the campaign, the listings, the person as
    /// the lead names it.
    #[schema(value_type = Object)]
    pub props: Map<String, Value>,
    /// The connection that brought it. Null if a partner created it.
    pub connection_id: Option<ConnectionId>,
    /// The name of the connection. Null also if it no longer exists.
    pub connection: Option<String>,
    /// The name of the partner that created it. Null if a source brought it.
    pub partner: Option<String>,
    /// The delivery that created the deal. Null if a partner created it.
    pub delivery_id: Option<DeliveryId>,
    /// The latest deliveries that led to it, newest first. Those of the repeated leads are among them.
    pub deliveries: Vec<DealDelivery>,
    /// Its latest conversations, newest first.
    pub conversations: Vec<ConversationSummary>,
    /// Its latest tickets, newest first.
    pub tickets: Vec<TicketSummary>,
    /// The latest changes, newest first.
    pub history: Vec<DealChangeView>,
    /// The latest notes of partners, newest first.
    pub logs: Vec<DealLogView>,
}

/// A delivery with an item that led to a deal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealDelivery {
    pub id: DeliveryId,
    /// When it arrived, to the millisecond.
    pub received_at: Micros,
    /// The result of the item.
    pub status: ItemStatus,
}

/// A change of a deal, and its author: a partner with its key, a source by a delivery, or the undo of
/// a repair.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealChangeView {
    pub at: Micros,
    pub by: Changer,
    /// Null unless the author is a partner.
    pub partner_id: Option<PartnerId>,
    /// The partner's name. Null also if the partner no longer exists.
    pub partner: Option<String>,
    /// Null unless the author is a partner.
    pub key_id: Option<KeyId>,
    /// The key's label and hint. Null also if the key no longer exists.
    pub key: Option<String>,
    /// Null unless the author is a source.
    pub delivery_id: Option<DeliveryId>,
    /// Whether an operator converted the delivery again, which changed the fields. The audit says who.
    #[serde(default)]
    pub replayed: bool,
    /// The repair that converted the delivery again, or that was undone. Null otherwise.
    pub repair_id: Option<RepairId>,
    /// The changed fields. For the first change of a deal that a partner created: its initial
    /// fields.
    pub changes: Vec<ChangedField>,
}

words! {
    /// The author of a change of a deal.
    Changer: "the author of a change" {
        Partner = "partner",
        Source = "source",
        /// The undo of a repair.
        Repair = "repair",
    }
}

/// A field of a deal that changed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedField {
    /// The field's name in the export: `status`, `product_id`, `props.message`.
    pub field: String,
    pub before: Value,
    pub after: Value,
    /// The name of the owner or product that `before` is the id of. Null for all else, and if it no longer
    /// exists.
    pub before_name: Option<String>,
    /// The same for `after`.
    pub after_name: Option<String>,
}

/// A partner's note on a deal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealLogView {
    pub id: DealLogId,
    pub created_at: Micros,
    pub partner_id: PartnerId,
    /// The partner's name. Null if the partner no longer exists.
    pub partner: Option<String>,
    pub key_id: KeyId,
    /// The key's label and hint. Null if the key no longer exists.
    pub key: Option<String>,
    /// `success`, or a kind of the partner's own.
    #[serde(rename = "type")]
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    /// The data that the partner sent with the note.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

/// A deal that was removed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DealRemoved {
    pub id: DealId,
    /// The workspace's slug.
    pub workspace: String,
    /// Always true.
    pub removed: bool,
}
