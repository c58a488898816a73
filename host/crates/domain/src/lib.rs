//! The terms of the service as types: no IO, no clock. Input that may be wrong is parsed here, at
//! the edge, into types that cannot be wrong; all other modules pass these types on. This module
//! imports no other module of the service.

pub mod accept;
#[path = "../../../../sdk-guest/src/addresses.rs"]
mod addresses;
pub mod analytics;
pub mod audit;
pub mod audit_sentence;
pub mod audit_text;
pub mod backlog;
pub mod channel;
pub mod clock;
pub mod connection;
pub mod contact;
pub mod content_coding;
pub mod conversation;
pub mod cursor;
pub mod deal;
pub mod delivery;
pub mod difference;
pub mod error_code;
pub mod escapes;
pub mod exchange;
pub mod export_headers;
pub mod hex;
pub mod host_names;
#[path = "../../../../sdk-guest/src/html.rs"]
mod html;
pub mod id;
pub mod json;
pub mod key;
pub mod lead;
pub mod limits;
pub mod message;
pub mod network;
#[path = "../../../../sdk-guest/src/nothing.rs"]
pub mod nothing;
pub mod phone;
pub mod plugin;
pub mod provenance;
pub mod publisher;
pub mod repair;
pub mod rollout;
pub mod row;
pub mod said;
pub mod setting;
pub mod shed;
pub mod size;
pub mod source_time;
pub mod text;
pub mod ticket;
pub mod time;
pub mod trouble;
pub mod word;
pub mod workspace;
pub mod zone;
