//! What the tests stand on: a client that is only a client, the components that
//! `cargo xtask` builds, and doubles of far ends. Everything here is real, or
//! stands where a network would be.

pub mod client;
pub mod components;
pub mod graph;
pub mod guests;

pub use client::{Answer, Ask};
