//! Persons: their erasure on request, and the record of it.

pub mod erase;
pub mod erasures;
