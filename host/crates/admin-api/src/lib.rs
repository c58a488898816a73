//! Requests and answers of the admin API, a file for each resource. The service writes the
//! answers, the command line reads them, and the OpenAPI document of the admin API describes
//! them: all three use these types.
//!
//! An answer always has all keys of its type, with null for an unknown value, unless a field
//! says otherwise. A reader ignores keys that it does not know.

pub mod activity;
pub mod analytics;
pub mod apply;
pub mod audit;
pub mod captures;
pub mod columns;
pub mod config;
pub mod connections;
pub mod contacts;
pub mod deals;
pub mod deliveries;
pub mod error;
pub mod etl;
pub mod hosts;
pub mod identity;
pub mod instances;
pub mod keys;
pub mod open_rollouts;
pub mod outbox;
pub mod overview;
pub mod people;
pub mod plugin_calls;
pub mod plugins;
mod prelude;
pub mod repairs;
pub mod replays;
pub mod rollouts;
pub mod senders;
pub mod status;
pub mod tried;
pub mod workspaces;
