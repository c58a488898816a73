//! One binary for all tests against real parts.

#![allow(clippy::unwrap_used)]

mod admin;
mod backup;
mod bad_days;
mod cli;
mod crash;
mod data_api;
mod disk;
mod fence;
mod fleet;
mod gateway;
mod ingest;
mod languages;
mod layers;
mod mapping;
mod moving;
mod plugins;
mod replay;
mod server;
mod store;
