//! What most decisions use.

pub use serde_json::json;

pub use super::{
    Claim, ContactRecord, ConversationRecord, DealRecord, DeliveryRecord, ItemRecord,
    MessageRecord, TicketRecord, WorkingSet,
};
pub use crate::prelude::*;
pub use crate::{Channel, Mode, WriteOutcome};
pub use leadhost_domain::contact;
pub use leadhost_domain::deal::DealStatus;
pub use leadhost_domain::message::{MessageProgress, MessageState};
