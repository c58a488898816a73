//! Leadhost: takes leads from any source and sends template messages over any
//! channel. What is specific to a source or a channel runs as a WebAssembly
//! component that can be swapped while the service runs; what is stable is here.
//!
//! Direction of imports: `main -> http, pipeline -> app -> store, plugin, search -> domain`.

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod egress;
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
