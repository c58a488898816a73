//! Plugins: their list, upload, activation, rollback and removal.

pub mod calls;
pub mod comparison;
mod connection_names;
pub mod list;
pub mod order;
pub mod outcome;
pub mod rollout;
pub mod upload;
pub mod verify;
pub mod versions;
