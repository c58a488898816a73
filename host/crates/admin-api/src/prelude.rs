//! What most resources use.

pub use std::collections::BTreeMap;

pub use serde::{Deserialize, Serialize};
pub use serde_json::Value;
pub use utoipa::ToSchema;

pub use crate::columns;
pub use crate::columns::Cell;
pub use leadhost_domain::delivery::DeliveryStatus;
pub use leadhost_domain::id::{AgentId, ConnectionId, ContactId, DeliveryId, KeyId, WorkspaceId};
pub use leadhost_domain::limits;
pub use leadhost_domain::plugin::Digest;
pub use leadhost_domain::text::counted;
pub use leadhost_domain::time::Micros;
pub use leadhost_domain::word::words;
pub use leadhost_domain::workspace::name_in_workspace;
