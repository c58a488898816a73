//! The tests against real parts, in one binary. `README.md` says which test
//! belongs where.

#![allow(clippy::unwrap_used)]

/// Returns what could be made here, or ends the test, which has then said why not.
macro_rules! available {
    ($made:expr) => {{
        let Some(made) = $made.await else {
            return;
        };
        made
    }};
}

mod admin;
mod admission;
mod analytics;
mod backup;
mod bad_days;
mod channels;
mod checkup;
mod cli;
mod crash;
mod data_api;
mod desk;
mod disk;
mod egress;
mod faults;
mod fence;
mod fleet;
mod gateway;
mod ingest;
mod languages;
mod logs;
mod messaging;
mod messaging_faults;
mod moving;
mod notifications;
mod openapi;
mod plugins;
mod power_cut;
mod products;
mod repair;
mod replay;
mod server;
mod stopping;
mod store;
mod tenants;
mod wire;
