//! What the tests stand on: a whole host on free ports, in this process, over a
//! store of its own, with a clock that is moved by hand; a client that is only a
//! client; the components that `cargo xtask` builds, and doubles of far ends.
//! Everything here is real, or stands where a network would be.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod client;
pub mod components;
pub mod figures;
pub mod graph;
pub mod guests;
pub mod host;
pub mod load;
pub mod log;
pub mod on;
pub mod phones;
pub mod postgres;
pub mod program;
pub mod provider;
pub mod proxy;
pub mod seed;
pub mod service;
pub mod twilio;
pub mod way;
pub mod whatsapp;

pub use client::{Answer, Ask};
pub use host::{Host, Options};
pub use log::Log;
pub use on::On;
pub use seed::Seeded;
pub use service::Service;
pub use way::{Declared, until};
