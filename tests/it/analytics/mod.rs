//! Analytics, from what is written to what is told: what clients ask for, the rounds
//! that count, what operators see of them, what is left of them when the service
//! dies, and all answers against a recomputation.

mod api;
mod commands;
mod job;
mod kills;
mod oracle;
mod recount;
mod world;
