//! Leadhost takes leads from any source and sends template messages over any channel. Code
//! that is specific to a source or a channel runs as a WebAssembly component that can be
//! replaced while the service runs; the stable part is here.
//!
//! Direction of imports: `cli -> app -> http -> pipeline -> core -> telemetry -> store, plugin, egress -> domain`.

pub mod admin_api;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod core;
pub mod disk;
pub mod domain;
pub mod egress;
pub mod golden_export;
pub mod http;
pub mod limits;
pub mod memory;
pub mod pipeline;
pub mod plugin;
pub mod seal;
pub mod search;
pub mod shutdown;
pub mod store;
pub mod telemetry;
pub mod trace;
