//! What most decisions use.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use serde_json::{Map, Value, json};
pub use uuid::Uuid;

pub use super::{
    Claim, ClaimKey, ContactRecord, ConversationRecord, DealRecord, DeliveryRecord, ItemRecord,
    MessageRecord, TicketRecord, WorkingSet,
};
pub use crate::change::RowChange;
pub use crate::{Channel, Mode, StoreError, WriteOutcome};
pub use leadhost_domain::contact;
pub use leadhost_domain::deal::DealStatus;
pub use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
pub use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, DeliveryId, KeyId, MessageErrorId,
    MessageId, OwnerId, PartnerId, ProductId, RepairId, TicketId, WorkspaceId,
};
pub use leadhost_domain::limits;
pub use leadhost_domain::message::{MessageProgress, MessageState};
pub use leadhost_domain::plugin::RanWith;
pub use leadhost_domain::time::Micros;
