//! The double of the Graph API, which `cargo xtask double graph` starts too:
//! `GraphDouble::start(GraphOptions::default())` listens on a free port.

pub use xtask::double::graph::{GraphDouble, GraphOptions, proof};
