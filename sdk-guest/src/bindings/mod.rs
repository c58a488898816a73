//! The types of the contracts, generated from `wit/v1`.
//!
//! The types that converters and adapters share (`leadhost:types`) are generated
//! once, with the converter's, so that a delivery or a request is one type in both.
//! The generated custom section is emitted where a plugin is exported, not here: a
//! component must declare only the world that it implements.

pub mod adapter;
pub mod converter;

pub use converter::leadhost::types::core;
