//! The types of the contracts, generated from `wit/v1`.
//!
//! What converters and adapters share (`leadhost:types`) is generated once, with
//! the converter's, so that a delivery or a request is one type in both. The
//! generated custom section is emitted where a plugin is exported, not here: a
//! component must say only the world that it implements.

pub mod adapter;
pub mod converter;

pub use converter::leadhost::types::core;
