//! Messages, by real HTTP on both sides: notifications that partners ask for go
//! out through the adapters that the service comes with to doubles of the
//! providers, and what comes back is exported and reported.

mod back;
mod cut_off;
mod desk;
mod inbound;
mod kept;
mod killed;
mod once;
mod parameters;
mod refused;
mod report;
mod story;
mod twilio;
mod unknown;
mod webhook;
