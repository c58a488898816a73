//! Deals as partners work with them. A partner's deals are those that came through its
//! connections and those that it created. Any other deal looks to it like one that does not
//! exist.

pub mod create;
pub mod find;
pub mod id;
pub mod log;
pub mod logs;
pub mod patch;
pub mod schema;
pub mod show;
