//! One binary for all tests against real parts.

#![allow(clippy::unwrap_used)]

mod plugins;
mod store;
