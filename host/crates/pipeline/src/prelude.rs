//! What most steps use.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::sync::Arc;
pub use std::time::{Duration, Instant};

pub use serde_json::{Value, json};

pub use crate::connections::Live;
pub use crate::core::Core;
pub use crate::state::Pipeline;
pub use leadhost_config as config;
pub use leadhost_config::shutdown::Shutdown;
pub use leadhost_domain::connection::{Connection, ConnectionKind};
pub use leadhost_domain::delivery::DeliveryStatus;
pub use leadhost_domain::exchange::{HttpResponse, InputProblem, Pairs};
pub use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, ConversationId, DealId, DeliveryId, HostId, KeyId, MessageId,
    PartnerId, ProductId, RepairId, WorkspaceId,
};
pub use leadhost_domain::limits;
pub use leadhost_domain::plugin::{Digest, PluginKind};
pub use leadhost_domain::rollout::{Rollout, RolloutStage};
pub use leadhost_domain::time::Micros;
pub use leadhost_plugin::{CallBudget, CallError, Loaded, PreparedVersion};
pub use leadhost_store::{
    Activation, ItemResult, NewDelivery, NewItem, NewLead, PluginRecord, StoreError, Write,
    WriteOutcome,
};
