//! One operation, one file. To add one: a case in `route.rs` (group, match,
//! name), an arm in `router.rs`, a file here whose function takes the [`Call`]
//! and the proof of its group, and tests in `tests/it` that try what it refuses.
//!
//! [`Call`]: super::router::Call

pub mod admin;
pub mod deals;
pub mod export;
pub mod health;
pub mod ingest;
pub mod whoami;
