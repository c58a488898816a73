//! Changes of deals by partners as they are committed, and what is kept of them.
//! Each is one transaction: the deal is stamped once, a row of its history says
//! who changed what, and what hangs on it (conversation, ticket) changes with it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Channel, FieldChange, IdempotencyClaim, NewMessage, StoredAnswer};
use crate::domain::deal::{Stage, Status};
use crate::domain::id::{
    AgentId, DealId, DealLogId, DeliveryId, KeyId, PartnerId, ProductId, WorkspaceId,
};
use crate::domain::phone::Phone;
use crate::domain::time::Micros;

/// Who changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "by")]
pub enum ChangedBy {
    #[serde(rename_all = "camelCase")]
    Partner {
        partner_id: PartnerId,
        key_id: KeyId,
    },
    /// The source, in this delivery.
    #[serde(rename_all = "camelCase")]
    Source { delivery_id: DeliveryId },
}

/// A partner that works on deals: those that came through its connections, and
/// those that it made.
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

/// `PATCH /deal/{dealId}`, checked. What is `None` stays.
#[derive(Clone, Debug)]
pub struct DealPatch {
    pub by: ByPartner,
    pub deal: DealId,
    pub status: Option<Status>,
    pub stage: Option<Stage>,
    /// The linked product's external id.
    pub product: Option<String>,
    /// The new owner's address, normalised.
    pub owner_email: Option<String>,
}

/// What a patch became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DealPatched {
    /// False: it was so before, and nothing was stamped.
    Done {
        changed: bool,
    },
    /// Not there, or not this partner's.
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
    /// A product that is not known is no reason to refuse.
    pub bypass_product_check: bool,
    /// None: the workspace's first.
    pub agent: Option<AgentId>,
    pub external_id: Option<String>,
    /// `source`, `conversionIdentifier`.
    pub props: Map<String, Value>,
    /// What the contact is sent; it has a phone then.
    pub message: Option<DealMessage>,
    pub idempotency: Option<IdempotencyClaim>,
}

/// As the partner named it: by one of the two or both, which have to agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProductReference {
    pub id: Option<ProductId>,
    pub external_id: Option<String>,
}

/// The template that a new deal's conversation begins with. The worker sends it.
#[derive(Clone, Debug)]
pub struct DealMessage {
    pub channel: Channel,
    pub message: NewMessage,
    /// Transferred to people when it is not answered in time.
    pub transfer: bool,
    pub special_instructions: Option<String>,
}

/// What a new deal became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DealCreated {
    /// Stored, with the answer as its repeats will hear it: 201.
    Done(StoredAnswer),
    /// The key was answered before.
    Replayed(StoredAnswer),
    /// The key came with another body before.
    KeyReused,
    /// The contact wants no messages, or was banned; nothing was stored.
    Banned,
    /// The product is not known; nothing was stored.
    NoProduct,
    /// The two names are of two products, both known; nothing was stored.
    TwoProducts,
}

/// `POST .../deals/{dealId}/log`, checked.
#[derive(Clone, Debug)]
pub struct NewDealLog {
    pub by: ByPartner,
    pub deal: DealId,
    pub id: DealLogId,
    /// `success`, or a word of the partner's.
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    pub metadata: Map<String, Value>,
    pub idempotency: Option<IdempotencyClaim>,
}

/// What a log became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DealLogged {
    /// Stored, with the answer as its repeats will hear it: 201.
    Done(StoredAnswer),
    Replayed(StoredAnswer),
    KeyReused,
    /// Not there, or not this partner's.
    NoDeal,
}

/// A row of a deal's history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DealChange {
    pub at: Micros,
    #[serde(flatten)]
    pub by: ChangedBy,
    /// What changed; of a deal that a partner made, what it began with.
    pub changes: Vec<FieldChange>,
}

/// What a partner noted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DealLog {
    pub id: DealLogId,
    pub created_at: Micros,
    pub partner_id: PartnerId,
    pub key_id: KeyId,
    #[serde(rename = "type")]
    pub kind: String,
    pub subject: String,
    pub description: Option<String>,
    pub metadata: Map<String, Value>,
}

/// For operators: a deal's past, newest first in both lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DealPast {
    pub created_at: Micros,
    /// That made it; of a deal that a partner made there is none.
    pub delivery_id: Option<DeliveryId>,
    pub history: Vec<DealChange>,
    pub logs: Vec<DealLog>,
}
