//! Changes of deals by partners as they are committed, and the records of them. Each
//! change is one transaction: it stamps the deal once, adds a row to the deal's history,
//! and changes the conversation and the ticket that belong to the deal.

use super::messaging::{Channel, IdempotencyClaim, NewMessage, StoredAnswer};
use crate::prelude::*;
use leadhost_domain::deal::{DealStage, DealStatus};
use leadhost_domain::phone::Phone;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "by")]
pub enum ChangedBy {
    #[serde(rename_all = "camelCase")]
    Partner {
        partner_id: PartnerId,
        key_id: KeyId,
    },
    /// The source, by this delivery. With a repair: which converted the delivery again.
    #[serde(rename_all = "camelCase")]
    Source {
        delivery_id: DeliveryId,
        /// An operator converted the delivery again, and this is what changed by it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repair_id: Option<RepairId>,
    },
    /// The undo of a repair.
    #[serde(rename_all = "camelCase")]
    Repair { repair_id: RepairId },
}

/// A partner that works on deals: on those that came through its connections and on those
/// that it created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByPartner {
    pub workspace: WorkspaceId,
    pub partner: PartnerId,
    pub key: KeyId,
}

impl ByPartner {
    pub fn changed_by(self) -> ChangedBy {
        ChangedBy::Partner {
            partner_id: self.partner,
            key_id: self.key,
        }
    }
}

/// `PATCH /deal/{dealId}`, checked. `None` leaves a field unchanged.
#[derive(Clone, Debug)]
pub struct DealPatch {
    pub by: ByPartner,
    pub deal: DealId,
    pub status: Option<DealStatus>,
    pub stage: Option<DealStage>,
    pub product: Option<String>,
    /// The new owner's address, normalised. The inner `None` leaves the deal without an owner.
    pub owner_email: Option<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DealPatched {
    /// False: the deal was already so, and was not stamped.
    Done {
        changed: bool,
    },
    /// The deal does not exist or is not this partner's.
    NoDeal,
    NoProduct,
    NoOwner,
}

/// `POST /deal`, checked and normalised.
#[derive(Clone, Debug)]
pub struct NewDeal {
    pub by: ByPartner,
    pub id: DealId,
    pub name: String,
    pub phone: Option<Phone>,
    pub email: Option<String>,
    /// See `domain::contact::keys`.
    pub contact_keys: Vec<String>,
    pub product: Option<ProductReference>,
    /// Create the deal even if the product is not known.
    pub bypass_product_check: bool,
    /// None: the workspace's first agent.
    pub agent: Option<AgentId>,
    pub external_id: Option<String>,
    /// `source`, `conversionIdentifier`.
    pub props: Map<String, Value>,
    /// A message to the contact, which then has a phone.
    pub message: Option<DealMessage>,
    pub idempotency: Option<IdempotencyClaim>,
    /// Words the answer, which is stored in the same commit as the deal.
    pub answer: fn(&CreatedDeal) -> StoredAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedDeal {
    pub id: DealId,
    /// The conversation that the message begins, and the message, which waits for the worker.
    pub begun: Option<(ConversationId, MessageId)>,
}

/// A product as the partner named it: by its id, its external id, or both. If both are
/// given, they must agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductReference {
    pub id: Option<ProductId>,
    pub external_id: Option<String>,
}

/// The template that begins a new deal's conversation. The worker sends it.
#[derive(Clone, Debug)]
pub struct DealMessage {
    pub channel: Channel,
    pub message: NewMessage,
    /// Whether to hand the conversation to people if it is not answered in time.
    pub transfer: bool,
    pub special_instructions: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DealCreated {
    /// Stored, with the answer that a repeat receives.
    Done(StoredAnswer),
    /// The idempotency key has a stored answer already.
    Replayed(StoredAnswer),
    /// The idempotency key was used with another body.
    KeyReused,
    /// A deal of the partner has the external id. Nothing was stored.
    ExternalIdTaken(DealId),
    /// The contact has opted out or was banned. Nothing was stored.
    Banned,
    /// The product is not known. Nothing was stored.
    NoProduct,
    /// The two ids name two different products, both known. Nothing was stored.
    TwoProducts,
}

/// `POST .../deals/{dealId}/log`, checked.
#[derive(Clone, Debug)]
pub struct NewDealLog {
    pub by: ByPartner,
    pub deal: DealId,
    pub id: DealLogId,
    /// `success`, or a kind of the partner's own.
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    pub metadata: Map<String, Value>,
    pub idempotency: Option<IdempotencyClaim>,
    /// Words the answer, which is stored in the same commit as the entry.
    pub answer: fn(&CreatedDealLog) -> StoredAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedDealLog {
    pub id: DealLogId,
    pub deal: DealId,
    pub created_at: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DealLogged {
    /// Stored, with the answer that a repeat receives.
    Done(StoredAnswer),
    Replayed(StoredAnswer),
    KeyReused,
    /// The deal does not exist or is not this partner's.
    NoDeal,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DealChange {
    pub at: Micros,
    pub by: ChangedBy,
    /// The changed fields. For the first row of a deal that a partner created: its
    /// initial fields.
    pub changes: Vec<FieldChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The field's name in the export: `status`, `product_id`, `props.message`.
    pub field: String,
    pub before: Value,
    pub after: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DealLog {
    pub id: DealLogId,
    pub created_at: Micros,
    pub partner_id: PartnerId,
    pub key_id: KeyId,
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    pub metadata: Map<String, Value>,
}

/// A deal's past, for operators. Both lists have the newest entry first.
#[derive(Clone, Debug, PartialEq)]
pub struct DealPast {
    pub created_at: Micros,
    /// The delivery that created the deal. `None` if a partner created it.
    pub delivery_id: Option<DeliveryId>,
    pub history: Vec<DealChange>,
    pub logs: Vec<DealLog>,
}
