//! What most of the store uses.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::path::{Path, PathBuf};
pub use std::sync::{Arc, Mutex};
pub use std::time::Duration;

pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value};
pub use uuid::Uuid;

pub use crate::StoreError;
pub use crate::change::RowChange;
pub use crate::sql::{SqlRow, SqlType, SqlValue, Tx};
pub use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
pub use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, DealLogId, DeliveryId, ErasureId,
    HostId, KeyId, MessageErrorId, MessageId, OwnerId, PartnerId, ProductId, RepairId, TicketId,
    WorkspaceId,
};
pub use leadhost_domain::limits;
pub use leadhost_domain::plugin::{Digest, RanWith};
pub use leadhost_domain::row::Entity;
pub use leadhost_domain::time::Micros;
