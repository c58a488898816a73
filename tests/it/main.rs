//! One binary for all tests against real parts.

#![allow(clippy::unwrap_used)]

mod languages;
mod layers;
mod plugins;
mod store;
