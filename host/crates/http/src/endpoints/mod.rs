//! One operation, one file; the small verbs of one resource (list, pause, resume) share a file.
//! `ARCHITECTURE.md` has the recipe for adding an endpoint. An endpoint imports no other one, with
//! the exceptions that `ARCHITECTURE.md` names.

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
