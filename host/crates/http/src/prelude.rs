//! What most of the crate uses.

pub(crate) use std::borrow::Cow;
pub(crate) use std::collections::{BTreeMap, HashMap};
pub(crate) use std::net::SocketAddr;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use hyper::body::Bytes;
pub(crate) use hyper::header::{HeaderName, HeaderValue};
pub(crate) use hyper::{HeaderMap, StatusCode};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use utoipa::ToSchema;

pub(crate) use crate::body::UnreadBody;
pub(crate) use crate::call::Call;
pub(crate) use crate::error::ApiError;
pub(crate) use crate::payload::Payload;
pub(crate) use crate::presence::ClientPresence;
pub(crate) use crate::query::Query;
pub(crate) use crate::reply::{self, ApiResponse};
pub(crate) use crate::state::Http;
pub(crate) use crate::surface::Surface;
pub(crate) use leadhost_domain::error_code::ErrorCode;
pub(crate) use leadhost_domain::id::{
    AgentId, ConnectionId, ContactId, DealId, DeliveryId, WorkspaceId,
};
pub(crate) use leadhost_domain::limits;
pub(crate) use leadhost_domain::plugin::Digest;
pub(crate) use leadhost_domain::shed::Shed;
pub(crate) use leadhost_domain::time::Micros;
pub(crate) use leadhost_domain::workspace::Workspace;
pub(crate) use leadhost_store::{Store, StoreError};
