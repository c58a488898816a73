//! Single deals: their history and their removal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::id::{DealId, DealLogId, DeliveryId, KeyId, PartnerId, RepairId};
use crate::domain::time::Micros;
use crate::domain::word::words;

/// The history of a deal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealHistory {
    pub id: DealId,
    /// The workspace's slug.
    pub workspace: String,
    pub created_at: Micros,
    /// The delivery that created the deal. Null if a partner created it.
    pub delivery_id: Option<DeliveryId>,
    /// The latest changes, newest first.
    pub history: Vec<DealChangeView>,
    /// The latest notes of partners, newest first.
    pub logs: Vec<DealLogView>,
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
pub struct ChangedField {
    /// The field's name in the export: `status`, `product_id`, `props.message`.
    pub field: String,
    pub before: Value,
    pub after: Value,
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
