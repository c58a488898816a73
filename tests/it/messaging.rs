//! Messages, over HTTP on both sides: partners' notifications go out through
//! the first-party adapters to doubles of the providers, and the way back is
//! exported and reported.

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
