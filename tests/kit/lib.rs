//! The library that the tests use: a whole host in this process, on free ports,
//! over a store of its own and with a manual clock; a plain HTTP client; the
//! components that `cargo xtask` builds; and doubles of providers.
//! Everything here is real, except for the parts that replace a network.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod client;
pub mod compiled;
pub mod components;
mod described;
pub mod figures;
pub mod guests;
pub mod host;
pub mod host_actions;
pub mod hosts;
pub mod json;
mod left_out;
pub mod load;
pub mod log;
pub mod on;
pub mod otlp;
pub mod phones;
pub mod postgres;
pub mod program;
pub mod provider;
pub mod proxy;
pub mod random;
pub mod registry;
pub mod seed;
pub mod service;
pub mod size;
pub mod text;

pub use client::{Answer, Ask};
pub use host::{Host, Options};
pub use host_actions::{Declared, LONG, eventually, until};
pub use hosts::Hosts;
pub use json::Json;
pub use left_out::left_out;
pub use log::Log;
pub use on::On;
pub use random::Random;
pub use seed::Seeded;
pub use service::Service;
pub use size::sized;
pub use xtask::double::graph;
