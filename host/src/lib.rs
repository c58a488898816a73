//! Leadhost takes leads from any source and sends template messages over any channel. Code
//! that is specific to a source or a channel runs as a WebAssembly component that can be
//! replaced while the service runs; the stable part is here.

pub mod app;
pub mod cli;
