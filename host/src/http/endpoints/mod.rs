//! One operation, one file. To add one: a case in `route.rs` (group, match,
//! name), an arm in `router.rs`, a file here whose function takes the [`Call`]
//! and the proof of its group, its description in `http/openapi`, and tests in
//! `tests/it` that try what it refuses.
//!
//! [`Call`]: super::call::Call

pub mod admin;
pub mod analytics;
pub mod channel_webhook;
pub mod deals;
pub mod export;
pub mod health;
pub mod ingest;
pub mod notifications;
pub mod products;
pub mod reports;
pub mod tickets;
pub mod whoami;
