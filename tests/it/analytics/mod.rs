//! Analytics end to end: the API, the rounds that count, the operators' view, the
//! counts after a kill, and all answers against a recomputation.

mod api;
mod commands;
mod counting;
mod job;
mod kills;
mod oracle;
mod recount;
