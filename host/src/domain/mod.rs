//! The words of the service as types: no IO, no clock, no chance. What can be
//! wrong is parsed here at the edge into what cannot; everything else passes
//! these types on. Imports nothing else of ours.

pub mod analytics;
pub mod audit;
pub mod channel;
pub mod connection;
pub mod contact;
pub mod conversation;
pub mod cursor;
pub mod deal;
pub mod delivery;
pub mod difference;
pub mod exchange;
pub mod hex;
pub mod id;
pub mod json;
pub mod key;
pub mod lead;
pub mod message;
pub mod network;
pub mod phone;
pub mod plugin;
pub mod publisher;
pub mod rollout;
pub mod row;
pub mod text;
pub mod ticket;
pub mod time;
pub mod word;
pub mod workspace;
pub mod zone;
