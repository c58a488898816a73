use serde_json::Map;

use super::columns::plain;
use super::people::{AgentName, ContactName, ConversationSummary, OwnerName, TicketSummary};
use crate::prelude::*;
use leadhost_domain::delivery::ItemStatus;
use leadhost_domain::id::{DealId, DealLogId, PartnerId, ProductId, RepairId};

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

columns! {
    DealDetail as deal {
        "Deal" => Cell::id(deal.facts.id),
        "Workspace" => &deal.facts.workspace,
        "Title" commands => &deal.facts.title,
        "Status" => Cell::from(format!("{}, {}", deal.facts.status, deal.facts.stage)).tag(""),
        "Contact" commands => deal.facts.contact.in_words(),
        "Person" pages => deal.facts.contact.cell().reason(deal.facts.contact.email.as_ref()),
        "Owner" => Cell::from(deal.facts.owner.as_ref().map(OwnerName::shown)).or("none").note(
            deal.facts.owner.as_ref().filter(|owner| owner.name.is_some()).and_then(|owner| owner.email.as_ref()),
        ),
        "Product" => deal.facts.product.as_ref().map(ProductName::cell),
        "Instance" => deal.facts.instance.as_ref().map(AgentName::shown),
        "Source" => &deal.facts.source,
        "External id" => &deal.facts.external_id,
        "Connection" => deal.connection_id.as_ref().map(|id| {
            Cell::from(deal.connection.clone().unwrap_or_else(|| id.to_string()))
                .link(format!("/deliveries?connection={id}"))
        }),
        "Created by" => deal.partner.as_ref().map(|partner| format!("partner {partner}")),
        "Created" => deal.facts.created_at,
        "Delivery" => deal.delivery_id.map(|id| Cell::id(id).link(format!("/deliveries/{id}"))),
        "Changed" => deal.facts.updated_at,
    }

    DealSummary as deal {
        "Created" => Cell::from(deal.created_at).reason(Some(&deal.workspace)),
        "Person" main => deal.contact.cell(),
        "Status" => Cell::from(&deal.status).tag(""),
        "Stage" => &deal.stage,
        "Owner" named => Cell::from(deal.owner.as_ref().map(OwnerName::shown)).or("none"),
        "Product" => deal.product.as_ref().map(ProductName::cell),
        "Source" => Cell::from(&deal.source).reason(deal.external_id.as_ref()),
        "Deal" => Cell::id(deal.id).link(format!("/deals/{}", deal.id)),
    }

    DealDelivery as delivery {
        "Received" => delivery.received_at,
        "Item" => Cell::word(delivery.status.as_str()),
        "Delivery" => Cell::id(delivery.id).link(format!("/deliveries/{}", delivery.id)),
    }

    FieldOfChange<'_> as of {
        "At" commands => of.change.at,
        "By" commands => of.change.author(),
        "Field" => &of.field.field,
        "Before" => named_value(&of.field.before, of.field.before_name.as_ref()),
        "After" => named_value(&of.field.after, of.field.after_name.as_ref()),
    }

    DealLogView as log {
        "Noted" => log.created_at,
        "By" => partner(
            log.partner.clone().unwrap_or_else(|| log.partner_id.to_string()),
            log.key.clone().unwrap_or_else(|| log.key_id.to_string()),
        ),
        "Type" => &log.kind,
        "Subject" => &log.subject,
        "Description" => &log.description,
        "Metadata" => Cell::id(Value::Object(log.metadata.clone())),
    }
}

pub struct FieldOfChange<'a> {
    change: &'a DealChangeView,
    field: &'a ChangedField,
}

impl DealChangeView {
    pub fn fields(&self) -> Vec<FieldOfChange<'_>> {
        let fields = self.changes.iter();
        let fields = fields.map(|field| FieldOfChange {
            change: self,
            field,
        });
        fields.collect()
    }

    /// Returns the partner and its key by name, the delivery from the source with the repair that converted it
    /// again, or the undone repair.
    pub fn author(&self) -> String {
        match (self.delivery_id, self.repair_id) {
            (Some(delivery), None) => format!("source, delivery {delivery}"),
            (Some(delivery), Some(repair)) => {
                format!("source, delivery {delivery} in repair {repair}")
            }
            (None, Some(repair)) => format!("undo of repair {repair}"),
            (None, None) => {
                let or_id = |name: &Option<String>, id: Option<String>| {
                    name.clone().or(id).unwrap_or_else(|| "-".to_owned())
                };
                partner(
                    or_id(&self.partner, self.partner_id.map(|id| id.to_string())),
                    or_id(&self.key, self.key_id.map(|id| id.to_string())),
                )
            }
        }
    }
}

fn partner(partner: String, key: String) -> String {
    format!("{partner} (key {key})")
}

fn named_value(value: &Value, name: Option<&String>) -> Cell {
    match name {
        Some(name) => Cell::from(name).note(Some(plain(value))),
        None => Cell::from(value).mono().or("-"),
    }
}

impl ProductName {
    pub fn cell(&self) -> Cell {
        Cell::from(self.name.as_deref().unwrap_or_default()).note(self.external_id.as_ref())
    }
}
