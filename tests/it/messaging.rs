//! Messages, over HTTP on both sides: partners' notifications go out through
//! the first-party adapters to doubles of the providers, and the way back is
//! exported and reported.

mod cut_off;
pub(crate) mod fixture;
mod idempotency;
mod notes;
mod parameters;
mod people;
mod refused;
mod statuses;
mod story;
mod twilio;
mod webhook;
