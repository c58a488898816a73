//! Conversion of rows of either store to the domain's types. `columns.rs` reads a column; each store
//! defines how its columns hold an id, a time, a number, a text or JSON. The meaning of a whole row
//! is defined once, in the other files of this folder, so it is the same in both stores.
//!
//! Both stores select a column under the same name; the name of a time ends in `_at`.
//!
//! # Errors
//!
//! The functions of this module fail with [`StoreError::Inconsistent`](super::StoreError::Inconsistent) if a column holds a value
//! that it cannot hold, which is a defect or a manual change in the database. The error names the
//! column.

pub mod agents;
pub mod analytics;
pub mod audit;
mod columns;
pub mod connections;
pub mod deals;
pub mod deliveries;
pub mod desk;
pub mod erase;
pub mod export;
pub mod fetches;
pub mod keys;
pub mod messages;
pub mod plugins;
pub mod products;
pub mod repairs;
pub mod rollouts;
pub mod sketches;
pub mod working_set;

pub use self::columns::{ColumnRef, RowColumns, json, unread};
