//! What the tests share: the components that `cargo xtask` builds, and doubles
//! of far ends. Everything here is real, or stands where a network would be.

pub mod components;
pub mod graph;
pub mod guests;
